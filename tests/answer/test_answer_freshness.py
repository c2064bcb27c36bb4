"""Freshness falls by half each half-life, and counts double where a question asks for the recent."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.states import ContentType
from tasks.answer.freshness import HALF_LIVES, age, asks_for_recent, content_type, freshness

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "query",
    [
        "latest on the harbour strike", "What is the newest release?", "the most recent figures",
        "recent floods", "what has the council decided recently", "any news from Bergen", "today's headlines",
        "TODAY\u2019S weather", "who resigned yesterday", "what happened last night", "since Monday",
        "what changed since March", "what was published since 12 May", "this week's announcements",
        "deaths this year", "last week in parliament", "the past few days", "in the last 24 hours",
        "What's new?", "what is new in PostgreSQL", "what is happening in Sudan", "currently in force",
        "the current state of the talks", "right now", "any updates on the merger", "up-to-date numbers",
        "just announced", "developments  so far", "have prices fallen lately",
    ],
)
def test_wordings_that_ask_for_the_recent(query: str) -> None:
    assert asks_for_recent(query)


@pytest.mark.parametrize(
    "query",
    [
        "how does alternating current flow", "what is a newsletter", "the last supper",
        "why is the sky blue", "newspapers of the 19th century", "history of Monday",
        "New York harbour", "ocean currents and tides", "precedents of the court",
        "the lasting effects of lead", "since when do ferries exist", "wars since 1945",
        "a presentday map", "how to update a row", "what is the weekend effect",
        "this weekly paper", "",
    ],
)
def test_wordings_that_do_not(query: str) -> None:
    assert not asks_for_recent(query)


@pytest.mark.parametrize(
    ("kind", "days", "expected"),
    [
        (ContentType.NEWS, 0, 1), (ContentType.NEWS, 3, 0.5), (ContentType.NEWS, 6, 0.25),
        (ContentType.TIME_SENSITIVE, 15, 0.7071), (ContentType.TIME_SENSITIVE, 30, 0.5),
        (ContentType.OPINION, 90, 0.5), (ContentType.OPINION, 270, 0.125),
        (ContentType.REFERENCE, 0, 1), (ContentType.REFERENCE, 10_000, 1), (ContentType.EVERGREEN, 10_000, 1),
    ],
)
def test_a_half_life_halves_it_and_reference_stays(kind: ContentType, days: int, expected: float) -> None:
    assert freshness(timedelta(days=days), HALF_LIVES.get(kind)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("source_kind", "expected"),
    [("feed", ContentType.TIME_SENSITIVE), ("page", ContentType.REFERENCE), ("url", ContentType.REFERENCE),
     ("documentation", ContentType.REFERENCE)],
)
def test_until_it_is_analysed_only_what_feeds_bring_ages(source_kind: str, expected: ContentType) -> None:
    assert content_type(source_kind) is expected


def test_a_date_in_the_future_is_as_good_as_now() -> None:
    assert age(NOW + timedelta(days=4000), NOW) == timedelta(0)


@given(st.timedeltas(timedelta(0), timedelta(days=200_000)), st.timedeltas(timedelta(0), timedelta(days=9)))
def test_it_stays_between_0_and_1_and_never_rises_with_age(old: timedelta, older_by: timedelta) -> None:
    for half_life in HALF_LIVES.values():
        assert 0 <= freshness(old + older_by, half_life) <= freshness(old, half_life) <= 1
