"""A source in words: of what kind it is, how it is, when it was looked at and what it has brought."""

from urllib.parse import urlsplit

from markupsafe import Markup

from almanac.client import Json
from dashboards.states import BAD, DOUBTFUL, GOOD, MOVING, QUIET, spoken
from dashboards.tables import when
from dashboards.words import ago, is_web_address, joined, link, markup, to_screen

KINDS = {"feed": "feed", "sitemap": "sitemap", "page": "page", "json": "JSON API", "url": "single pages",
         "kept": "handed in", "documentation": "its own documentation"}


def health(source: Json) -> tuple[str, str]:
    """How a source is: its colour, and the word for it."""
    poll = source["last_poll"]
    if source["paused"]:
        return QUIET, "Paused"
    if source["kind"] in {"kept", "url"}:
        return GOOD, "Nothing to poll"
    if poll is None:
        return MOVING, "Not polled yet"
    if not source["failures"]:
        return GOOD, "Well"
    return (DOUBTFUL, "Suspect") if poll["outcome"] == "suspect" else (BAD, "Failing")


def origin(source: Json) -> Markup:
    kind = KINDS.get(source["kind"], source["kind"])
    at = urlsplit(source["url"]).netloc if is_web_address(source["url"]) else ""
    return markup("{}{}", kind, markup(" · {}", link(source["url"], at)) if at else "")


def last_poll(poll: Json | None) -> str:
    return f"{ago(poll['finished_at'])}, {spoken(poll['outcome'])}" if poll else ""


def next_poll(source: Json) -> Markup:
    return markup("paused") if source["paused"] else when(source["next_poll_at"], "on demand")


def trouble(source: Json) -> str:
    """What is wrong with it, in what its last poll said and in what differs from its own history."""
    poll = source["last_poll"]
    failing = [poll["reason"]] if source["failures"] and poll else []
    often = [f"{source['failures']} polls in a row"] if source["failures"] > 1 else []
    return "; ".join([*failing, *often, *source["flags"]])


def documents(source: Json) -> Markup:
    """How many there are in each state, each leading to them."""
    if not source["documents"]:
        return markup("none")
    return joined(
        markup('<span class="count">{}</span> ', to_screen(
            "documents", f"{number:,} {spoken(state)}", source=source["id"], state=state))
        for state, number in source["documents"].items()
    )
