"""The table of failures: every cause has a class that says what to do next, and words that say why."""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from string import Formatter
from typing import Any

import h2.exceptions
import httpcore
import pytest

from tasks.errors import NeedsCredential, Permanent, Postponed, StageError, Transient, Unsafe
from tasks.web.failures import FAILURES, NETWORK, Content, of_content, of_exception, of_status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# What DESIGN calls the next step, by status: again later, never by itself, or with a login.
STATUSES = {
    Transient: [204, 205, 206, 226, 304, 408, 425, 429, 500, 501, 502, 503, 504, 507, 520, 599],
    Permanent: [300, 305, 400, 402, 403, 404, 405, 406, 407, 410, 411, 415, 418, 422, 423, 426, 431, 451, 600,
                999],
    NeedsCredential: [401],
}


def statuses() -> Iterator[tuple[int, type[StageError]]]:
    for kind, codes in STATUSES.items():
        yield from ((code, kind) for code in codes)


@pytest.mark.parametrize(("status", "kind"), list(statuses()))
def test_a_status_says_what_to_do_next(status: int, kind: type[StageError]) -> None:
    failed = of_status(status, {}, NOW)
    assert type(failed) is kind
    assert failed.reason.endswith(f"(HTTP {status})")


def test_no_status_is_without_a_row() -> None:
    for status in range(100, 1000):
        assert isinstance(of_status(status, {}, NOW), Transient | Permanent | NeedsCredential)


@pytest.mark.parametrize(("status", "header", "wait"), [
    (429, "60", timedelta(minutes=1)),
    (503, "Thu, 01 Jan 2026 01:00:00 GMT", timedelta(hours=1)),
    (503, "999999999", timedelta(days=1)),
    (429, "soon", None),
    (403, "60", timedelta(minutes=1)),  # some hosts say 403 where others say 429
])
def test_a_passing_failure_has_the_wait_that_was_asked_for(
    status: int, header: str, wait: timedelta | None
) -> None:
    failed = of_status(status, {"retry-after": header}, NOW)
    assert isinstance(failed, Transient)
    assert failed.retry_after == wait


@pytest.mark.parametrize(("error", "reason"), [
    (httpcore.ConnectTimeout(), "no connection could be made in time"),
    (httpcore.ConnectError(OSError("refused")), "no connection could be made"),
    (httpcore.ConnectError(ssl.SSLCertVerificationError("expired")), "its certificate could not be verified"),
    (httpcore.ConnectError(ssl.SSLError("handshake")), "no secure connection could be made"),
    (httpcore.ReadTimeout(), "the server fell silent"),
    (httpcore.ReadError(), "the connection broke"),
    (httpcore.RemoteProtocolError("junk"), "the answer broke off or is not HTTP"),
    (h2.exceptions.FrameTooLargeError(), "the answer broke off or is not HTTP"),
])
def test_an_exception_of_the_network_may_pass(error: Exception, reason: str) -> None:
    failed = of_exception(error)
    assert (type(failed), failed.reason) == (Transient, reason)


def test_every_exception_that_httpcore_may_raise_has_a_row() -> None:
    kinds = [kind for kind in vars(httpcore).values() if isinstance(kind, type)]
    raised = {kind for kind in kinds if issubclass(kind, Exception)}
    raised -= {httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError}  # only bases
    raised -= {httpcore.ProxyError, httpcore.UnsupportedProtocol, httpcore.ConnectionNotAvailable}
    assert all(issubclass(kind, NETWORK) for kind in raised), raised


def facts_of(content: Content) -> dict[str, Any]:
    """A value for each place in the words: text, a number or a date, by how it is written."""
    fields = Formatter().parse(FAILURES[content][1])
    return {name: NOW if "%" in (form or "") else 7 if form else "it" for _, name, form, _ in fields if name}


@pytest.mark.parametrize("content", list(Content))
def test_what_may_be_wrong_with_content_has_a_class_and_one_sentence(content: Content) -> None:
    failed = of_content(content, **facts_of(content))
    assert isinstance(failed, FAILURES[content][0])
    assert failed.reason == failed.reason.strip().rstrip(".")
    assert "{" not in failed.reason


@pytest.mark.parametrize(("content", "kind"), [
    (Content.TOO_LARGE, Permanent), (Content.TOO_SLOW, Transient), (Content.TOO_LATE, Transient),
    (Content.CUT_SHORT, Transient), (Content.UNKNOWN_CODING, Permanent), (Content.BROKEN_CODING, Permanent),
    (Content.NO_PAGE_TYPE, Permanent), (Content.BINARY, Permanent), (Content.NO_SUCH_NAME, Transient),
    (Content.REDIRECT_CIRCLE, Permanent), (Content.REDIRECT_CHAIN, Permanent),
    (Content.REDIRECT_REFUSED, Unsafe), (Content.ROBOTS_REFUSE, Permanent),
    (Content.ROBOTS_UNAVAILABLE, Transient), (Content.PAUSE, Postponed), (Content.TURN_FAR_OFF, Postponed),
])
def test_content_and_conduct_say_what_to_do_next(content: Content, kind: type[StageError]) -> None:
    assert isinstance(of_content(content, **facts_of(content)), kind)


def test_a_wait_that_is_known_is_passed_on() -> None:
    postponed = of_content(Content.TURN_FAR_OFF, retry_after=timedelta(minutes=1), host="a.example")
    assert isinstance(postponed, Postponed)
    assert postponed.retry_after == timedelta(minutes=1)
