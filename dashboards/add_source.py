"""Adding a source: look at an address, see what was found, choose how it is read, and only then save it.

``?add=1``, with the address as ``url`` and the kind as ``kind``.
"""

from typing import Any

import streamlit as st

from almanac.client import ApiProblem, Json
from dashboards import acts, found_there, mapping, runs
from dashboards.choices import chosen, open_view
from dashboards.connection import library, trouble_told
from dashboards.source_form import USUAL, fields
from dashboards.source_words import KINDS
from dashboards.words import counted, markup, notice, shown, title, to_screen

OFFERED = {"auto": "find out", "feed": "feed", "sitemap": "sitemap", "page": "page", "json": "JSON API"}
LOOKED = "looked-at"  # what the last look found: ((url, kind), answer, map)


def show() -> None:
    title("Add a source", to_screen("sources", "All sources"))
    runs.progress()
    url, kind, pressed = address_box()
    if not url:
        notice("Give an address", "The home page of a site will do: its feed or sitemap is looked for. "
               "Nothing is saved before you have seen what was found.")
        return
    if pressed:
        st.session_state.pop(LOOKED, None)
    with trouble_told():
        if kind == "json":
            add_api(url)
        else:
            add_found(url, kind)


def address_box() -> tuple[str, str, bool]:
    with st.form("look", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        url = st.text_input("Address", chosen("url") or "", placeholder="https://example.org/",
                            autocomplete="url", key="add-url")
        said = chosen("kind")
        kind = st.selectbox("Kind", list(OFFERED), list(OFFERED).index(said) if said in OFFERED else 0,
                            format_func=OFFERED.__getitem__, width=160, key="add-kind")
        pressed = st.form_submit_button("Look at it", type="primary", width=120)
    if pressed:
        open_view(add=1, url=url.strip() or None, kind=kind)
    return (url or "").strip(), kind or "auto", pressed


def looked(what: tuple[str, ...], look: Any) -> Json:
    """What ``look`` finds, asked for once: each look is a request to somebody's site."""
    asked, found = st.session_state.get(LOOKED, (None, {}))
    if asked != what:
        st.session_state.pop(LOOKED, None)
        with st.spinner("Looking …"):
            found = look()
        st.session_state[LOOKED] = what, found
    return dict(found)


def add_found(url: str, kind: str) -> None:
    """A feed, a sitemap or a page: what was found can be added as it is."""
    try:
        there = looked((url, kind), lambda: library().preview_source(url, kind=kind))
    except ApiProblem as problem:
        if problem.code != "needs_map":
            raise
        notice("This is a JSON API", "Say where in its answer the address and the title of an item are.")
        st.button("Make its map", type="primary", key="make-map", on_click=open_api, args=(url,))
        return
    found_there.show(there)
    if there["others"]:
        others(there["others"])
    choose(there["url"], there["kind"], there["name"], {})


def open_api(url: str) -> None:
    st.session_state["add-kind"] = "json"
    open_view(add=1, url=url, kind="json")


def others(found: list[Json]) -> None:
    """What else the address leads to; each can be looked at instead."""
    with st.expander(f"{counted(len(found), 'other way')} to read it", key="others"):
        for each in found:
            shown(markup("<p>{} <small>{} · {}</small></p>", to_screen(
                "sources", each["name"], add=1, url=each["url"], kind=each["kind"]),
                KINDS.get(each["kind"], each["kind"]), counted(each["offered"], "item")))


def add_api(url: str) -> None:
    """A JSON API: its map first, then its items as that reads them."""
    sample = looked((url, "json"), lambda: library().sample_source(url))
    map_ = mapping.edit(sample, {}, "map")
    if map_ is None:
        return
    if "url" not in map_:
        notice("Where is the address?", "Choose the field that holds the address of the page of an item.")
        return
    if st.button("Read the first items with this map", key="try-map"):
        with st.spinner("Looking …"):
            st.session_state["tried"] = url, map_, library().preview_source(url, kind="json", map=map_)
    asked, with_map, there = st.session_state.get("tried", (None, None, None))
    if (asked, with_map) == (url, map_):
        found_there.show(there)
        choose(url, "json", there["name"], map_)


def choose(url: str, kind: str, name: str, map_: dict[str, str]) -> None:
    """How it is to be read, and the click that saves it."""
    with st.form("choices"):
        with st.expander("How it is read", key="how"):
            told = fields({**USUAL, "name": name}, "new")
        pressed = st.form_submit_button("Add this source", type="primary")
    if pressed:
        with st.spinner("Adding …"):
            source = library().add_source(url, kind=kind, map=map_ or None, **told)
        st.session_state.pop(LOOKED, None)
        open_view(id=source["id"])
        acts.done(source, f"Reading {source['name']}")
