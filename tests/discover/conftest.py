"""A web in memory that counts what is asked of it, parsers that run right here, and a library to poll for."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, event, insert, select, update

from almanac.stack.postgres import Postgres
from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.sealing import KeyRing
from models.session import Database
from models.states import DocumentState
from models.tables import Document, Poll, Source
from tasks.discover import feed, json_rows, sitemap
from tasks.discover.poll import PollResult, poll_source
from tasks.errors import NeedsBrowser, Permanent, StageError
from tasks.extract import head, links
from tasks.ports import Fetched, Validators, Wanted
from tasks.read import read_document

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FEED = "https://tide.example/feed"


@dataclass
class Answer:
    body: bytes
    media_type: str = "application/rss+xml"
    etag: str | None = None
    last_modified: str | None = None
    always_304: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    moved_to: str | None = None
    final_url: str | None = None


@dataclass
class Web:
    """A Fetcher: answers by address, 304 where the validators match, and what was asked for in order."""

    pages: dict[str, Answer | StageError | Exception] = field(default_factory=dict)
    asked: list[tuple[str, Validators | None]] = field(default_factory=list)
    told: dict[str, dict[str, str]] = field(default_factory=dict)  # the owner's headers, by address
    wanted: dict[str, Wanted] = field(default_factory=dict)
    meanwhile: Callable[[], object] = lambda: None

    def put(self, url: str, body: bytes | str, **more: Any) -> None:
        self.pages[url] = Answer(body.encode() if isinstance(body, str) else body, **more)

    def fail(self, url: str, error: Exception) -> None:
        self.pages[url] = error

    async def fetch(
        self, url: str, wanted: Wanted, validators: Validators | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        self.asked.append((url, validators))
        self.told[url] = dict(headers or {})
        self.wanted[url] = wanted
        self.meanwhile()
        answer = self.pages.get(url, Permanent("HTTP 404 Not Found"))
        if isinstance(answer, Exception):
            raise answer
        given = validators or Validators()
        same = answer.always_304 or (given.etag is not None and given.etag == answer.etag) or (
            given.last_modified is not None and given.last_modified == answer.last_modified)
        return Fetched(
            url=url, final_url=answer.final_url or url, status=304 if same else 200,
            body=b"" if same else answer.body, media_type=answer.media_type, charset=None,
            validators=Validators(answer.etag, answer.last_modified), fetched_at=NOW,
            headers=answer.headers, moved_to=answer.moved_to,
        )


@dataclass
class Parsers:
    """A Parser: the real one of feeds, and one of pages that knows as much as these tests need."""

    calls: list[str] = field(default_factory=list)
    refuses: str = ""  # why every page is none

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append(parser)
        real = {"feed": feed.parse, "head": head.parse, "json": json_rows.parse, "links": links.parse,
                "sitemap": sitemap.parse}
        if self.refuses and parser not in real:
            raise Permanent(self.refuses)
        return real[parser](body, **context) if parser in real else page(body)


def page(body: bytes) -> dict[str, Any]:
    text = body.decode()
    if not (said := re.search(r"<p>(\w[^<]*)", text)):
        raise NeedsBrowser("the page has no text without a browser")
    title = re.search(r"<title>(.*?)</title>", text)
    return Extracted(
        blocks=(Block(BlockKind.PARAGRAPH, said[1]),), title=title[1] if title else "", extractor="test",
        feeds=tuple(re.findall(r'<link rel="alternate" href="(.*?)"', text)),
    ).to_json()


@pytest.fixture(scope="session")
def library(postgres: Postgres) -> Iterator[Database]:
    """One migrated database for the tests of this room."""
    postgres.ensure_database("discover", template="template_almanac")
    database = Database(postgres.url("discover"), pool_size=3, keys=lambda: KeyRing([bytes(32)]))
    yield database
    database.close()


@pytest.fixture
def db(library: Database) -> Iterator[Database]:
    """The room's database, empty again after each test: many small tests share it one by one."""
    yield library
    with library.begin() as session:
        for table in (Poll, Document, Source):
            session.execute(delete(table))


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def parsers() -> Parsers:
    return Parsers()


@pytest.fixture
def rss() -> Callable[..., str]:
    """An RSS feed of items; each is its number or the XML inside its ``<item>``."""

    def make(*items: int | str, title: str = "Tide Times") -> str:
        inside = [
            item if isinstance(item, str) else
            f"<title>Tide {item}</title><link>https://tide.example/{item}</link><guid>tide-{item}</guid>"
            for item in items
        ]
        listed = "".join(f"<item>{item}</item>" for item in inside)
        channel = f"<channel><title>{title}</title>{listed}</channel>"
        return f'<?xml version="1.0"?><rss version="2.0">{channel}</rss>'

    return make


class Desk:
    """One library under test: its sources, its documents, and polls of them."""

    def __init__(self, db: Database, web: Web, parsers: Parsers) -> None:
        self.db, self.web, self.parsers = db, web, parsers

    def add(self, url: str = FEED, kind: str = "feed", **values: Any) -> UUID:
        schedule = {"every_seconds": 3600, "next_poll_at": NOW}
        row = {"kind": kind, "name": "Tides", "url": url} | schedule | values
        with self.db.begin() as session:
            return session.execute(insert(Source).values(row).returning(Source.id)).scalar_one()

    async def poll(self, source_id: UUID, now: datetime = NOW, embedder: Any = None) -> PollResult:
        reader = partial(read_document, self.db, self.web, self.parsers, "desk")
        return await poll_source(self.db, self.web, self.parsers, source_id, now, reader, embedder)

    def source(self, source_id: UUID) -> Source:
        with self.db.begin() as session:
            return session.get_one(Source, source_id)

    def documents(self, source_id: UUID | None = None) -> dict[str, Document]:
        query = select(Document).where(Document.source_id == source_id) if source_id else select(Document)
        with self.db.begin() as session:
            return {document.url: document for document in session.scalars(query)}

    def due(self) -> set[str]:
        return {url for url, document in self.documents().items() if document.due_at == NOW}

    def change(self, *criteria: Any, **values: Any) -> None:
        """Let documents become what another stage would make of them."""
        with self.db.begin() as session:
            session.execute(update(Document).where(*criteria).values(values))

    def read_all(self) -> None:
        self.change(state=DocumentState.INDEXED, due_at=None, read_at=NOW)

    def polls(self) -> list[Poll]:
        with self.db.begin() as session:
            return list(session.scalars(select(Poll).order_by(Poll.started_at)))

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        said: list[str] = []

        def note(conn: Any, cursor: Any, statement: str, *rest: Any) -> None:
            said.append(statement)

        event.listen(self.db.engine, "before_cursor_execute", note)
        yield said
        event.remove(self.db.engine, "before_cursor_execute", note)


@pytest.fixture
def desk(db: Database, web: Web, parsers: Parsers) -> Desk:
    return Desk(db, web, parsers)
