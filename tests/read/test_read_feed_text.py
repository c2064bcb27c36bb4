"""A page that cannot be read, or says much less than its feed did, is read from the text in the feed."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, select, update

from models.addresses import identity_key
from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.tables import Document, DocumentVersion, Source
from tasks.errors import NeedsBrowser, NeedsCredential, Permanent, Postponed, StageError, Transient, Unsafe
from tasks.extract import fragment
from tasks.ports import Fetched, Validators, Wanted
from tasks.read import read_documents

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://quay.example/a"
TOLD = "The boats stay in the harbour until the storm is over. " * 12
FULL = f"<body><div><p>{TOLD}</p></div></body>"


class Page:
    """The page as it is now: its text, 304 (None), or how it fails."""

    def __init__(self, now: str | StageError | None) -> None:
        self.now = now
        self.asked: list[Validators | None] = []

    async def fetch(
        self, url: str, wanted: Wanted, validators: Validators | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        self.asked.append(validators)
        await asyncio.sleep(0)
        if isinstance(self.now, StageError):
            raise self.now
        status, body = (304, b"") if self.now is None else (200, self.now.encode())
        return Fetched(url, url, status, body, "text/html", None, Validators('"1"'), NOW)


class Parsers:
    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        if parser == "fragment":
            return fragment.parse(body, **context)
        if body == b"a wall":
            raise Permanent("the page is a wall that asks for consent, not an article")
        blocks = (Block(BlockKind.PARAGRAPH, body.decode()),)
        return Extracted(blocks, "Storm", "page", author="Ada").to_json()


def plant(db: Database, **values: Any) -> UUID:
    with db.begin() as session:
        made = insert(Source).values(kind="feed", name="Quay", url="https://quay.example/feed")
        source = session.execute(made.returning(Source.id)).scalar_one()
        row = {"url": URL, "key": identity_key(URL), "source_id": source, "due_at": NOW,
               "title": "In the feed", "full_text": FULL}
        return session.execute(insert(Document).values(row | values).returning(Document.id)).scalar_one()


async def read(db: Database, page: Page, document: UUID, now: datetime = NOW) -> tuple[str, str]:
    (told,) = await read_documents(db, page, Parsers(), "test", 1, now, [document])
    return told.state, told.reason


def versions(db: Database) -> list[DocumentVersion]:
    with db.begin() as session:
        return list(session.scalars(select(DocumentVersion).order_by(DocumentVersion.number)))


@pytest.mark.parametrize("failure", [
    Permanent("HTTP 404 Not Found"), NeedsBrowser("no text"), NeedsCredential("HTTP 401 Unauthorized"),
])
async def test_a_page_that_cannot_be_read_is_read_from_the_feed_and_says_so(
    db: Database, failure: StageError
) -> None:
    state, reason = await read(db, Page(failure), plant(db))
    assert (state, reason) == ("read", f"read, from the text in its feed: {failure.reason}")
    (version,) = versions(db)
    assert (version.text, version.extractor, version.title) == (TOLD.strip(), "feed", "In the feed")
    assert version.final_url == URL


async def test_a_page_that_is_a_wall_is_read_from_the_feed(db: Database) -> None:
    _, reason = await read(db, Page("a wall"), plant(db))
    assert reason == ("read, from the text in its feed: "
                      "the page is a wall that asks for consent, not an article")


async def test_a_page_that_says_much_less_keeps_its_title_and_author_but_not_its_text(db: Database) -> None:
    document = plant(db)
    page = Page("The boats stay in the harbour until… Read more")
    assert await read(db, page, document) == (
        "read", "read, from the text in its feed: its page says much less")
    (version,) = versions(db)
    assert (version.text, version.title, version.author) == (TOLD.strip(), "Storm", "Ada")
    await read(db, page, document, NOW + timedelta(hours=1))
    assert page.asked[1] == Validators()  # a 304 would hide that the feed says something else by then
    assert len(versions(db)) == 1


async def test_a_page_that_says_about_as_much_is_read_itself(db: Database) -> None:
    assert await read(db, Page(TOLD[:400]), plant(db)) == ("read", "read")
    assert versions(db)[0].extractor == "page"


@pytest.mark.parametrize(
    ("failure", "state"),
    [(Unsafe("a loopback address"), "rejected"), (Transient("HTTP 503"), "waiting"),
     (Postponed("others are first"), "waiting")],
)
async def test_an_unsafe_address_is_not_cited_and_a_page_that_may_come_back_is_waited_for(
    db: Database, failure: StageError, state: str
) -> None:
    assert await read(db, Page(failure), plant(db)) == (state, failure.reason)
    assert not versions(db)


async def test_a_page_that_never_comes_back_is_read_from_the_feed_at_the_last_attempt(db: Database) -> None:
    state, reason = await read(db, Page(Transient("HTTP 503")), plant(db, attempts=7))
    assert (state, reason) == ("read", "read, from the text in its feed: HTTP 503")


async def test_what_a_page_has_said_is_not_replaced_by_the_feed_because_the_page_fails(db: Database) -> None:
    document = plant(db)
    await read(db, Page(TOLD + "And more."), document)
    assert await read(db, Page(Permanent("HTTP 410 Gone")), document) == ("rejected", "HTTP 410 Gone")
    assert [version.extractor for version in versions(db)] == ["page"]


async def test_what_was_read_from_the_feed_follows_the_feed(db: Database) -> None:
    document, gone = plant(db), Page(Permanent("HTTP 404 Not Found"))
    await read(db, gone, document)
    with db.begin() as session:
        session.execute(update(Document).values(full_text=FULL.replace("storm", "gale")))
    _, reason = await read(db, gone, document, NOW + timedelta(days=2))
    assert reason == "changed: version 2, from the text in its feed: HTTP 404 Not Found"
    assert "gale" in versions(db)[1].text


async def test_without_a_text_in_the_feed_nothing_changes(db: Database) -> None:
    assert await read(db, Page(Permanent("HTTP 410 Gone")), plant(db, full_text=None)) == (
        "rejected", "HTTP 410 Gone")
