"""HTTP statuses that are no success: which failure each one is, and how long it asks to wait."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from tasks.errors import NeedsCredential, Permanent, StageError, Transient

REDIRECTS = frozenset({301, 302, 303, 307, 308})
PERMANENT_REDIRECTS = frozenset({301, 308})
GOOD = frozenset({200, 203})
BUSY = frozenset({429, 503})  # a Retry-After of these speaks for the whole host

LONGEST_WAIT = timedelta(days=1)

FAILURES: Mapping[int, tuple[type[StageError], str]] = {
    304: (Transient, "the server says unchanged although nothing was asked about"),
    401: (NeedsCredential, "a login is needed"),
    403: (Permanent, "refused"),
    404: (Permanent, "gone"),
    407: (Permanent, "the server asks for a proxy login"),
    408: (Transient, "the server gave up waiting"),
    410: (Permanent, "gone"),
    425: (Transient, "the server was not ready"),
    429: (Transient, "too many requests"),
    451: (Permanent, "withheld for legal reasons"),
    503: (Transient, "the server is not available"),
}
BY_CLASS: Mapping[int, tuple[type[StageError], str]] = {
    2: (Transient, "the server answered without a page"),
    3: (Permanent, "the server answered with a redirect that leads nowhere"),
    4: (Permanent, "refused"),
    5: (Transient, "the server failed"),
}

UNKNOWN = (Permanent, "the status means nothing")


def failure(status: int, headers: Mapping[str, str], now: datetime) -> StageError:
    """The failure that a status stands for, with the wait that a passing one asks for."""
    kind, words = FAILURES.get(status) or BY_CLASS.get(status // 100) or UNKNOWN
    reason = f"{words} (HTTP {status})"
    if kind is Transient:
        return Transient(reason, retry_after(headers.get("retry-after", ""), now))
    return kind(reason)


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
