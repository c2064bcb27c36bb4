"""A page that lists others is a source: what its headlines lead to is read, and the page itself never is."""

from datetime import UTC, datetime
from typing import Any

import pytest

from models.states import PollOutcome, SourceKind
from tasks.discover.add import add_source
from tasks.discover.offers import Look
from tasks.discover.probe import probe
from tasks.discover.wishes import NewSource
from tasks.errors import Permanent
from tasks.ports import Wanted

FRONT = "https://pier.example/news/"
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
pytestmark = pytest.mark.database


def front(*stories: str) -> str:
    cards = "".join(f'<div><h3><a href="{story}">The story of {story}</a></h3></div>' for story in stories)
    return f"<html><head><title>The Pier Post</title></head><body>{cards}</body></html>"


THREE = ("one", "two", "three")


@pytest.fixture
def polled(desk: Any, web: Any) -> Any:
    """Polls the front page as it is now, an hour after the last time."""
    source = desk.add(FRONT, kind="listing")

    async def poll(body: str, **more: Any) -> Any:
        web.put(FRONT, body, media_type="text/html", **more)
        return await desk.poll(source, desk.source(source).next_poll_at)

    return poll


async def test_what_it_lists_is_found_once_and_it_is_no_document_itself(
    desk: Any, web: Any, polled: Any
) -> None:
    done = await polled(front(*THREE, "one", FRONT, "https://ads.example/buy-more-piers"))
    assert (done.outcome, done.reason) == (PollOutcome.NEW, "3 new, 1 on other sites, of 4 offered")
    assert list(desk.documents()) == [f"{FRONT}{story}" for story in THREE]
    assert desk.documents()[f"{FRONT}one"].title == "The story of one"
    assert web.wanted == {FRONT: Wanted.PAGE}
    desk.read_all()
    done = await polled(front("four", *THREE))
    assert (done.items_new, done.items_changed, desk.due()) == (1, 0, set())


async def test_an_unchanged_one_costs_one_conditional_request(web: Any, parsers: Any, polled: Any) -> None:
    await polled(front(*THREE), etag='"1"')
    parsers.calls.clear()
    done = await polled(front(*THREE), etag='"1"')
    assert (done.outcome, web.asked[-1][1].etag, parsers.calls) == (PollOutcome.UNCHANGED, '"1"', [])


@pytest.mark.parametrize(("body", "why"), [
    ("<html><body><h1>Page not found</h1></body></html>", "error page"),
    ("<html><body><p>We are moving house this week.</p></body></html>", "the page lists no others"),
])
async def test_one_that_lists_nothing_is_suspect_and_changes_nothing(
    desk: Any, polled: Any, body: str, why: str
) -> None:
    await polled(front(*THREE))
    done = await polled(body)
    assert done.outcome is PollOutcome.SUSPECT
    assert why in done.reason
    assert len(desk.documents()) == 3


async def test_a_home_page_without_feed_and_sitemap_that_lists_others_is_offered_as_a_listing(
    desk: Any, web: Any, parsers: Any
) -> None:
    web.put(FRONT, front(*THREE), media_type="text/html")
    parsers.refuses = "the page lists others and is no article itself"
    [found] = await probe(web, parsers, Look(FRONT), "auto")
    assert (found.kind, found.title, found.offer.seen) == (SourceKind.LISTING, "The Pier Post", 3)
    with pytest.raises(Permanent, match="lists others"):
        await probe(web, parsers, Look(FRONT), "page")
    added = await add_source(desk.db, web, parsers, NewSource(FRONT), NOW)
    assert (added.kind, added.poll.items_new) == (SourceKind.LISTING, 3)


async def test_a_page_that_is_refused_for_another_reason_stays_refused(web: Any, parsers: Any) -> None:
    web.put(FRONT, "<html><body><p>Nothing here.</p></body></html>", media_type="text/html")
    parsers.refuses = "the page is an error page"
    with pytest.raises(Permanent, match="the page is an error page"):
        await probe(web, parsers, Look(FRONT), "auto")
