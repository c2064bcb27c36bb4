"""Copies: a document that repeats another is read for itself when that one says it no more."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from models.addresses import identity_key
from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.states import DocumentState
from models.tables import LIBRARY_SCOPE, Document, DocumentVersion, Source
from tasks import curate
from tasks.errors import NeedsBrowser, Permanent, StageError, Transient
from tasks.ports import Fetched, Validators, Wanted
from tasks.read import due, read_documents
from tasks.read.alike import is_within
from tasks.read.save import confirm
from tasks.read.twins import is_dressed, twins

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MAIN, COPY = "https://site.example/a", "https://site.example/amp/a"
POINTS = f"Long text\ncanonical: {MAIN}"


class Site(dict[str, str | StageError]):
    """A fetcher and a parser over pages in memory: a line is a paragraph, or the canonical address.

    A page that is ``-> URL`` redirects there, to a short text.
    """

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any) -> Fetched:
        page = self[url]
        if isinstance(page, StageError):
            raise page
        final = page.removeprefix("-> ") if page.startswith("-> ") else url
        body = page if final == url else "Short text"
        return Fetched(url, final, 200, body.encode(), "text/html", None, Validators(), NOW)

    async def parse(self, parser: str, body: bytes, context: Any) -> dict[str, Any]:
        lines = body.decode().splitlines()
        said = tuple(Block(BlockKind.PARAGRAPH, it) for it in lines if not it.startswith("canonical: "))
        canonical = next((it[11:] for it in lines if it.startswith("canonical: ")), None)
        return Extracted(said, title="Page", extractor="lines", canonical_url=canonical).to_json()


class Shelf:
    """Two documents of different sources; ``main`` was found first."""

    def __init__(self, db: Database) -> None:
        self.db = db
        with db.begin() as session:
            self.main, self.copy = (self._plant(session, url, n) for n, url in enumerate((MAIN, COPY)))

    def _plant(self, session: Any, url: str, n: int) -> UUID:
        source = Source(kind="feed", name="Site", url=f"https://site.example/{uuid4()}")
        session.add(source)
        session.flush()
        document = Document(id=uuid4(), source_id=source.id, url=url, key=identity_key(url), due_at=NOW,
                            discovered_at=NOW + timedelta(seconds=n))
        session.add(document)
        session.flush()
        return document.id

    async def read(self, site: Site, *ids: UUID, max_attempts: int = 8) -> None:
        await read_documents(self.db, site, site, "test", 9, NOW, ids or None, max_attempts)

    def row(self, document_id: UUID) -> Document:
        with self.db.begin() as session:
            return session.get_one(Document, document_id)

    def texts(self, document_id: UUID) -> list[str]:
        with self.db.begin() as session:
            query = select(DocumentVersion.text).where(DocumentVersion.document_id == document_id)
            return list(session.scalars(query.order_by(DocumentVersion.number)))


@pytest.fixture
def shelf(db: Database) -> Shelf:
    return Shelf(db)


@pytest.mark.parametrize(
    ("end", "state"),
    [(Permanent("not found (HTTP 404)"), "rejected"), (Transient("HTTP 503"), "failed"),
     (NeedsBrowser("no text"), "needs_browser")],
)
async def test_what_repeats_a_page_that_then_cannot_be_read_is_read_for_itself(
    shelf: Shelf, end: StageError, state: str
) -> None:
    site = Site({MAIN: end, COPY: f"-> {MAIN}"})
    await shelf.read(site, shelf.copy)
    assert shelf.row(shelf.copy).duplicate_of == shelf.main
    await shelf.read(site, shelf.main, max_attempts=1)
    row = shelf.row(shelf.copy)
    assert (shelf.row(shelf.main).state, row.state, row.due_at, row.duplicate_of) == (
        state, "discovered", NOW, None)
    assert row.reason == "what it repeated could not be read"
    await shelf.read(site)
    assert (shelf.row(shelf.copy).state, shelf.texts(shelf.copy)) == ("read", ["Short text"])


STORY = "The pier was opened again on Monday after two winters of repairs to its oldest timbers"
OTHER = "Forty nests of the barn owl were counted in the valley this spring by volunteers"
TWIN = f"{STORY}\ncanonical: {MAIN}"


@pytest.mark.parametrize("first", ["the main page", "its twin", "both at once"])
async def test_a_twin_joins_the_page_that_it_calls_canonical_whichever_is_read_first(
    shelf: Shelf, first: str
) -> None:
    site = Site({MAIN: f"{STORY}\nMore of it at the harbour office", COPY: TWIN})
    order = {"the main page": [shelf.main, shelf.copy], "its twin": [shelf.copy, shelf.main]}
    for identity in order.get(first, [None]):
        await shelf.read(site, *filter(None, [identity]))
    row = shelf.row(shelf.copy)
    assert (shelf.row(shelf.main).state, row.state, row.duplicate_of) == ("read", "duplicate", shelf.main)
    assert row.reason.startswith(f"its canonical address is {MAIN}")
    with shelf.db.begin() as session:
        waiting = select(DocumentVersion.document_id).where(DocumentVersion.superseded_at.is_(None))
        assert session.scalars(waiting).all() == [shelf.main]


@pytest.mark.parametrize("first", ["the main page", "its twin"])
async def test_a_page_that_says_something_else_than_its_canonical_address_stays(
    shelf: Shelf, first: str
) -> None:
    site = Site({MAIN: OTHER, COPY: TWIN})
    order = [shelf.main, shelf.copy]
    for identity in order if first == "the main page" else reversed(order):
        await shelf.read(site, identity)
    assert [shelf.row(identity).state for identity in order] == ["read", "read"]


async def test_a_twin_that_says_something_of_its_own_later_is_read_for_itself_again(shelf: Shelf) -> None:
    site = Site({MAIN: STORY, COPY: TWIN})
    await shelf.read(site)
    site[COPY] = f"{OTHER}\ncanonical: {MAIN}"
    await shelf.read(site, shelf.copy)
    assert (shelf.row(shelf.copy).state, shelf.row(shelf.copy).duplicate_of) == ("read", None)


async def test_addresses_that_only_look_like_twins_are_two_pages(shelf: Shelf) -> None:
    await shelf.read(Site({MAIN: STORY, COPY: OTHER}))
    assert [shelf.row(it).state for it in (shelf.main, shelf.copy)] == ["read", "read"]


LONG = " ".join(f"{STORY}, said {name} of the harbour office." for name in (
    "Ada", "Ben", "Cleo", "Dora", "Egon", "Fay", "Gus", "Hal", "Ida", "Jon"))


@pytest.mark.parametrize("first", ["the main page", "its twin"])
async def test_a_twin_that_names_no_canonical_address_joins_when_it_says_nearly_the_same(
    shelf: Shelf, first: str
) -> None:
    site = Site({MAIN: LONG, COPY: f"{LONG}\nShare this with a friend"})
    order = [shelf.main, shelf.copy]
    for identity in order if first == "the main page" else reversed(order):
        await shelf.read(site, identity)
    row = shelf.row(shelf.copy)
    assert (shelf.row(shelf.main).state, row.state, row.duplicate_of) == ("read", "duplicate", shelf.main)
    assert MAIN in row.reason


async def test_tables_that_differ_in_their_numbers_alone_are_two_pages(shelf: Shelf) -> None:
    await shelf.read(Site({MAIN: f"{LONG} High water at 9.", COPY: f"{LONG} High water at 10."}))
    assert [shelf.row(it).state for it in (shelf.main, shelf.copy)] == ["read", "read"]


@pytest.mark.parametrize("dressed", [
    "https://m.site.example/a/pier", "http://mobile.site.example/a/pier", "https://site.example/amp/a/pier",
    "https://www.site.example/a/pier/amp/", "https://site.example/a/pier?print=1",
    "https://site.example/a/pier?output=amp", "https://site.example/a/pier/print",
])
def test_what_may_be_a_twin_is_compared_whichever_is_read_first(dressed: str) -> None:
    plain, other = "https://site.example/a/pier", "https://site.example/a/pier?id=2"
    assert dressed in twins(plain)
    assert plain in twins(dressed)
    assert other not in {*twins(plain), *twins(dressed)}
    assert [is_dressed(key) for key in (plain, dressed, other)] == [False, True, False]


@pytest.mark.parametrize("key", [
    "https://site.example/printing/a", "https://amp.example/a", "https://site.example/a?p=41",
    "https://m.example/", "https://site.example/amplifiers", "https://site.example/?view=list",
])
def test_what_only_begins_like_a_dress_is_none(key: str) -> None:
    assert not is_dressed(key)


@pytest.mark.parametrize(("text", "other", "within"), [
    (STORY, f"Menu\n{STORY}\nPrint this page", True),
    (f"{STORY} Share", STORY, True),
    (f"{STORY} {OTHER}", STORY, False),
    ("Pier", "Pier", True), ("Pier", "The pier", False), ("", "Pier", False), ("Pier", "", False),
    ("...", "...", False),
])
def test_a_text_stands_in_another_when_nearly_all_of_it_does(text: str, other: str, within: bool) -> None:
    assert is_within(text, other) is within


async def test_a_page_that_answers_and_fails_later_keeps_its_duplicates(shelf: Shelf) -> None:
    site = Site({MAIN: "Long text", COPY: POINTS})
    await shelf.read(site)
    site[MAIN] = Permanent("gone (HTTP 410)")
    await shelf.read(site, shelf.main)
    assert (shelf.row(shelf.copy).state, due(shelf.db, NOW)) == ("duplicate", 0)


async def test_what_said_the_same_as_a_page_that_changed_is_read_for_itself(shelf: Shelf) -> None:
    site = Site({MAIN: "Today: the pier opens", COPY: "Today: the pier opens"})
    await shelf.read(site)
    assert shelf.row(shelf.copy).state == "duplicate"
    site[MAIN] = "Today: rain"
    await shelf.read(site, shelf.main)
    await shelf.read(site)
    assert shelf.texts(shelf.copy) == ["Today: the pier opens"]


@pytest.mark.parametrize("what", ["document", "source"])
async def test_what_repeats_a_page_that_its_owner_removes_is_read_for_itself(shelf: Shelf, what: str) -> None:
    site = Site({MAIN: "Long text", COPY: POINTS})
    await shelf.read(site)
    if what == "document":
        curate.remove_document(shelf.db.caller([LIBRARY_SCOPE]), shelf.main, NOW)
    else:
        curate.remove_source(shelf.db.caller([LIBRARY_SCOPE]), shelf.row(shelf.main).source_id, NOW)
    assert shelf.row(shelf.copy).reason == "what it repeated was removed"
    await shelf.read(site)
    assert (shelf.row(shelf.copy).state, shelf.texts(shelf.copy)) == ("read", ["Long text"])


async def test_a_survivor_that_ends_while_its_duplicate_is_saved_is_noticed_after_it(shelf: Shelf) -> None:
    with shelf.db.begin() as session:
        session.execute(update(Document).where(Document.id == shelf.main).values(state="rejected"))
        session.execute(update(Document).where(Document.id == shelf.copy).values(
            state=DocumentState.DUPLICATE, duplicate_of=shelf.main, due_at=None))
    confirm(shelf.db, shelf.main, NOW)
    assert (shelf.row(shelf.copy).state, shelf.row(shelf.copy).due_at) == ("discovered", NOW)


async def test_an_address_that_fails_says_since_when_until_it_is_read_well_again(shelf: Shelf) -> None:
    site = Site({MAIN: Permanent("gone (HTTP 410)")})
    await shelf.read(site, shelf.main)
    await read_documents(shelf.db, site, site, "test", 9, NOW + timedelta(days=1), [shelf.main])
    assert shelf.row(shelf.main).failing_since == NOW
    site[MAIN] = "Back"
    await shelf.read(site, shelf.main)
    assert shelf.row(shelf.main).failing_since is None
