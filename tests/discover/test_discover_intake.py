"""What a poll does to documents: what is new, what changed, and what is the same item in other clothes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.states import DocumentState, PollOutcome
from tasks.ports import Validators

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FEED = "https://tide.example/feed"
Rss = Callable[..., str]


# What is new, what changed


async def test_new_items_become_documents_that_are_due(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(2, 1))
    source_id = desk.add(priority=80, scopes=["library", "tides"])
    result = await desk.poll(source_id)
    assert (result.outcome, result.items_seen, result.items_new) == (PollOutcome.NEW, 2, 2)
    document = desk.documents()["https://tide.example/1"]
    assert (document.state, document.due_at) == ("discovered", NOW)
    assert document.discovered_at - NOW < timedelta(milliseconds=1)  # and in the order of its source
    assert (document.priority, document.scopes, document.source_id) == (80, ["library", "tides"], source_id)
    assert (document.title, document.item_key) == ("Tide 1", "guid:tide-1")


async def test_a_feed_that_only_looks_new_makes_nothing_due(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1, 2), etag='"a"')
    source_id = desk.add()
    await desk.poll(source_id)
    desk.read_all()
    desk.web.put(FEED, rss(2, 1) + "<!-- served at noon -->", etag='"b"')
    result = await desk.poll(source_id)
    assert (result.outcome, result.reason) == (PollOutcome.UNCHANGED, "nothing new, of 2 offered")
    assert not desk.due()
    assert desk.source(source_id).etag == '"b"'


async def test_an_item_that_says_something_else_is_read_again_and_the_others_are_not(
    desk: Any, rss: Rss
) -> None:
    desk.web.put(FEED, rss(1, 2))
    source_id = desk.add()
    await desk.poll(source_id)
    desk.read_all()
    desk.web.put(FEED, rss(1, 2).replace("Tide 2", "Tide 2, corrected"))
    result = await desk.poll(source_id)
    assert (result.outcome, result.items_new, result.items_changed) == (PollOutcome.NEW, 0, 1)
    assert desk.due() == {"https://tide.example/2"}
    assert len(desk.documents()) == 2


async def test_a_document_that_waits_for_its_next_attempt_is_not_hurried(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1))
    source_id = desk.add()
    await desk.poll(source_id)
    desk.change(state=DocumentState.WAITING, due_at=NOW + DAY)
    desk.web.put(FEED, rss(1).replace("Tide 1", "Tide one"))
    await desk.poll(source_id)
    assert desk.documents()["https://tide.example/1"].due_at == NOW + DAY


async def test_what_its_owner_removed_does_not_come_back(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1))
    source_id = desk.add()
    await desk.poll(source_id)
    desk.change(state=DocumentState.REMOVED, due_at=None)
    desk.web.put(FEED, rss(1, 2).replace("Tide 1", "Tide one"))
    result = await desk.poll(source_id)
    assert (result.items_new, result.items_changed) == (1, 0)
    assert desk.due() == {"https://tide.example/2"}


async def test_an_address_that_two_sources_offer_is_one_document(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1))
    desk.web.put("https://other.example/feed", rss(1, 2))
    first, second = desk.add(), desk.add("https://other.example/feed")
    await desk.poll(first)
    assert (await desk.poll(second)).items_new == 1
    assert set(desk.documents(second)) == {"https://tide.example/2"}


async def test_the_same_guid_in_two_sources_is_two_items(desk: Any, rss: Rss) -> None:
    for host in ("a", "b"):
        url = f"https://{host}.example/feed"
        desk.web.put(url, rss(f"<guid isPermaLink='false'>1</guid><link>https://{host}.example/x</link>"))
        assert (await desk.poll(desk.add(url))).items_new == 1
    assert len(desk.documents()) == 2


async def test_items_without_an_address_are_counted_and_left_out(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss("<guid>8842</guid><title>A</title>", 1))
    result = await desk.poll(desk.add())
    assert result.reason == "1 new, 1 without an address, of 2 offered"
    assert set(desk.documents()) == {"https://tide.example/1"}


async def test_the_numbers_of_a_poll_add_up_to_what_is_offered(desk: Any, rss: Rss) -> None:
    nowhere = "<guid>8842</guid><title>A</title>"
    source = desk.add(exclude=["*/3"], limit_per_poll=2)
    desk.web.put(FEED, rss(1, 2))
    await desk.poll(source)
    desk.web.put(FEED, rss(1, 2, 3, 4, 5, 6, 7, 7, nowhere, nowhere))
    result = await desk.poll(source)
    assert result.reason == ("2 new, 2 left for the next poll, 2 as before, 1 excluded, 1 repeated, "
                             "2 without an address, of 10 offered")
    assert result.items_seen == 10


# Identity over time


def item(guid: str, path: str, title: str) -> str:
    return f"<guid isPermaLink='false'>{guid}</guid><link>https://tide.example/{path}</link><title>{title}</title>"


async def two_polls(desk: Any, before: str, after: str) -> Any:
    desk.web.put(FEED, before)
    source_id = desk.add()
    await desk.poll(source_id)
    desk.read_all()
    desk.web.put(FEED, after)
    return await desk.poll(source_id, NOW)


async def test_a_new_guid_for_the_same_address_makes_no_second_document(desk: Any, rss: Rss) -> None:
    result = await two_polls(desk, rss(item("a", "x", "Ebb")), rss(item("b", "x", "Ebb")))
    assert (result.items_new, result.items_changed, len(desk.documents())) == (0, 0, 1)


async def test_a_guid_that_is_given_to_the_next_item_merges_nothing(desk: Any, rss: Rss) -> None:
    result = await two_polls(desk, rss(item("latest", "x", "Ebb")), rss(item("latest", "y", "Flood")))
    assert result.items_new == 1
    assert {document.title for document in desk.documents().values()} == {"Ebb", "Flood"}


async def test_an_item_that_moves_takes_its_document_along_and_is_not_read_for_that(
    desk: Any, rss: Rss
) -> None:
    result = await two_polls(desk, rss(item("a", "x?session=1", "Ebb")), rss(item("a", "x?session=2", "Ebb")))
    assert (result.items_new, result.items_changed) == (0, 0)
    (document,) = desk.documents().values()
    assert (document.url, document.due_at) == ("https://tide.example/x?session=2", None)
    assert document.key == "https://tide.example/x?session=2"


@pytest.mark.parametrize(
    ("before", "after", "documents"),
    [("09:30", "09:30", {"y"}), ("09:30", "09:31", {"x", "y"}), ("00:00", "00:00", {"x", "y"})],
    ids=["of the same minute", "of another", "of the same day"],
)
async def test_an_item_that_moves_and_is_written_anew_is_known_by_guid_and_minute(
    desk: Any, rss: Rss, before: str, after: str, documents: set[str]
) -> None:
    at = "<pubDate>Mon, 02 Mar 2026 {}:00 GMT</pubDate>"
    result = await two_polls(desk, rss(item("a", "x", "Ebb") + at.format(before)),
                             rss(item("a", "y", "Flood") + at.format(after)))
    assert set(desk.documents()) == {f"https://tide.example/{path}" for path in documents}
    assert (result.items_new, result.items_changed) == ((0, 1) if len(documents) == 1 else (1, 0))


async def test_the_text_that_a_feed_brings_is_kept_with_the_document_and_follows_it(
    desk: Any, rss: Rss
) -> None:
    told = "<description>&lt;p class=a&gt;{}&lt;/p&gt;</description>"
    await two_polls(desk, rss(item("a", "x", "Ebb") + told.format("low water " * 50)),
                    rss(item("a", "x", "Ebb") + told.format("high water " * 50)))
    (document,) = desk.documents().values()
    assert document.full_text.startswith("<body><div><p>high water high water")


async def test_an_item_does_not_move_to_the_address_of_another_document(desk: Any, rss: Rss) -> None:
    desk.web.put("https://other.example/feed", rss(item("o", "y", "Other")))
    await desk.poll(desk.add("https://other.example/feed"))
    await two_polls(desk, rss(item("a", "x", "Ebb")), rss(item("a", "y", "Ebb")))
    assert set(desk.documents()) == {"https://tide.example/x", "https://tide.example/y"}


async def test_items_of_one_address_are_one_document_that_any_of_them_changes(desk: Any, rss: Rss) -> None:
    first, second = item("1", "live#1", "Nine"), item("2", "live#2", "Ten")
    result = await two_polls(desk, rss(second, first), rss(first, second))
    assert (result.items_changed, len(desk.documents())) == (0, 1)
    desk.web.put(FEED, rss(item("3", "live#3", "Eleven"), second, first))
    (document,) = desk.documents().values()
    assert (await desk.poll(document.source_id)).items_changed == 1


# Filters and limits


async def test_globs_decide_which_addresses_are_stored(desk: Any, rss: Rss) -> None:
    items = [item(path, path, path) for path in ("news/a", "news/b?print=1", "jobs/c")]
    desk.web.put(FEED, rss(*items))
    await desk.poll(desk.add(include=["*/news/*"], exclude=["*print=*"]))
    assert set(desk.documents()) == {"https://tide.example/news/a"}


async def test_what_is_past_the_limit_comes_with_the_next_polls(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(5, 4, 3, 2, 1), etag='"a"')
    source_id = desk.add(limit_per_poll=2)
    results = [await desk.poll(source_id, NOW + n * HOUR) for n in range(4)]
    assert [result.items_new for result in results] == [2, 2, 1, 0]
    assert "3 left for the next poll" in results[0].reason
    assert results[3].outcome is PollOutcome.UNCHANGED
    assert [asked for _, asked in desk.web.asked] == [*[Validators()] * 3, Validators('"a"')]


async def test_what_other_sources_have_does_not_use_up_the_limit(desk: Any, rss: Rss) -> None:
    desk.web.put("https://other.example/feed", rss(1, 2, 3))
    await desk.poll(desk.add("https://other.example/feed"))
    desk.web.put(FEED, rss(1, 2, 3, 4, 5))
    assert (await desk.poll(desk.add(limit_per_poll=2))).items_new == 2
