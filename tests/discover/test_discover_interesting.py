"""The reading mode "interesting": what is near to its owner's interests is read, the rest kept."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import delete

from models.session import Database
from models.states import DocumentState
from models.tables import LIBRARY_SCOPE, Document
from models.tables import Interest as Row
from tasks import curate
from tasks.discover.choosing import choose
from tasks.discover.interest import BY_WORDS, EXPLORED, NEAR, Interest, is_explored, judge
from tasks.errors import Transient
from tasks.ports import Vectors

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FEED = "https://tide.example/feed"
TIDE, STAR = Interest("tides", 1.0), Interest("stars", 1.0)
ADDRESSES = "<title>{}</title><link>https://tide.example/{}</link><guid>{}</guid>"
FAR = "elephants"


class Directions:
    """An embedder of four directions: tides, stars, and what is between or far from both."""

    name, dimensions, window = "directions", 3, 256

    def count(self, texts: Sequence[str]) -> list[int]:
        return [1 for _ in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([[0.8, 0.6, 0] if "moon" in it else [float("tide" in it), float("star" in it), 0] if
                         "tide" in it or "star" in it else [0, 0, 1] for it in texts], dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])


def test_an_item_is_as_near_as_the_nearest_topic() -> None:
    [moon, far] = judge(["The moon.", FAR], [TIDE, STAR], Directions())
    assert moon == (pytest.approx(0.8), "tides")
    assert far.score == 0


def test_words_of_a_topic_add_to_its_meaning_and_the_strongest_interest_counts_most() -> None:
    strong, faint = Interest("harbour ferry", 1.0), Interest("harbour ferry", 0.01)
    own = Interest("tides", 1.0)
    assert judge(["A ferry in the moon"], [strong], Directions())[0].score == pytest.approx(BY_WORDS / 2)
    [alone] = judge(["A ferry harbour"], [strong], Directions())
    [beside] = judge(["A ferry harbour"], [faint, own], Directions())
    assert alone.score > beside.score > 0.7 * alone.score


def test_the_share_that_is_explored_is_the_same_each_time_and_about_as_large_as_it_says() -> None:
    keys = [f"https://tide.example/{number}" for number in range(2000)]
    assert [is_explored(key) for key in keys] == [is_explored(key) for key in keys]
    assert abs(sum(map(is_explored, keys)) / len(keys) - EXPLORED) < 0.03


@pytest.fixture
def profile(db: Database) -> Iterator[None]:
    """The owner's profile: one interest, and one that has faded away."""
    with db.begin() as session:
        session.add_all(Row(topic=topic, strength=strength, touched_at=NOW)
                        for topic, strength in (("tides", 1.0), ("gone", 0.01)))
    yield
    with db.begin() as session:
        session.execute(delete(Row))


def named(explored: bool) -> str:
    """A name whose address is, or is not, of the share that is explored."""
    return next(name for name in map(str, range(1000))
                if is_explored(f"https://tide.example/{name}") is explored)


def item(title: str, name: str) -> str:
    return ADDRESSES.format(title, name, name)


async def polled(desk: Any, source: UUID, now: Any = NOW) -> Any:
    return await desk.poll(source, now, Directions)


def document(desk: Any, name: str) -> Document:
    return desk.documents()[f"https://tide.example/{name}"]


FARAWAY, TRIED = named(explored=False), named(explored=True)


@pytest.mark.database
async def test_what_is_far_is_passed_over_with_its_score_and_why(
    desk: Any, web: Any, rss: Any, profile: None
) -> None:
    web.put(FEED, rss(item("High tide", "near"), item(FAR, FARAWAY), item(FAR, TRIED)))
    result = await polled(desk, desk.add(mode="interesting"))
    assert (result.items_new, result.items_skipped) == (3, 1)
    near, far, tried = (document(desk, name) for name in ("near", FARAWAY, TRIED))
    assert (near.state, near.due_at, near.interest) == (DocumentState.DISCOVERED, NOW, 1.0)
    assert near.reason == "to be read: 1.00 near “tides”"
    assert (far.state, far.due_at, far.interest) == (DocumentState.SKIPPED, None, 0.0)
    assert far.reason == f"passed over: only 0.00 near “tides”, and {NEAR:.2f} are needed"
    assert (tried.state, tried.due_at) == (DocumentState.DISCOVERED, NOW)
    assert tried.reason == "to be read, to explore: of what is only 0.00 near “tides”, 10% are"


@pytest.mark.database
async def test_without_interests_everything_is_read_and_says_so(desk: Any, web: Any, rss: Any) -> None:
    web.put(FEED, rss(item(FAR, FARAWAY)))
    await polled(desk, desk.add(mode="interesting"))
    assert document(desk, FARAWAY).due_at == NOW
    assert document(desk, FARAWAY).reason == "to be read: nothing is known yet of what interests its owner"


@pytest.mark.database
async def test_another_source_reads_everything(desk: Any, web: Any, rss: Any, profile: None) -> None:
    web.put(FEED, rss(item(FAR, FARAWAY)))
    await polled(desk, desk.add())
    assert (document(desk, FARAWAY).due_at, document(desk, FARAWAY).interest) == (NOW, None)


@pytest.mark.database
async def test_what_was_passed_over_is_read_when_its_owner_asks(
    desk: Any, db: Database, web: Any, rss: Any, profile: None
) -> None:
    web.put(FEED, rss(item(FAR, FARAWAY)))
    source = desk.add(mode="interesting")
    await polled(desk, source)
    later = NOW + timedelta(hours=1)
    assert curate.retry_document(db.caller([LIBRARY_SCOPE]), document(desk, FARAWAY).id, later)
    await polled(desk, source, later)
    assert document(desk, FARAWAY).due_at == later


@pytest.mark.database
async def test_an_item_that_says_something_else_now_is_judged_again(
    desk: Any, web: Any, rss: Any, profile: None
) -> None:
    web.put(FEED, rss(item(FAR, FARAWAY)))
    source = desk.add(mode="interesting")
    await polled(desk, source)
    web.put(FEED, rss(item("High tide at nine", FARAWAY)))
    later = NOW + timedelta(hours=1)
    assert (await polled(desk, source, later)).items_skipped == 0
    again = document(desk, FARAWAY)
    assert (again.title, again.state, again.due_at) == ("High tide at nine", DocumentState.DISCOVERED, later)


@pytest.mark.database
async def test_a_page_without_a_title_is_judged_by_the_words_of_its_address(
    desk: Any, web: Any, profile: None
) -> None:
    web.put(FEED, "<urlset><url><loc>https://tide.example/news/spring-tide</loc></url></urlset>")
    await polled(desk, desk.add(kind="sitemap", mode="interesting"))
    assert document(desk, "news/spring-tide").interest == 1.0


@pytest.mark.database
async def test_what_a_crash_or_an_absent_model_left_unjudged_is_judged_after_the_next_poll(
    desk: Any, db: Database, web: Any, rss: Any, profile: None
) -> None:
    def away() -> Any:
        raise Transient("the model is away")

    web.put(FEED, rss(item(FAR, FARAWAY)), etag='"1"')
    source = desk.add(mode="interesting")
    assert (await desk.poll(source, NOW, away)).items_new == 1
    waits = document(desk, FARAWAY)
    assert (waits.state, waits.due_at, waits.interest) == (DocumentState.DISCOVERED, None, None)
    unchanged = await polled(desk, source, NOW + timedelta(hours=1))
    assert (unchanged.outcome, unchanged.items_skipped) == ("unchanged", 1)
    assert choose(db, source, Directions, NOW) == 0
