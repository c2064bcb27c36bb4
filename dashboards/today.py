"""The first screen: what arrived, by story and by source; what changed, what failed, and what is rising."""

from datetime import datetime, timedelta

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards.charts import columns, spark, stack
from dashboards.connection import library
from dashboards.states import state, swatch
from dashboards.words import (
    ago,
    counted,
    joined,
    link,
    markup,
    moment,
    notice,
    shown,
    to_screen,
)

PERIODS = {1: "24 hours", 7: "7 days"}
ARRIVED, CHANGED, FAILED = "#2f8999", "#b58a2b", "#d0453b"
SOURCES = 12  # by name


def show() -> None:
    """The period stands in the address as ``?period=``."""
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.title("Today", anchor=False, width="content")
        chosen = st.segmented_control(
            "Period", PERIODS.values(), default=PERIODS[1], key="period", bind="query-params",
            label_visibility="collapsed", required=True)
    days = next(days for days, words in PERIODS.items() if words == chosen)
    with st.spinner("Looking at what came …"):
        came = library().today(days)
    if not any(came["counts"].values()) and not came["failing"]:
        nothing(days)
        return
    shown(figures(came))
    shown(over_time(came))
    left, right = st.columns([5, 3], gap="large")
    with left:
        others = show_stories(days)
        if came["changes"]:
            shown(section("What changed", joined(map(change, came["changes"])), "The last ones"))
        if came["failures"] or came["failing"]:
            shown(failures(came))
        if others:
            shown(section("What else arrived", markup("<ul>{}</ul>", joined(map(item, others))),
                          "The last ones"))
    with right:
        shown(section("By source", by_source(came["sources"])))
        show_trends(days)


def nothing(days: int) -> None:
    longer = "Look further back above. " if days < max(PERIODS) else ""
    notice(f"Nothing came in the last {PERIODS[days]}",
           f"{longer}Sources shows when each source is looked at next, and whether the last looks went well. "
           "A new one begins to bring something within a minute: `almanac source add URL`.")
    shown(to_screen("sources", "See the sources"))


def section(title: str, content: Markup, said: str = "") -> Markup:
    return markup('<section class="part"><h2>{}</h2>{}{}</section>', title,
                  markup('<p class="quiet">{}</p>', said) if said else Markup(), content)


def figures(came: Json) -> Markup:
    """The numbers of the period, each with the colour that it has below."""
    counts = came["counts"]
    told = [(ARRIVED, counts["arrived"], "arrived"), (CHANGED, counts["changed"], "changed"),
            (FAILED, counts["failed"], "began to fail")]
    tiles = [markup('<div><b class="number">{:,}</b>{}{}</div>', number, swatch(colour), words)
             for colour, number, words in told]
    if waiting := came["quarantined"]:
        tiles.append(markup('<div><b class="number">{:,}</b>{}</div>', waiting,
                            to_screen("quality", "to be decided")))
    return markup('<div class="figures">{}</div>', joined(tiles))


def over_time(came: Json) -> Markup:
    """When it came, in steps of equal length."""
    steps = came["steps"]
    first, last = map(datetime.fromisoformat, (came["since"], came["until"]))
    step = (last - first) / len(steps)
    starts = [(first + place * step).isoformat() for place in range(len(steps))]
    titles = [f"from {moment(start)}: {it['arrived']} arrived, {it['changed']} changed"
              for start, it in zip(starts, steps, strict=True)]
    said = f"What came from {moment(came['since'])} to {moment(came['until'])}: " + "; ".join(titles)
    chart = columns([[(ARRIVED, it["arrived"]), (CHANGED, it["changed"])] for it in steps], titles, said)
    most = max(it["arrived"] + it["changed"] for it in steps)
    ends = markup('<p class="axis quiet"><span>{}</span><span>columns of {}, {:,} at most</span>'
                  "<span>{}</span></p>", moment(came["since"]), long(step), most, moment(came["until"]))
    return markup('<figure class="over-time">{}{}</figure>', chart, ends)


def long(step: timedelta) -> str:
    hours = step / timedelta(hours=1)
    return counted(round(hours), "hour") if hours < 48 else f"{hours / 24:.0f} days"


def by_source(sources: list[Json]) -> Markup:
    """Who brought how much, the most first."""
    most = max((it["arrived"] + it["changed"] + it["failed"] for it in sources), default=0) or 1
    rows = joined(
        markup('<tr><th scope="row"><bdi>{}</bdi>{}</th><td class="number">{:,}</td></tr>', it["source"],
               stack([(it["arrived"] / most, ARRIVED, f"{it['arrived']} arrived"),
                      (it["changed"] / most, CHANGED, f"{it['changed']} changed"),
                      (it["failed"] / most, FAILED, f"{it['failed']} began to fail")]),
               it["arrived"] + it["changed"] + it["failed"])
        for it in sources[:SOURCES])
    rest = len(sources) - SOURCES
    more = markup('<p class="quiet">and {} more</p>', counted(rest, "source")) if rest > 0 else Markup()
    return markup('<table class="ranks"><tbody>{}</tbody></table>{}', rows, more)


def show_stories(days: int) -> list[Json]:
    """What several sources tell of; the last documents that are of no story."""
    with st.spinner("Looking for stories …"):
        told = library().stories(days)
    if told["stories"]:
        shown(section("Stories", joined(map(story, told["stories"])),
                      "What several sources tell of one event"))
    others: list[Json] = told["others"]
    return others


def story(told: Json) -> Markup:
    """What it is called, and who told it when."""
    return markup(
        '<details class="story"><summary><span dir="auto">{}</span><small>{} · {}</small></summary>'
        "<ol>{}</ol></details>",
        told["title"], counted(told["sources"], "source"), counted(told["told"], "document"),
        joined(map(item, told["documents"])))


def item(document: Json) -> Markup:
    return markup('<li><span dir="auto">{}</span><small><bdi>{}</bdi> · {}</small></li>',
                  link(document["url"], document["title"] or document["url"]), document["source"],
                  moment(document["at"]))


def change(it: Json) -> Markup:
    return markup(
        '<div class="entry"><span dir="auto">{}</span><small><bdi>{}</bdi> · version {} · {}</small></div>',
        to_screen("documents", it["title"] or it["url"], id=it["document_id"]), it["source"],
        it["version"], ago(it["at"]))


def failures(came: Json) -> Markup:
    """Sources whose looks go wrong, then documents, those with the same reason as one."""
    sources = joined(
        markup('<div class="entry">{}<small><bdi>{}</bdi></small></div>',
               joined([state("failed", f"{it['source']}: {counted(it['failures'], 'poll')} in a row")]),
               it["health"]) for it in came["failing"])
    documents = joined(
        markup('<div class="entry"><span dir="auto">{}: {}</span>'
               "<small><bdi>{}</bdi> · {} · {}</small></div>",
               state(it["state"]), it["reason"], it["source"],
               to_screen("documents", counted(it["documents"], "document"), **which(it)), ago(it["at"]))
        for it in came["failures"])
    return section("What failed", joined([sources, documents]))


def which(failure: Json) -> dict[str, object]:
    """What the address of the documents says that fail so: the one, or all of its source in this state."""
    if failure["documents"] == 1:
        return {"id": failure["document_id"]}
    return {"state": failure["state"], "source": failure["source_id"]}


def show_trends(days: int) -> None:
    with st.spinner("Looking for what is rising …"):
        told = library().trends(days)
    if not told["known"]:
        shown(section("Rising", markup(
            '<p class="quiet">There is nothing to compare with yet: what arrives is held against the {} '
            "before, and nothing arrived then.</p>", PERIODS[days])))
        return
    for title, terms in (("Rising topics", told["topics"]), ("Rising names", told["entities"])):
        said = f"Documents in the last {PERIODS[days]}, and in each such time before"
        shown(section(title, rising(terms), said) if terms else section(
            title, markup('<p class="quiet">Nothing stands out against its own history.</p>')))


def rising(terms: list[Json]) -> Markup:
    return markup('<table class="ranks"><tbody>{}</tbody></table>', joined(
        markup('<tr><th scope="row" dir="auto">{}</th><td>{}</td>'
               '<td class="number">{:,}<small>{} expected</small></td></tr>',
               to_screen("search", it["term"], q=it["term"]), spark(it["history"]), it["documents"],
               f"{it['expected']:.{0 if it['expected'] >= 10 else 1}f}") for it in terms))
