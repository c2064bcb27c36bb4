"""Dates as sitemaps write them: W3C's, mostly, and what people and programs make of those."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache

from tasks.discover.entries import EPOCH, believable

LONGEST = 60
YEAR_OR_MONTH = re.compile(r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2]))?")
UNIX_TIME = {10: timedelta(seconds=1), 13: timedelta(milliseconds=1)}  # by the number of its digits
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = rf"(?P<month>{'|'.join(MONTHS)})[a-z]*\.?"
DAYS = (
    r"(?P<year>\d{4})[-/](?P<month>\d\d?)[-/](?P<day>\d\d?)",
    r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{4})",
    rf"(?:[a-z]+,? )?{MONTH} (?P<day>\d\d?),? (?P<year>\d{{4}})",
    rf"(?:[a-z]+,? )?(?P<day>\d\d?) {MONTH},? (?P<year>\d{{4}})",
)  # never 3/11/2025, which is a day in March or in November
TIME = (
    r"(?:(?:T|,? )(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?:[.,]\d+)? ?(?P<half>[ap]m)?"
    r" ?(?:UTC|GMT|Z)? ?(?P<zone>[+-]\d\d:?\d\d)?(?: \([^()]*\))?)?"
)
SHAPES = tuple(re.compile(day + TIME, re.IGNORECASE) for day in DAYS)


@lru_cache(maxsize=1000)
def canonical(said: str) -> str:
    """The same text for the same date, however it is written; "" for what is no date.

    ISO 8601 in UTC, or the year or month alone where that is all there is.
    """
    said = said.strip()
    if YEAR_OR_MONTH.fullmatch(said):
        return said  # never filled up with some day of it
    date = moment(said)
    return date.isoformat() if date else ""


def moment(said: str) -> datetime | None:
    """The date in UTC, which it also is where it names no zone; a day is its midnight. None: no whole day."""
    with suppress(ValueError, OverflowError):
        date = reading(" ".join(said[:LONGEST].split()))
        return believable(date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC))
    return None


def reading(said: str) -> datetime:
    """Raises ValueError for what is no date."""
    if said.isascii() and said.isdecimal() and len(said) in UNIX_TIME:
        return EPOCH + UNIX_TIME[len(said)] * int(said)
    with suppress(ValueError):
        return datetime.fromisoformat(said)
    for shape in SHAPES:
        if found := shape.fullmatch(said):
            return assembled(found)
    if ":" not in said:
        raise ValueError("neither a day nor a time")
    return parsedate_to_datetime(said)


def assembled(found: re.Match[str]) -> datetime:
    name = found["month"].lower()
    month = MONTHS.index(name) + 1 if name in MONTHS else int(name)
    hour = int(found["hour"] or 0)
    if found["half"] and hour <= 12:  # "19:15 PM" is 19:15
        hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
    date = datetime(int(found["year"]), month, int(found["day"]), hour, int(found["minute"] or 0),
                    int(found["second"] or 0), tzinfo=UTC)
    return date.replace(tzinfo=datetime.strptime(found["zone"], "%z").tzinfo) if found["zone"] else date
