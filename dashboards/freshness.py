"""The freshness screen: how documents of each content type age, and where this library's stand."""

from collections.abc import Mapping

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import life, weighing
from dashboards.connection import library, trouble_told
from dashboards.curves import curve, dot, draw, fresh
from dashboards.states import GOOD, TYPES, spoken, swatch, toned
from dashboards.words import counted, joined, markup, notice, shown, to_screen

DAYS = 120  # that the chart shows
SHORTEST, LONGEST = 1 / 24, 3650.0  # days, as the API takes them
SAVED = "half-lives-saved"
NAMED = 15  # documents under the chart


def show() -> None:
    """All documents, or with ``?document=…`` the one."""
    st.title("Freshness", anchor=False)
    one = st.query_params.get("document")
    if one:
        life.show(one)
        return
    with st.spinner("Looking at the documents …"):
        told = library().freshness()
    if saved := st.session_state.pop(SAVED, None):
        shown(markup('<p role="status">{}</p>', toned(GOOD, saved)))
    shown(markup('<p class="quiet">{}</p>',
                 "Freshness is a part of each score. It is 1 on the day of publication and halves with each "
                 "half-life of its content type, in days. What has no half-life is always 1."))
    lives = half_lives(told)
    curves(told, lives)
    decide(told["half_lives"], lives, told["default"])
    if told["documents"]:
        shown(documents(told["documents"]))
    else:
        notice("No documents yet", "Their places on the curves are shown here as soon as some answer: "
               "`almanac source add URL` brings them.")


def half_lives(told: Json) -> dict[str, float | None]:
    """The half-lives in days as they are typed; what is empty does not age."""
    lives = {}
    with st.container(horizontal=True, key="half-lives"):
        for kind, days in told["half_lives"].items():
            with st.container(width=160):
                shown(markup('<p>{}{}<small>{}</small></p>', swatch(TYPES[kind]), spoken(kind),
                             counted(told["counts"].get(kind, 0), "document")))
                lives[kind] = st.number_input(
                    f"Half-life of {spoken(kind)} in days", SHORTEST, LONGEST, days, format="%.4g",
                    key=f"life-{kind}", bind="query-params", placeholder="does not age",
                    label_visibility="collapsed")
    return lives


def curves(told: Json, lives: Mapping[str, float | None]) -> None:
    """The curves, with some documents of every age on them."""
    lines = [line for kind, life in lives.items() for line in curve(kind, life, DAYS)]
    dots = [dot(it["type"], it["age"], fresh(it["age"], lives[it["type"]]), it["title"] or it["url"],
                it["source"]) for it in told["documents"] if it["age"] <= DAYS]
    draw(lines, dots, "Freshness by age: a curve for each content type, with documents of this library")
    older = len(told["documents"]) - len(dots)
    shown(markup('<p class="quiet">{}{}. Point at one to see which it is.</p>',
                 f"The dots are {counted(len(dots), 'document')} from all ages",
                 f"; {older} more are older than {DAYS} days" if older else ""))


def decide(kept: Mapping[str, float | None], lives: Mapping[str, float | None],
           default: Mapping[str, float | None]) -> None:
    """The clicks that keep other half-lives, after what judged questions say of them."""
    changes = {kind: life for kind, life in lives.items() if life != kept[kind]}
    with st.container(horizontal=True, gap="small"):
        replay = st.button("Replay the judged questions", key="replay-lives", disabled=not changes)
        st.button("Save these half-lives", type="primary", key="save-lives", disabled=not changes,
                  on_click=save, args=(changes,))
        st.button("Back to the first ones", key="first-lives", disabled=kept == default,
                  on_click=save, args=(dict(default),))
    if replay:
        with trouble_told(), st.spinner("Asking the judged questions again …"):
            shown(weighing.replayed(library().replay_judgments(half_lives=changes)))


def save(lives: dict[str, float | None]) -> None:
    with trouble_told():
        library().set_ranking(half_lives=lives)
        st.session_state[SAVED] = "The half-lives are saved: every answer is ranked by them from now on."
        for kind in lives:
            st.session_state.pop(f"life-{kind}", None)


def documents(found: list[Json]) -> Markup:
    """The last that arrived, each with a way to its own scores."""
    rows = joined(
        markup('<tr><th scope="row" dir="auto">{}<small><bdi>{}</bdi></small></th><td>{}{}</td><td>{}</td>'
               '<td class="number">{:.2f}</td></tr>',
               to_screen("freshness", it["title"] or it["url"], document=it["document_id"]), it["source"],
               swatch(TYPES[it["type"]]), spoken(it["type"]), life.dated(it), it["freshness"])
        for it in found[:NAMED])
    return markup('<section class="part"><h2>The last that arrived</h2><table class="order"><thead><tr>'
                  '<th scope="col">Document</th><th scope="col">Content type</th><th scope="col">Dated</th>'
                  '<th scope="col">Freshness</th></tr></thead><tbody>{}</tbody></table></section>', rows)
