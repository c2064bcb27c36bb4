"""Feeds that move, and offers that are not believed."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.states import PollOutcome
from tasks.errors import Transient

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
FEED, NEW_HOME = "https://tide.example/feed", "https://new.example/feed"
Rss = Callable[..., str]


async def test_a_move_is_made_when_three_good_polls_in_a_row_were_led_there(
    desk: Any, web: Any, rss: Rss
) -> None:
    source = desk.add()
    for hour in range(3):
        assert desk.source(source).url == FEED
        web.put(FEED, rss(*range(1, hour + 3)), moved_to=f"{NEW_HOME}#top")
        result = await desk.poll(source, NOW + hour * HOUR)
    assert f"it has moved to {NEW_HOME}" in result.reason
    moved = desk.source(source)
    assert (moved.url, moved.moved_to, moved.moved_polls) == (NEW_HOME, None, 0)
    assert len(desk.documents()) == 4


async def test_an_unchanged_answer_counts_as_well(desk: Any, web: Any, rss: Rss) -> None:
    source = desk.add()
    web.put(FEED, rss(1), moved_to=NEW_HOME, etag='"a"')
    for hour in range(3):
        await desk.poll(source, NOW + hour * HOUR)
    assert desk.source(source).url == NEW_HOME


async def test_a_move_that_is_taken_back_begins_anew(desk: Any, web: Any, rss: Rss) -> None:
    source = desk.add()
    for hour, to in enumerate([NEW_HOME, NEW_HOME, None, NEW_HOME, "https://other.example/", NEW_HOME]):
        web.put(FEED, rss(hour), moved_to=to)
        await desk.poll(source, NOW + hour * HOUR)
    assert (desk.source(source).url, desk.source(source).moved_polls) == (FEED, 1)


@pytest.mark.parametrize("body", ["<html><title>Sign in</title>", ""])
async def test_a_move_to_what_is_no_feed_is_never_made(desk: Any, web: Any, rss: Rss, body: str) -> None:
    source = desk.add()
    web.put(FEED, body, moved_to=NEW_HOME)
    for hour in range(5):
        await desk.poll(source, NOW + hour * HOUR)
    assert (desk.source(source).url, desk.source(source).moved_to) == (FEED, None)


@pytest.mark.parametrize(("values", "to", "why"), [
    ({"headers": {"x-key": "tok_TESTONLY"}}, NEW_HOME, "a server that its headers were not set for"),
    ({}, "http://tide.example/feed", "less secure"),
])
async def test_a_source_stays_where_a_move_would_do_harm(
    desk: Any, web: Any, rss: Rss, values: Any, to: str, why: str
) -> None:
    source = desk.add(**values)
    for hour in range(4):
        web.put(FEED, rss(hour), moved_to=to)
        result = await desk.poll(source, NOW + hour * HOUR)
    assert (desk.source(source).url, why in result.reason) == (FEED, True)


async def test_two_sources_that_move_to_one_address_stay_two(desk: Any, web: Any, rss: Rss) -> None:
    source, _ = desk.add(), desk.add(NEW_HOME)
    for hour in range(4):
        web.put(FEED, rss(hour), moved_to=NEW_HOME)
        result = await desk.poll(source, NOW + hour * HOUR)
    assert desk.source(source).url == FEED
    assert "which is a source of its own" in result.reason


async def test_far_fewer_items_than_before_change_nothing_and_are_told(
    desk: Any, web: Any, rss: Rss
) -> None:
    source = desk.add()
    web.put(FEED, rss(*range(20)))
    await desk.poll(source)
    web.put(FEED, rss(99))
    result = await desk.poll(source, NOW + HOUR)
    assert result.outcome == PollOutcome.SUSPECT
    assert result.reason == "it offers only 1, although it offered 20 before"
    assert len(desk.documents()) == 20
    told = desk.source(source)
    assert (told.failures, told.last_good_at, told.health.startswith("suspect since")) == (1, NOW, True)
    web.put(FEED, rss(*range(21)))
    assert (await desk.poll(source, NOW + 2 * HOUR)).items_new == 1


async def test_a_source_that_stays_small_is_believed_at_the_fourth_look(
    desk: Any, web: Any, rss: Rss
) -> None:
    source = desk.add()
    web.put(FEED, rss(*range(20)))
    await desk.poll(source)
    web.put(FEED, rss(99))
    outcomes = [(await desk.poll(source, NOW + hour * HOUR)).outcome for hour in range(1, 6)]
    assert outcomes == ["suspect", "suspect", "suspect", "new", "unchanged"]
    web.put(FEED, rss(99, 100))
    assert (await desk.poll(source, NOW + 7 * HOUR)).outcome == "new"


async def test_failures_do_not_make_a_small_offer_believable(desk: Any, web: Any, rss: Rss) -> None:
    source = desk.add()
    web.put(FEED, rss(*range(20)))
    await desk.poll(source)
    web.fail(FEED, Transient("the host is silent"))
    for hour in range(1, 5):
        await desk.poll(source, NOW + hour * HOUR)
    web.put(FEED, rss(99))
    assert (await desk.poll(source, NOW + 6 * HOUR)).outcome == PollOutcome.SUSPECT


async def test_a_small_feed_may_shrink(desk: Any, web: Any, rss: Rss) -> None:
    source = desk.add()
    web.put(FEED, rss(*range(5)))
    await desk.poll(source)
    web.put(FEED, rss(9))
    assert (await desk.poll(source, NOW + HOUR)).outcome == PollOutcome.NEW
