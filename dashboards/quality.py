"""The quality screen: what the gates let pass over time, and what waits for its owner's decision.

``source``, ``verdict`` and ``after`` are of the list; ``days`` of the rates.
"""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import acts, runs
from dashboards.bars import named, passes
from dashboards.charts import spark
from dashboards.choices import choice
from dashboards.connection import library
from dashboards.inside import found
from dashboards.paging import cursor, pager
from dashboards.states import state
from dashboards.tables import number, table
from dashboards.words import counted, heading, joined, markup, moment, notice, shown, to_screen, zone

DAYS = 30
PAGE = 20
VERDICTS = {"released": "released", "rejected": "rejected"}
HEADINGS = ("Expectation", "Gate", "When it is not met", f"Not met, {DAYS} days", "By day")


def show() -> None:
    """The rates above, the quarantine below: deciding is what one comes for, so it is a page at a time."""
    st.title("Quality", anchor=False)
    runs.progress()
    show_rates(library().gate_rates(DAYS, zone()))
    show_refusals()


def show_rates(told: Json) -> None:
    days = told["days"]
    passed, refused = (sum(day[name] for day in days) for name in ("passed", "refused"))
    if not passed + refused:
        notice("Nothing was judged yet", "Each version is judged before it is indexed: add a source, and its "
               "documents are.")
        return
    shown(markup(
        '<section class="rates"><p><b class="rate">{:.1%}</b> of {} passed the gates in {} days; '
        '<span class="state good">{:,} passed</span>, <span class="state bad">{:,} refused</span></p>{}'
        '<p class="ends quiet"><span>{}</span><span>{:,} a day at most</span><span>{}</span></p></section>',
        passed / (passed + refused), counted(passed + refused, "version"), len(days), passed, refused,
        passes(days), named(days[0]["day"]), max(day["passed"] + day["refused"] for day in days),
        named(days[-1]["day"])))
    expectations(told["expectations"], passed + refused)


def expectations(told: list[Json], judged: int) -> None:
    """Those that were not met, the most frequent first; the others behind a click."""
    unmet = sorted((each for each in told if sum(each["days"])), key=lambda each: -sum(each["days"]))
    met = [each for each in told if not sum(each["days"])]
    if unmet:
        shown(table("expectations", HEADINGS, (
            (each["expectation"], each["gate"], consequence(each), rate(sum(each["days"]), judged),
             spark(each["days"])) for each in unmet)))
    shown(markup("<details><summary>{} always met</summary><p>{}</p></details>",
                 counted(len(met), "expectation"), ", ".join(each["expectation"] for each in met)))


def rate(unmet: int, judged: int) -> Markup:
    return markup('{}<small>{:.1%} met it</small>', number(unmet), max(0.0, 1 - unmet / judged))


def consequence(expectation: Json) -> Markup:
    words = {"warning": "noted", "critical": "quarantined", "fatal": "never indexed"}
    return state(expectation["severity"], words[expectation["severity"]])


def show_refusals() -> None:
    """A page of what was refused, with the passages that it is about, to be decided one or many at once."""
    heading("Quarantine")
    names = {source["id"]: source["name"] for source in library().source_names()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        verdict = choice("Show", "verdict", VERDICTS, "what waits for a decision")
        source = choice("Source", "source", names, "any")
    page = library().refusals(verdict=verdict, source=source, limit=PAGE, after=cursor())
    counts = page["counts"]
    shown(markup('<p class="quiet">{}</p>', " · ".join(
        f"{counts.get(name, 0):,} {words}" for name, words in (
            ("quarantined", "wait for a decision"), ("released", "released"), ("rejected", "rejected")))))
    if not page["refusals"]:
        notice("Nothing waits here", "What a gate refuses is listed here with its reasons, until you release "
               "it or reject it, or its page changes.")
        return
    above = st.container(horizontal=True, gap="small", key="decide")
    picked = [each["document_id"] for number, each in enumerate(page["refusals"], 1) if refusal(number, each)]
    with above:
        decide(picked, [each["document_id"] for each in page["refusals"]], verdict)
    pager(page["next"])


def refusal(number: int, told: Json) -> bool:
    """One of them, and whether it is picked."""
    identity = told["document_id"]
    with st.container(border=True, horizontal=True, key=f"refusal-{told['version_id']}"):
        picked = bool(st.checkbox(f"Pick number {number}", key=f"pick-{identity}",
                                  label_visibility="collapsed", width=28))
        shown(markup(
            '<article class="refusal"><h2 dir="auto">{}</h2><p class="quiet"><bdi>{}</bdi> · version {} · '
            "read {}</p><ul>{}</ul></article>",
            to_screen("documents", told["title"] or told["url"], id=identity, version=told["version"],
                      view="gates"), told["source"], told["version"], moment(told["read_at"]),
            joined(markup("<li>{}</li>", found(each | {"met": False})) for each in told["results"])))
    return picked


def decide(picked: list[str], here: list[str], verdict: str | None) -> None:
    """What may be done with those that are picked, or with all of this page."""
    if verdict != "released":
        acts.act(f"Release {counted(len(picked), 'version')}", "release", lambda: release(picked),
                 "Indexing what was released", primary=True, disabled=not picked)
    if verdict is None:
        acts.act(f"Reject {counted(len(picked), 'version')}", "reject", lambda: reject(picked),
                 disabled=not picked)
    all_picked = set(picked) == set(here)
    st.button("Pick none" if all_picked else "Pick all of this page", key="pick-all", on_click=pick,
              args=(here, not all_picked))


def pick(documents: list[str], picked: bool) -> None:
    for identity in documents:
        st.session_state[f"pick-{identity}"] = picked


def release(documents: list[str]) -> Json:
    return told(library().release_all(documents), "released")


def reject(documents: list[str]) -> Json:
    return told(library().reject_all(documents), "rejected")


def told(done: Json, what: str) -> Json:
    """Say what became of them above the screen."""
    left = [str(each["why"]) for each in done["left"]]
    runs.note(" ".join([f"{counted(len(done['decided']), 'version')} {what}.", *left]))
    return done
