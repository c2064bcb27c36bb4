"""Work that goes on after a click, followed until it ends: only this small part of the screen asks again."""

import streamlit as st

from almanac.client import Json
from dashboards.connection import library, trouble_told
from dashboards.states import state
from dashboards.words import joined, link, markup, shown

FOLLOWED = "followed-runs"
SECONDS = 2.0
ENDED = {"completed", "failed", "crashed", "cancelled"}
SOON = {"state": "scheduled", "message": "It begins within a minute."}


def follow(work: Json, doing: str) -> None:
    """From now on ``progress`` tells of ``work``, an answer of the API with a ``flow_run_id``; ``doing`` is
    what it is called.
    """
    told: list[Json] = st.session_state.setdefault(FOLLOWED, [])
    told.insert(0, {"doing": doing, "id": work.get("flow_run_id")} | SOON)


def note(said: str) -> None:
    """What a click came to that is done already stands in the same list, until that is cleared."""
    told: list[Json] = st.session_state.setdefault(FOLLOWED, [])
    told.insert(0, {"doing": said, "id": None, "state": "completed", "message": None})


def progress() -> None:
    """How what is followed goes: asked again while some of it runs, and then the whole screen once more."""
    if followed := st.session_state.get(FOLLOWED):
        st.fragment(tell, run_every=SECONDS if any(map(goes_on, followed)) else None)(followed)


def goes_on(run: Json) -> bool:
    return run["id"] is not None and run["state"] not in ENDED


def tell(followed: list[Json]) -> None:
    running = [run for run in followed if goes_on(run)]
    with trouble_told():
        for run in running:
            run |= library().run(run["id"])
    shown(markup('<ul class="runs" role="status">{}</ul>', joined(
        markup("<li>{} {} <small>{} {}</small></li>", state(run["state"]), run["doing"], run["message"] or "",
               link(run["url"], "Prefect") if "url" in run else "")
        for run in followed)))
    if running and not any(map(goes_on, followed)):
        st.rerun()
    if not running:
        st.button("Clear this list", key="clear-runs", on_click=followed.clear)
