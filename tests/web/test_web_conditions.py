"""Conditional requests: validators go back as they came, and a 304 counts only when it was asked for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import Transient
from tasks.ports import Validators, Wanted
from tasks.web.statuses import http_date, retry_after

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAST = "Sun, 1 Feb 2026 9:00:00 GMT"  # not how RFC 9110 writes it: it must come back the same all the same
FUTURE = "Fri, 01 Mar 2041 09:00:00 GMT"


@pytest.mark.parametrize("etag", ['"abc"', 'W/"abc-gzip"', "unquoted", '"caf\u00e9"'])
async def test_validators_go_back_exactly_as_they_came(site: Any, door: Any, etag: str) -> None:
    site.routes["/feed"] = (200, b"<rss/>", {"etag": etag, "last-modified": PAST})
    first = await door.fetch(site.url("/feed"), Wanted.FEED)
    assert first.validators == Validators(etag, PAST)
    await door.fetch(site.url("/feed"), Wanted.FEED, first.validators)
    assert "if-none-match" not in site.requests[0].headers
    assert site.requests[1].headers["if-none-match"] == etag
    assert site.requests[1].headers["if-modified-since"] == PAST


async def test_an_unchanged_answer_is_empty_and_keeps_its_validators(site: Any, door: Any) -> None:
    site.routes["/feed"] = b'HTTP/1.1 304 X\r\netag: "new"\r\n\r\n'
    fetched = await door.fetch(site.url("/feed"), Wanted.FEED, Validators('"old"', PAST))
    assert (fetched.status, fetched.body, fetched.not_modified) == (304, b"", True)
    assert fetched.validators == Validators('"new"', PAST)
    assert len(site.requests) == 1


async def test_validators_that_a_changed_answer_lacks_are_forgotten(site: Any, door: Any) -> None:
    site.routes["/feed"] = (200, b"<rss/>", {})
    fetched = await door.fetch(site.url("/feed"), Wanted.FEED, Validators('"old"', PAST))
    assert fetched.validators == Validators()


async def test_a_date_in_the_future_is_not_sent_back(site: Any, door: Any) -> None:
    site.routes["/feed"] = (200, b"<rss/>", {"last-modified": FUTURE})
    fetched = await door.fetch(site.url("/feed"), Wanted.FEED)
    await door.fetch(site.url("/feed"), Wanted.FEED, fetched.validators)
    assert "if-modified-since" not in site.requests[1].headers


async def test_a_date_that_cannot_be_read_is_sent_back(site: Any, door: Any) -> None:
    site.routes["/feed"] = (200, b"<rss/>", {})
    await door.fetch(site.url("/feed"), Wanted.FEED, Validators(last_modified="yesterday"))
    assert site.requests[0].headers["if-modified-since"] == "yesterday"


@pytest.mark.parametrize("validators", [None, Validators(), Validators(last_modified=FUTURE)])
async def test_unchanged_without_a_question_is_asked_once_more_and_then_a_failure(
    site: Any, door: Any, validators: Validators | None
) -> None:
    site.routes["/feed"] = b"HTTP/1.1 304 X\r\n\r\n"
    with pytest.raises(Transient, match="unchanged although nothing was asked about"):
        await door.fetch(site.url("/feed"), Wanted.FEED, validators)
    assert len(site.requests) == 2


async def test_unchanged_without_a_question_is_forgiven_when_the_next_answer_is_whole(
    site: Any, door: Any
) -> None:
    async def first_unchanged(request: Any, writer: Any) -> None:
        site.routes["/feed"] = (200, b"<rss/>", {})
        writer.write(b"HTTP/1.1 304 X\r\n\r\n")

    site.routes["/feed"] = first_unchanged
    assert (await door.fetch(site.url("/feed"), Wanted.FEED)).body == b"<rss/>"


@pytest.mark.parametrize(("value", "wait"), [
    ("3600", timedelta(hours=1)),
    (" 7 ", timedelta(seconds=7)),
    ("86401", timedelta(days=1)),
    ("9" * 5000, timedelta(days=1)),
    ("Sun, 01 Mar 2026 12:00:30 GMT", timedelta(seconds=30)),
    ("Sunday, 01-Mar-26 12:00:30 GMT", timedelta(seconds=30)),
    ("Sun Mar  1 12:00:30 2026", timedelta(seconds=30)),
    ("Wed, 21 Oct 2026 07:28:00 GMT", timedelta(days=1)),
    ("Sun, 01 Mar 2026 11:59:00 GMT", None),
    ("0", None),
    ("-5", None),
    ("1.5", None),
    ("\u0663", None),
    ("soon", None),
    ("", None),
])
def test_a_wait_is_seconds_or_a_date_and_a_day_at_most(value: str, wait: timedelta | None) -> None:
    assert retry_after(value, NOW) == wait


DATE_LIKE = r"[A-Z][a-z]{2}, \d{1,9} (Mar|X[a-z]) \d{1,30} [\d:]{1,9} [+-]\d{1,9}"


@given(st.text(max_size=40) | st.from_regex(DATE_LIKE, fullmatch=True))
def test_no_date_is_too_strange_to_be_refused(value: str) -> None:
    date = http_date(value)
    assert date is None or date.tzinfo
