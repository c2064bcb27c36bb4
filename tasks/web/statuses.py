"""HTTP statuses by what they ask for, and the dates and waits that come with them."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

REDIRECTS = frozenset({301, 302, 303, 307, 308})
PERMANENT_REDIRECTS = frozenset({301, 308})
GOOD = frozenset({200, 203})
BUSY = frozenset({403, 429, 503})  # a Retry-After of these speaks for the whole host

LONGEST_WAIT = timedelta(days=1)


def retry_after(value: str, now: datetime) -> timedelta | None:
    """The wait that a Retry-After asks for, at most a day; none for junk and the past (RFC 9110 §10.2.3)."""
    if re.fullmatch("[0-9]+", value.strip()):
        wait = timedelta(seconds=int(value.strip()[:9]))
    else:
        date = http_date(value)
        wait = date - now if date else timedelta()
    return min(wait, LONGEST_WAIT) if wait > timedelta() else None


def http_date(value: str) -> datetime | None:
    """A date in any of the forms of RFC 9110 §5.6.7; none for what is no date."""
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
