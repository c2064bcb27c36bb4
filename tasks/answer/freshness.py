"""How much a document's age counts, and whether a question asks for the recent."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from models.states import ContentType, SourceKind

HALF_LIVES: Mapping[ContentType, timedelta] = {  # a type that is not here does not age
    ContentType.NEWS: timedelta(days=3),
    ContentType.TIME_SENSITIVE: timedelta(days=30),
    ContentType.OPINION: timedelta(days=90),
}
KNOWN = frozenset(ContentType)

DAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
PERIOD = f"(?:night|morning|afternoon|evening|{DAY}|weekend|week|month|quarter|year)"
UNIT = "(?:hour|day|week|month)s?"
RECENT_WORDINGS = (
    "latest|newest|most recent|recent|recently|lately|nowadays|news|headlines|breaking",
    "today|todays|today's|tonight|yesterday|yesterday's|right now|just now|at the moment|as of now|so far",
    rf"this {PERIOD}|this {PERIOD}'s|last {PERIOD}|past {PERIOD}|these days",
    rf"(?:last|past|previous) (?:few|couple of|\d+|two|three|four|five|six|seven) {UNIT}",
    rf"since (?:{DAY}|{MONTH}|yesterday|last|this|the weekend|\d{{1,2}})",
    "what's new|what is new|whats new|anything new|what's happening|what is happening|what has changed",
    "currently|current (?:state|status|situation|version|price|events)|up to date|up-to-date",
    "new developments|update on|updates on|any update|any updates",
    "just (?:announced|released|published|launched|happened)",
)
RECENT = re.compile(rf"\b(?:{'|'.join(RECENT_WORDINGS)})\b")


def asks_for_recent(query: str) -> bool:
    """Whether a question's wording asks about recent developments."""
    plain = " ".join(query.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())
    return RECENT.search(plain) is not None


def content_type(kind: str, analysed: str | None = None) -> ContentType:
    """What its analysis says a document is; before that, what feeds bring ages and the rest stands."""
    if analysed in KNOWN:
        return ContentType(analysed)
    return ContentType.TIME_SENSITIVE if kind == SourceKind.FEED else ContentType.REFERENCE


def age(dated: datetime, now: datetime) -> timedelta:
    """Time since ``dated``; a date in the future is as good as now."""
    return max(now - dated, timedelta())


def freshness(age: timedelta, half_life: timedelta | None) -> float:
    """``0.5 ** (age / half-life)``, from 1 towards 0; 1 where there is no half-life."""
    return float(0.5 ** (age / half_life)) if half_life else 1.0
