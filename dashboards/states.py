"""Colours that mean the same on every screen: of states, of the parts of a score, of content types.

A state is never told by its colour alone. The charts need the colours themselves; they are told apart on both
backgrounds.
"""

from collections.abc import Mapping

from markupsafe import Markup

from almanac.client import Json
from dashboards.words import markup

GOOD, DOUBTFUL, BAD, MOVING, QUIET = "good", "doubtful", "bad", "moving", "quiet"
STATES: Mapping[str, str] = (
    dict.fromkeys(("indexed", "ready", "ok", "completed", "released", "offered", "live", "new"), GOOD)
    | dict.fromkeys(("waiting", "needs_browser", "quarantined", "suspect", "warning", "lacking", "late",
                     "changed", "awaitingretry"), DOUBTFUL)
    | dict.fromkeys(("rejected", "failed", "critical", "fatal", "trouble", "crashed", "removed"), BAD)
    | dict.fromkeys(("discovered", "read", "pending", "queued", "processing", "running", "scheduled",
                     "starting", "retiring"), MOVING)
)  # the rest is quiet: duplicate, skipped, unchanged, paused, retired, cancelled

PARTS = {  # of a score
    "similarity": "#2f8999", "topic": "#5b7fd1", "freshness": "#4c9a5b", "source": "#b58a2b",
    "interest": "#a066b8", "recently_used": "#c7625c",
}
TYPES = {  # of content
    "news": "#d0653b", "time_sensitive": "#b58a2b", "opinion": "#a066b8", "reference": "#2f8999",
    "evergreen": "#4c9a5b",
}


def state(name: str, words: str | None = None) -> Markup:
    """A state with the colour that it has everywhere; ``words`` where its name does not say it best."""
    return toned(STATES.get(name.lower(), QUIET), words or spoken(name))


def toned(tone: str, words: str) -> Markup:
    return markup('<span class="state {}">{}</span>', tone, words)


def swatch(colour: str) -> Markup:
    """A patch of colour beside the name of what has it."""
    return markup('<i class="swatch" style="background:{}"></i>', colour)


def why(document: Json) -> str:
    """The reason of a document's state, where that says more than the state itself."""
    return "" if document["reason"] == document["state"] else str(document["reason"])


def spoken(name: str) -> str:
    """A state, type or part as people write it."""
    return name.replace("_", "-" if name in TYPES else " ")
