"""The parts of Almanac and how they are, the limits in force, the index, and the settings."""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import acts
from dashboards.bars import share
from dashboards.connection import library, trouble_told
from dashboards.states import spoken, state
from dashboards.tables import facts, number, table
from dashboards.words import heading, joined, markup, moment, notice, shown

LIMITS = {"articles_per_hour": "Articles in an hour", "articles_per_day": "Articles in a day"}
VERIFIED = "verified-index"  # what the last comparison came to
OPENED = "ALMANAC_ALLOWED_NETWORKS"
DIFFERENCES = {"missing": "lacking in the index", "orphans": "in the index alone",
               "stale": "with another payload", "unlike": "with another vector or other words"}


def show() -> None:
    told = library().system()
    shown(markup('<div class="grid">{}</div>', joined(
        markup("<section><h2>{}</h2>{}</section>", title, facts(pairs)) for title, pairs in (
            ("Parts", [(part.capitalize(), how(state_of)) for part, state_of in told["parts"].items()]),
            ("Limits", [(LIMITS.get(name, spoken(name)), used(limit["used"], limit["limit"]))
                        for name, limit in told["limits"].items()]),
            ("What is there and what waits", queues(told["queues"])),
            ("Reach", reach(told)),
        ))))
    if held := told["held"]:
        notice("Articles wait", f"{held['reason']}. The next place is free at {moment(held['until'])}.")
    heading("Index")
    show_index()


def used(number: int, limit: int) -> Markup:
    return markup('{} <span class="number">{:,} of {:,}</span>', share(number, limit), number, limit)


def how(said: str) -> Markup:
    return state("ok", "well") if said == "ok" else state("starting") if said == "starting" else markup(
        "{}<small>{}</small>", state("trouble"), said)


def queues(told: Json) -> list[tuple[str, object]]:
    return [
        ("To be read now", number(told["due"])),
        ("To be indexed", number(told["waiting"])),
        ("Documents", counts(told["documents"])),
        ("Chunks", counts(told["chunks"])),
    ]


def counts(by_state: dict[str, int]) -> Markup:
    if not by_state:
        return markup("none")
    return joined(markup('<span class="count">{}</span>', state(name, f"{count:,} {spoken(name)}"))
                  for name, count in by_state.items())


def reach(told: Json) -> list[tuple[str, object]]:
    """What may be fetched beside public addresses, and which hosts ask for patience."""
    opened = str(told["settings"].get(OPENED) or "").replace(",", " ").split()
    slow = told["slow_hosts"]
    return [
        ("Fetched beside public addresses", joined(markup("<code>{}</code> ", each) for each in opened)
         if opened else markup("nothing: <code>{}</code> is empty", OPENED)),
        ("Hosts that ask for more patience than they get", joined(
            markup('<span class="count">{}: asks for {:g} s, gets {:g} s</span>', host["host"], host["asked"],
                   host["kept"]) for host in slow) or markup("none")),
    ]


def show_index() -> None:
    """Verified on a click: with many chunks that takes a while."""
    with st.container(horizontal=True, gap="small", key="index"):
        some = st.button("Verify", key="verify")
        every = st.button("Verify every vector", key="verify-full")
        acts.after_asking("Rebuild", "rebuild", "The index is made again from the records; what is there "
                          "answers meanwhile.", lambda: library().rebuild_index(), "Rebuilding the index")
    if some or every:
        with trouble_told(), st.spinner("Comparing the index with the records …"):
            st.session_state[VERIFIED] = library().verify_index(full=every)
    if found := st.session_state.get(VERIFIED):
        shown(verified(found))


def verified(found: Json) -> Markup:
    told = (state("ok", "The index holds what answers, and nothing else.") if found["agrees"] else
            state("trouble", "They differ: the next indexing mends that, or a rebuild does."))
    return markup('<section class="notice" role="status"><p>{}</p>{}</section>', told, facts([
        ("Chunks that answer", number(found["expected"])), ("Chunks in the index", number(found["indexed"])),
        *((words.capitalize(), number(found[name])) for name, words in DIFFERENCES.items()),
        ("Compared whole", number(found["compared"])),
    ]))


def show_settings() -> None:
    """Every setting in force, secrets masked; they are changed in the environment and read at the start."""
    shown(markup('<p class="quiet">Read when Almanac starts, from the environment or from the file '
                 "<code>.env</code>. <code>almanac settings</code> tells what each means.</p>"))
    shown(table("settings", ("Setting", "Value"), (
        (markup("<code>{}</code>", name), said(value))
        for name, value in library().system()["settings"].items())))


def said(value: object) -> Markup:
    match value:
        case None | "":
            return markup('<span class="quiet">not set</span>')
        case bool():
            return markup("yes" if value else "no")
        case list():
            return markup("{}", ", ".join(map(str, value)))
    return markup("{}", str(value))
