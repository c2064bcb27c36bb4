"""Adding sources: one look decides, and nothing is saved when it fails."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from models.session import Database
from models.states import DocumentState, PollOutcome, SourceKind
from models.tables import LIBRARY_SCOPE, Document, Poll, Source
from tasks import curate
from tasks.discover.add import AddedSource, NewSource, add_single, add_source, ensure_documentation
from tasks.discover.documentation import Shelf
from tasks.discover.poll import due_sources, poll_source
from tasks.errors import Permanent, StageError, Transient, Unsafe
from tasks.read import read_document

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FEED, PAGE = "https://tide.example/feed", "https://tide.example/"
Rss = Callable[..., str]


def html(title: str = "Tides", *feeds: str, text: str = "<p>High water at nine.</p>") -> str:
    links = "".join(f'<link rel="alternate" type="application/rss+xml" href="{feed}">' for feed in feeds)
    return f"<html><head><title>{title}</title>{links}</head><body>{text}</body></html>"


def only(db: Database, table: Any) -> Any:
    with db.begin() as session:
        return session.scalars(select(table)).one()


def count(db: Database, table: Any) -> int:
    with db.begin() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


@pytest.fixture
def add(db: Database, web: Any, parsers: Any) -> Callable[..., Any]:
    async def adding(url: str, **more: Any) -> AddedSource:
        return await add_source(db, web, parsers, NewSource(url, **more), NOW)

    return adding


async def test_a_fragment_makes_no_other_source(db: Database, web: Any, add: Any, rss: Rss) -> None:
    web.put(FEED, rss(1))
    assert (await add(f"{FEED}#top")).url == FEED
    web.put(PAGE, html("Tides", f"{FEED}#entries"))
    for same in (FEED, f"{FEED}#", f"{FEED}#other", PAGE):
        with pytest.raises(ValueError, match="already a source"):
            await add(same)
    assert count(db, Source) == 1


async def test_a_feed_is_found_out_and_its_probe_is_its_first_poll(
    db: Database, web: Any, add: Any, rss: Rss
) -> None:
    web.put(FEED, rss(1, 2), etag='"a"', media_type="text/html")
    added = await add(FEED)
    assert (added.kind, added.name, added.url) == (SourceKind.FEED, "Tide Times", FEED)
    assert (added.poll.outcome, added.poll.items_new) == (PollOutcome.NEW, 2)
    assert len(web.asked) == 1
    source = only(db, Source)
    assert (source.id, source.etag, source.last_polled_at) == (added.id, '"a"', NOW)
    assert source.next_poll_at == NOW + timedelta(hours=1)
    assert (count(db, Document), count(db, Poll)) == (2, 1)


async def test_a_source_is_as_its_owner_wants_it(db: Database, web: Any, add: Any, rss: Rss) -> None:
    web.put(FEED, rss(1, 2))
    await add(FEED, name=" My  tides ", cron="0 7 * * *", priority=90, weight=0.25, include=["*/1"],
              exclude=["*/9"], limit=7, mode="interesting")
    source = only(db, Source)
    assert (source.name, source.cron, source.every_seconds) == ("My tides", "0 7 * * *", None)
    assert (source.priority, source.weight, source.limit_per_poll) == (90, 0.25, 7)
    assert (source.include, source.exclude, source.mode) == (["*/1"], ["*/9"], "interesting")
    assert source.next_poll_at == datetime(2026, 3, 3, 7, tzinfo=UTC)
    assert only(db, Document).url == "https://tide.example/1"


async def test_a_page_that_announces_a_feed_gives_the_first_that_is_one(
    db: Database, web: Any, add: Any, rss: Rss
) -> None:
    broken, gone = "https://tide.example/comments", "https://tide.example/old"
    web.put(PAGE, html("Tides", gone, broken, FEED))
    web.put(broken, html("Sign in"))
    web.put(FEED, rss(1))
    added = await add(PAGE)
    assert (added.kind, added.url, added.poll.items_new) == (SourceKind.FEED, FEED, 1)
    assert [url for url, _ in web.asked] == [PAGE, gone, broken, FEED]


@pytest.mark.parametrize("kind", ["auto", "page"])
async def test_a_page_without_a_feed_is_a_page(db: Database, web: Any, add: Any, kind: str) -> None:
    web.put(PAGE, html("Tides today"))
    added = await add(PAGE, kind=kind)
    assert (added.kind, added.name, added.poll.items_new) == (SourceKind.PAGE, "Tides today", 1)
    assert (len(web.asked) == 1) is (kind == "page")  # else its site may have a feed or a sitemap
    document = only(db, Document)
    assert (document.url, document.state, document.due_at) == (PAGE, "discovered", NOW)


async def test_a_page_that_is_asked_for_as_a_page_stays_one_although_it_announces_a_feed(
    web: Any, add: Any, rss: Rss
) -> None:
    web.put(PAGE, html("Tides", FEED))
    web.put(FEED, rss(1))
    assert (await add(PAGE, kind="page")).kind is SourceKind.PAGE
    assert len(web.asked) == 1


async def test_a_page_that_needs_a_browser_may_be_added(web: Any, add: Any) -> None:
    web.put(PAGE, html("App", text="<div id='root'></div>"))
    added = await add(PAGE)
    assert (added.kind, added.name) == (SourceKind.PAGE, "tide.example")


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("auto", Unsafe("a loopback address is refused")),
        ("feed", Permanent("HTTP 404 Not Found")),
        ("page", Transient("the host is silent")),
    ],
)
async def test_a_probe_that_fails_saves_nothing_and_says_why(
    db: Database, web: Any, add: Any, error: StageError, kind: str
) -> None:
    web.fail(FEED, error)
    with pytest.raises(type(error), match=error.reason):
        await add(FEED, kind=kind)
    assert (count(db, Source), count(db, Document), count(db, Poll)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("body", "why"), [(html("Sign in"), "an HTML page"), ("", "empty"), ("{}", "no JSON Feed")]
)
async def test_what_is_no_feed_is_not_added_as_one(
    db: Database, web: Any, add: Any, body: str, why: str
) -> None:
    web.put(FEED, body)
    with pytest.raises(Permanent, match=f"{FEED} cannot be a feed: .*{why}"):
        await add(FEED, kind="feed")
    assert count(db, Source) == 0


async def test_the_same_source_is_added_once(db: Database, web: Any, add: Any, rss: Rss) -> None:
    web.put(FEED, rss(1))
    web.put(PAGE, html("Tides", FEED))
    added = await add(FEED)
    for url, kind in [(FEED, "feed"), (FEED, "auto"), (PAGE, "auto")]:
        with pytest.raises(ValueError, match=rf"already a source: Tide Times \({added.id}\)"):
            await add(url, kind=kind)
    assert [url for url, _ in web.asked] == [FEED, PAGE, FEED]
    assert count(db, Source) == 1


async def test_a_source_that_was_removed_may_be_added_again(
    db: Database, web: Any, add: Any, rss: Rss
) -> None:
    web.put(FEED, rss(1))
    await add(FEED)
    with db.begin() as session:
        session.execute(update(Source).values(removed_at=NOW))
        session.execute(update(Document).values(state=DocumentState.REMOVED, due_at=None))
    assert (await add(FEED)).poll.items_new == 1


# Almanac's own sources


async def test_the_documentation_is_a_source_once_and_is_polled_by_hand(
    db: Database, web: Any, parsers: Any, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("# Almanac\n")
    source_id = ensure_documentation(db)
    assert ensure_documentation(db) == source_id
    assert due_sources(db, NOW + timedelta(days=400)) == []
    shelf = Shelf(tmp_path, beyond=web)
    reader = partial(read_document, db, shelf, parsers, "test")
    first = await poll_source(db, shelf, parsers, source_id, NOW, reader)
    second = await poll_source(db, shelf, parsers, source_id, NOW, reader)
    assert [(poll.outcome, poll.items_new) for poll in (first, second)] == [("new", 1), ("unchanged", 0)]
    document = only(db, Document)
    assert (document.url, document.title, document.source_id) == ("almanac:README.md", "Almanac", source_id)
    assert (only(db, Source).name, second.next_poll_at) == ("Almanac's own documentation", None)


@pytest.mark.parametrize("all_at_once", [True, False])
async def test_documentation_that_its_owner_removed_is_there_again_at_the_next_start(
    db: Database, web: Any, parsers: Any, tmp_path: Path, all_at_once: bool
) -> None:
    (tmp_path / "README.md").write_text("# Almanac\n")
    shelf = Shelf(tmp_path, beyond=web)
    reader = partial(read_document, db, shelf, parsers, "test")
    first = ensure_documentation(db)
    await poll_source(db, shelf, parsers, first, NOW, reader)
    if all_at_once:
        removed = curate.remove_source(db.caller([LIBRARY_SCOPE]), first, NOW)
        assert removed
        assert removed.comes_back
    else:
        curate.remove_document(db.caller([LIBRARY_SCOPE]), only(db, Document).id, NOW)
    again = ensure_documentation(db)
    assert again != first
    assert ensure_documentation(db) == again
    assert (await poll_source(db, shelf, parsers, again, NOW, reader)).items_new == 1


async def test_a_page_of_the_documentation_that_was_removed_stays_away_while_others_are_there(
    db: Database, web: Any, parsers: Any, tmp_path: Path
) -> None:
    for name in ("README.md", "MORE.md"):
        (tmp_path / name).write_text("# Almanac\n")
    source_id = ensure_documentation(db)
    shelf = Shelf(tmp_path, beyond=web)
    reader = partial(read_document, db, shelf, parsers, "test")
    await poll_source(db, shelf, parsers, source_id, NOW, reader)
    with db.begin() as session:
        one = session.scalars(select(Document.id).limit(1)).one()
    curate.remove_document(db.caller([LIBRARY_SCOPE]), one, NOW)
    assert ensure_documentation(db) == source_id
    assert (await poll_source(db, shelf, parsers, source_id, NOW, reader)).items_new == 0


def test_a_single_address_is_one_document_however_often_it_is_asked_for(db: Database) -> None:
    first = add_single(db, "https://tide.example/a?utm_source=x", NOW - timedelta(days=1))
    with db.begin() as session:
        session.execute(update(Document).values(state=DocumentState.FAILED, due_at=None, attempts=8))
    second = add_single(db, "https://tide.example/a", NOW)
    document = only(db, Document)
    assert first == second == document.id
    assert (document.due_at, document.attempts, document.url) == (NOW, 0, "https://tide.example/a?utm_source=x")
    source = only(db, Source)
    assert (source.kind, source.name, source.next_poll_at) == ("url", "Single addresses", None)


async def test_a_single_address_that_a_feed_brought_is_made_due(
    db: Database, web: Any, add: Any, rss: Rss
) -> None:
    web.put(FEED, rss(1))
    added = await add(FEED)
    add_single(db, "https://tide.example/1", NOW)
    assert only(db, Document).source_id == added.id


def test_what_is_no_address_is_refused_before_anything_is_stored(db: Database) -> None:
    with pytest.raises(ValueError, match="ftp"):
        add_single(db, "ftp://tide.example/a", NOW)
    assert count(db, Source) == 0
