"""The documents screen: what was found and what became of it.

``?id=`` shows one of them; ``state``, ``source``, ``type``, ``text`` and ``after`` are of the list.
"""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import document, runs
from dashboards.choices import choice, chosen, words_box
from dashboards.connection import library
from dashboards.paging import cursor, pager
from dashboards.states import TYPES, spoken, state, swatch, why
from dashboards.tables import table, when
from dashboards.words import day, markup, notice, shown, to_screen

STATES = ("discovered", "read", "indexed", "waiting", "needs_browser", "quarantined", "duplicate", "skipped",
          "rejected", "failed", "removed")
HEADINGS = ("Document", "State", "Kind", "Published", "Read")
PAGE = 50


def show() -> None:
    if (identity := chosen("id")) is not None:
        document.show(identity)
    else:
        show_list()


def show_list() -> None:
    """A page of the documents, last found first."""
    st.title("Documents", anchor=False)
    runs.progress()
    wanted = filters()
    page = library().documents(**wanted, limit=PAGE, after=cursor())
    if page["documents"]:
        shown(table("documents", HEADINGS, map(cells_of, page["documents"])))
        pager(page["next"])
    elif any(wanted.values()):
        notice("No document is like this", "Choose less: every filter narrows the list.")
    else:
        notice("No documents yet", "Sources bring them: add one on the screen Sources.",
               "A single page is read with `almanac read URL`, a file or note kept with `almanac keep`.")


def filters() -> dict[str, str | None]:
    names = {source["id"]: source["name"] for source in library().source_names()}
    with st.container(horizontal=True, vertical_alignment="bottom", key="filters"):
        return {
            "q": words_box("Title or address", "text", "A word of it"),
            "state": choice("State", "state", {name: spoken(name) for name in STATES}, "any but removed"),
            "source": choice("Source", "source", names, "any"),
            "content_type": choice("Kind", "type", {name: spoken(name) for name in TYPES}, "any"),
        }


def cells_of(told: Json) -> tuple[Markup, ...]:
    return (
        markup("{}<small><bdi>{}</bdi></small>", to_screen(
            "documents", told["title"] or told["url"], id=told["id"]), told["source"]),
        markup("{}<small>{}</small>", state(told["state"]), why(told)),
        kind(told["content_type"]),
        markup('<span class="number">{}</span>', day(told["published_at"])),
        when(told["read_at"], "not yet"),
    )


def kind(content_type: str | None) -> Markup:
    if content_type is None:
        return markup('<span class="quiet">not known</span>')
    return markup('<span class="number">{}{}</span>', swatch(TYPES[content_type]), spoken(content_type))
