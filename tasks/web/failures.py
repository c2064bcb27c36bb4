"""Failures at the door: one table from status, exception and content to what to do next, and its words.

What a page holds (sign-in pages, app shells) is judged where it is read: tasks.extract.
"""

import ssl
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum, auto

import h2.exceptions
import httpcore

from tasks.errors import NeedsCredential, Permanent, Postponed, StageError, Transient, Unsafe
from tasks.web import statuses


class TooManyRedirects(Permanent):
    """A chain that is longer than we follow, or goes in a circle."""


class UnsafeRedirect(Unsafe):
    """A redirect to what may not be fetched."""


class Content(Enum):
    """What may be wrong with an answer whose status is good, or with asking at all."""

    TOO_LARGE = auto()
    TOO_SLOW = auto()
    TOO_LATE = auto()
    CUT_SHORT = auto()
    TOO_MANY_PIECES = auto()
    UNKNOWN_CODING = auto()
    BROKEN_CODING = auto()
    NO_PAGE_TYPE = auto()
    NO_PAGE_IN_XML = auto()
    BINARY = auto()
    NOT_TEXT = auto()
    NO_SUCH_NAME = auto()
    REDIRECT_CIRCLE = auto()
    REDIRECT_CHAIN = auto()
    REDIRECT_REFUSED = auto()
    ROBOTS_REFUSE = auto()
    ROBOTS_UNAVAILABLE = auto()
    PAUSE = auto()
    TURN_FAR_OFF = auto()
    CLOSED = auto()
    LED_ASTRAY = auto()
    LED_ON = auto()
    DOWNLOAD = auto()
    NOT_SHOWN = auto()
    TOO_MUCH_MEMORY = auto()
    TOO_MUCH_LOADED = auto()
    TOO_MANY_ASKED = auto()
    NO_BROWSER = auto()
    BROWSER_ASTRAY = auto()
    BROWSER_CLOSED = auto()


Cause = int | str | type[Exception] | Content
BROKEN = "the answer broke off or is not HTTP"

FAILURES: Mapping[Cause, tuple[type[StageError], str]] = {
    # Statuses (RFC 9110 §15), and their classes for those without a row.
    304: (Transient, "the server says unchanged although nothing was asked about"),
    401: (NeedsCredential, "a login is needed"),
    403: (Permanent, "refused"),
    404: (Permanent, "not found"),
    407: (Permanent, "the server asks for a proxy login"),
    408: (Transient, "the server gave up waiting"),
    410: (Permanent, "gone"),
    425: (Transient, "the server was not ready"),
    429: (Transient, "too many requests"),
    451: (Permanent, "withheld for legal reasons"),
    503: (Transient, "the server is not available"),
    "403 that asks for a wait": (Transient, "refused for now"),
    "2xx": (Transient, "the server answered without a page"),
    "3xx": (Permanent, "the server answered with a redirect that leads nowhere"),
    "4xx": (Permanent, "refused"),
    "5xx": (Transient, "the server failed"),
    "any other status": (Permanent, "the status means nothing"),
    # Exceptions of the network, the particular before the general.
    ssl.SSLCertVerificationError: (Transient, "its certificate could not be verified"),
    ssl.SSLError: (Transient, "no secure connection could be made"),
    httpcore.ConnectTimeout: (Transient, "no connection could be made in time"),
    httpcore.ConnectError: (Transient, "no connection could be made"),
    httpcore.ReadTimeout: (Transient, "the server fell silent"),
    httpcore.WriteTimeout: (Transient, "the server fell silent"),
    httpcore.PoolTimeout: (Transient, "no connection was free in time"),
    httpcore.ReadError: (Transient, "the connection broke"),
    httpcore.WriteError: (Transient, "the connection broke"),
    httpcore.RemoteProtocolError: (Transient, BROKEN),
    httpcore.LocalProtocolError: (Transient, BROKEN),
    h2.exceptions.H2Error: (Transient, BROKEN),
    # Content and conduct.
    Content.TOO_LARGE: (Permanent, "it is larger than {limit:,} bytes"),
    Content.TOO_SLOW: (Transient, "it came slower than {least:,} bytes a second"),
    Content.TOO_LATE: (Transient, "it took longer than {seconds:g} seconds"),
    Content.CUT_SHORT: (Transient, "the answer broke off before its end"),
    Content.TOO_MANY_PIECES: (Permanent, "the answer is in too many pieces"),
    Content.UNKNOWN_CODING: (Permanent, "the answer is encoded as {coding}, which was not offered"),
    Content.BROKEN_CODING: (Permanent, "the answer is not in the content encoding that it declares"),
    Content.NO_PAGE_TYPE: (Permanent, "its content type is {declared}, which is not a page"),
    Content.NO_PAGE_IN_XML: (Permanent, "its content type is {declared} and it holds no page"),
    Content.BINARY: (Permanent, "it is {kind}"),
    Content.NOT_TEXT: (Permanent, "it declares {declared} but is {kind}"),
    Content.NO_SUCH_NAME: (Transient, "the host name could not be found"),
    Content.REDIRECT_CIRCLE: (TooManyRedirects, "its redirects go in a circle"),
    Content.REDIRECT_CHAIN: (TooManyRedirects, "it redirects more than {limit} times"),
    Content.REDIRECT_REFUSED: (UnsafeRedirect, "a redirect is refused: {why}"),
    Content.ROBOTS_REFUSE: (Permanent, "robots.txt of {host} refuses this address"),
    Content.ROBOTS_UNAVAILABLE: (Transient, "robots.txt is unavailable: {why}"),
    Content.PAUSE: (Postponed, "{host} has asked for a pause until {until:%Y-%m-%d %H:%M} UTC"),
    Content.TURN_FAR_OFF: (Postponed, "others are in front of it at {host}"),
    Content.CLOSED: (Transient, "the door to the web is closed"),
    # The browser.
    Content.LED_ASTRAY: (Unsafe, "its scripts led to an address that is refused: {why}"),
    Content.LED_ON: (Permanent, "its scripts lead on to other pages without end"),
    Content.DOWNLOAD: (Permanent, "it is a download, not a page"),
    Content.NOT_SHOWN: (Transient, "the browser could not show it: {why}"),
    Content.TOO_MUCH_MEMORY: (Permanent, "rendering it needed more than {limit:.1f} GB of memory"),
    Content.TOO_MUCH_LOADED: (Permanent, "its scripts load more than {limit} MB"),
    Content.TOO_MANY_ASKED: (Permanent, "its scripts ask for more than {limit} others"),
    Content.NO_BROWSER: (Transient, "the browser server of ALMANAC_BROWSER could not be reached"),
    Content.BROWSER_ASTRAY: (
        Transient, "the browser server of ALMANAC_BROWSER leaves out the switches that keep pages behind "
                   "the guard proxy: start it with --unsafe, so that its clients may give them"),
    Content.BROWSER_CLOSED: (Transient, "the browser is being stopped"),
}

NETWORK = tuple(cause for cause in FAILURES if isinstance(cause, type))
"""The exceptions that are the network's."""


def of_content(content: Content, retry_after: timedelta | None = None, **facts: object) -> StageError:
    """The failure that ``content`` stands for, with its facts in its words, and the wait if it passes."""
    kind, words = FAILURES[content]
    reason = words.format(**facts)
    return kind(reason, retry_after) if issubclass(kind, Transient) else kind(reason)


def of_exception(error: Exception) -> StageError:
    """The failure that one of ``NETWORK`` stands for; what lies under it says more where it is TLS."""
    under = next((each for each in error.args if isinstance(each, ssl.SSLError)), error)
    kind, words = next(FAILURES[cause] for cause in NETWORK if isinstance(under, cause))
    return kind(words)


def of_status(status: int, headers: Mapping[str, str], now: datetime) -> StageError:
    """The failure that a status stands for, with the wait that a passing one asks for."""
    wait = statuses.retry_after(headers.get("retry-after", ""), now)
    causes: list[Cause] = [status, f"{status // 100}xx", "any other status"]
    if status == 403 and wait:
        causes.insert(0, "403 that asks for a wait")
    kind, words = next(FAILURES[cause] for cause in causes if cause in FAILURES)
    reason = f"{words} (HTTP {status})"
    return Transient(reason, wait) if kind is Transient else kind(reason)
