"""The sources screen: what the library reads, how each source is, and when it was looked at."""

from urllib.parse import urlsplit

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards.connection import library
from dashboards.words import counted, is_web_address, joined, link, markup, moment, notice, shown

HEADINGS = ("Source", "Health", "Last poll", "Next poll", "Documents")
STATES = ("bad", "doubtful", "new", "good", "paused")  # in this order on the screen
KINDS = {"url": "single page", "json": "JSON API", "kept": "handed in", "external": "external AI"}


def show() -> None:
    """Every source with its last poll; those that need a look come first."""
    st.title("Sources", anchor=False)
    sources = library().sources()
    if not sources:
        empty()
        return
    shown(markup('<p class="quiet">{}</p>', summary(sources)))
    shown(table(sorted(sources, key=lambda source: STATES.index(health(source)[0]))))


def empty() -> None:
    notice("No sources yet",
           "Add one on the command line: `almanac source add URL` takes the address of a feed or of a page, "
           "looks at it at once and reads what it offers.")
    st.button("Look again")


def summary(sources: list[Json]) -> str:
    unwell = sum(health(source)[0] in {"bad", "doubtful"} for source in sources)
    documents = sum(sum(source["documents"].values()) for source in sources)
    said = [counted(len(sources), "source"), f"{unwell} of them unwell" if unwell else "",
            counted(documents, "document")]
    return " · ".join(filter(None, said))


def health(source: Json) -> tuple[str, str]:
    """How a source is: one of STATES, and the word for it."""
    poll = source["last_poll"]
    if source["paused"]:
        return "paused", "Paused"
    if poll is None:
        return "new", "Not polled yet"
    if not source["failures"]:
        return "good", "Well"
    return ("doubtful", "Suspect") if poll["outcome"] == "suspect" else ("bad", "Failing")


def table(sources: list[Json]) -> Markup:
    return markup(
        '<table class="sources"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>',
        joined(markup('<th scope="col">{}</th>', heading) for heading in HEADINGS),
        joined(map(row, sources)),
    )


def row(source: Json) -> Markup:
    cells = joined(
        markup('<td data-heading="{}"><div>{}</div></td>', heading, cell)
        for heading, cell in zip(HEADINGS[1:], cells_of(source), strict=True)
    )
    return markup('<tr><th scope="row">{}</th>{}</tr>', name(source), cells)


def name(source: Json) -> Markup:
    kind = KINDS.get(source["kind"], source["kind"])
    at = urlsplit(source["url"]).netloc if is_web_address(source["url"]) else ""
    return markup('<bdi>{}</bdi><small>{}{}</small>', source["name"], kind,
                  markup(" · {}", link(source["url"], at)) if at else "")


def cells_of(source: Json) -> tuple[Markup, Markup, str, Markup]:
    state, word = health(source)
    often = f"{source['failures']} polls in a row" if source["failures"] > 1 else ""
    return (
        markup('<span class="state {}">{}</span><small>{}</small>', state, word, often),
        last_poll(source["last_poll"]),
        next_poll(source),
        documents(source["documents"]),
    )


def last_poll(poll: Json | None) -> Markup:
    """When it was and what it came to."""
    if poll is None:
        return markup("never")
    return markup("{}<small>{}: {}</small>", moment(poll["finished_at"]), poll["outcome"], poll["reason"])


def next_poll(source: Json) -> str:
    if source["paused"]:
        return "paused"
    return moment(source["next_poll_at"]) if source["next_poll_at"] else "on demand"


def documents(by_state: dict[str, int]) -> Markup:
    if not by_state:
        return markup("none")
    return joined(
        markup('<span class="count"><b class="number">{:,}</b> {}</span> ', number, state.replace("_", " "))
        for state, number in by_state.items()
    )
