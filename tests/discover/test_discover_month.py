"""A month of odd feeds, lived through in seconds: the right documents, each once, and no item missed.

The clock and the web are ours, and the web tells of each feed what its publisher does to it; the polls, the
reads and PostgreSQL are the real ones.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from html import escape
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, select

from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.states import DocumentState, PollOutcome
from models.tables import Document, DocumentVersion, Poll, Source
from tasks.discover import feed
from tasks.discover.poll import due_sources, poll_source
from tasks.errors import Permanent, Transient
from tasks.extract import fragment
from tasks.ports import Fetched, Validators, Wanted
from tasks.read import read_document, read_documents

pytestmark = pytest.mark.database
START = datetime(2026, 3, 1, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TICK, EVERY = 4 * HOUR, 8 * HOUR
WINDOW = 15  # items in a feed: more than any publisher writes while it is away
ORIGINAL, COPY = "https://publisher.example/feed", "https://copy.example/feed"  # of the same articles
PROSE = "The boats stay in the harbour until the storm is over. " * 10


@dataclass
class Article:
    number: int
    site: str
    at: datetime
    edited: int = 0

    @property
    def url(self) -> str:
        again = "again-" * self.edited if self.site == "renamer" else ""
        return f"https://{self.site}.example/{again}{self.number}"

    @property
    def text(self) -> str:
        return f"{self.site} {self.number} tells for the {self.edited}. time of the tide."


@dataclass
class Publisher:
    """A site and its feed; what makes it odd is said by the functions below."""

    site: str
    articles: list[Article] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"https://{self.site}.example/feed"

    def item(self, article: Article, now: datetime) -> str:
        return (f"<item><title>{self.site} {article.number}</title><link>{article.url}</link>"
                f"<guid isPermaLink='false'>{self.guid(article, now)}</guid>"
                f"<pubDate>{self.date(article, now)}</pubDate>"
                f"<description>{escape(self.said(article))}</description></item>")

    def guid(self, article: Article, now: datetime) -> str:
        return f"{self.site}-{article.number}"

    def date(self, article: Article, now: datetime) -> str:
        return format_datetime(article.at)

    def said(self, article: Article) -> str:
        return article.text

    def listed(self, now: datetime) -> Iterator[str]:
        for article in reversed(self.articles[-WINDOW:]):
            yield self.item(article, now)

    def feed(self, now: datetime) -> str:
        """The feed as it is now. Raises what its server answers instead."""
        listed = "".join(self.listed(now))
        return f"<rss version='2.0'><channel><title>{self.site}</title>{listed}</channel></rss>"

    def page(self, article: Article) -> str:
        return article.text


def between(now: datetime, first: int, last: int) -> bool:
    return first * DAY <= now - START < last * DAY


class NewGuids(Publisher):
    """It is rebuilt on the tenth day, and on the twentieth it numbers its items anew at each request."""

    def guid(self, article: Article, now: datetime) -> str:
        if between(now, 20, 31):
            return f"{article.number}-{now:%d%H}"
        return f"{'new' if between(now, 10, 20) else 'old'}-{article.number}"


class NoGuids(Publisher):
    """Placeholders, one guid for all, or none, by the day."""

    def guid(self, article: Article, now: datetime) -> str:
        return ("N/A", "latest", "", "0")[now.day % 4]


class Away(Publisher):
    """Gone from the eighth day, overloaded from the tenth, back on the thirteenth."""

    def feed(self, now: datetime) -> str:
        if between(now, 8, 10):
            raise Permanent("HTTP 404 Not Found")
        if between(now, 10, 13):
            raise Transient("HTTP 503 Service Unavailable", retry_after=2 * HOUR)
        return super().feed(now)


class Liar(Publisher):
    """Each item is of this minute, of the future, of the epoch, or of no date at all."""

    def date(self, article: Article, now: datetime) -> str:
        said = (now, now + 400 * DAY, datetime(1970, 1, 1, tzinfo=UTC), None)[article.number % 4]
        return format_datetime(said) if said else "yesterday"


class Twice(Publisher):
    """Each item comes twice, once with the mark of a campaign; the whole list stands on its head at noon."""

    def listed(self, now: datetime) -> Iterator[str]:
        items = list(super().listed(now))
        items += [item.replace("</link>", "?utm_source=feed</link>") for item in items]
        return iter(items if now.hour < 12 else items[::-1])


class Empty(Publisher):
    """Every third day it is a feed of nothing, a sign-in page, or no bytes."""

    def feed(self, now: datetime) -> str:
        if now.day % 3 == 0:
            nothing = "<rss version='2.0'><channel><title>Nothing</title></channel></rss>"
            return (nothing, "<html><head><title>Sign in</title></head></html>", "")[now.day // 3 % 3]
        return super().feed(now)


class Editor(Publisher):
    """It writes its articles anew two days later, in the feed and on the page."""

    def listed(self, now: datetime) -> Iterator[str]:
        for article in self.articles:
            article.edited = int(now - article.at > 2 * DAY)
        return super().listed(now)


class Renamer(Editor):
    """What it writes anew gets another address too; the guid and the date stay."""


class Walled(Publisher):
    """Its pages are for subscribers; its feed has everything."""

    def said(self, article: Article) -> str:
        return f"<p>{article.text} {PROSE}</p>"

    def page(self, article: Article) -> str:
        raise Permanent("the page shows only the beginning of an article to those who do not pay")


class Mover(Publisher):
    """Its feed has moved for good since the twelfth day."""


class World:
    """The web of the month: a Fetcher with a clock, and a Parser."""

    def __init__(self, publishers: list[Publisher]) -> None:
        self.now = START
        self.publishers = publishers
        self.feeds = {publisher.address: publisher for publisher in publishers}
        self.asked: Counter[str] = Counter()

    def page(self, url: str) -> str:
        for publisher in self.publishers:
            for article in publisher.articles:
                if article.url == url:
                    return publisher.page(article)
        raise Permanent("HTTP 404 Not Found")

    async def fetch(
        self, url: str, wanted: Wanted, validators: Validators | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        self.asked[url] += 1
        target = url
        if url == "https://mover.example/feed" and between(self.now, 12, 31):
            target = "https://mover.example/new/feed"
        publisher = self.feeds.get(target.replace("/new/", "/"))
        body = publisher.feed(self.now) if publisher else self.page(url.partition("?")[0])
        etag = f'"{hash(body)}"'
        same = validators is not None and validators.etag == etag
        return Fetched(url, target, 304 if same else 200, b"" if same else body.encode(), "text/html", None,
                       Validators(etag), self.now, moved_to=None if target == url else target)

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        if parser in PARSERS:
            return PARSERS[parser](body, **context)
        return Extracted((Block(BlockKind.PARAGRAPH, body.decode()),), "", "test").to_json()


PARSERS: dict[str, Callable[..., dict[str, Any]]] = {"feed": feed.parse, "fragment": fragment.parse}


def add(db: Database, url: str) -> UUID:
    row = {"kind": "feed", "url": url, "name": url, "every_seconds": EVERY // SECOND, "next_poll_at": START}
    with db.begin() as session:
        return session.execute(insert(Source).values(row).returning(Source.id)).scalar_one()


async def live(db: Database, world: World) -> None:
    """Thirty days: now and then somebody writes, and every four hours whatever is due is done."""
    chance = random.Random(5)
    while world.now < START + 30 * DAY:
        for publisher in world.publishers:
            if chance.random() < 0.2 or not publisher.articles:
                number = len(publisher.articles) + 1
                publisher.articles.append(Article(number, publisher.site, world.now - 7 * MINUTE))
        await do_what_is_due(db, world)
        world.now += TICK
    world.now += DAY  # whatever went wrong last is tried again
    await do_what_is_due(db, world)


async def do_what_is_due(db: Database, world: World) -> None:
    reader = partial(read_document, db, world, world, "month")
    for source_id in due_sources(db, world.now):
        await poll_source(db, world, world, source_id, world.now, reader)
    await read_documents(db, world, world, "month", 500, world.now)


@pytest.fixture
def world(db: Database) -> World:
    """Every kind of publisher, a second feed of the last one's articles, and the sources of them all."""
    kinds = [NewGuids, NoGuids, Away, Liar, Twice, Empty, Editor, Renamer, Walled, Mover, Publisher]
    world = World([kind(kind.__name__.lower()) for kind in kinds])
    world.feeds[COPY] = Publisher("copy", world.feeds[ORIGINAL].articles)
    for address in world.feeds:
        add(db, address)
    return world


async def test_a_month_of_odd_feeds_leaves_the_right_documents_each_once_and_misses_none(
    db: Database, world: World
) -> None:
    await live(db, world)
    written = {article.url: article for publisher in world.publishers for article in publisher.articles}
    assert len(written) > 300
    with db.begin() as session:
        documents = list(session.scalars(select(Document)))
        versions = list(session.execute(
            select(Document.key, DocumentVersion.text, DocumentVersion.extractor)
            .join(DocumentVersion, DocumentVersion.document_id == Document.id)
            .order_by(DocumentVersion.number)))
    assert Counter(document.key for document in documents) == Counter(written.keys())
    assert {document.state for document in documents} == {DocumentState.READ}
    assert Counter(version.key for version in versions) == {
        url: 1 + article.edited for url, article in written.items()}
    said = {version.key: version.text for version in versions}
    assert all(said[url].startswith(article.text) for url, article in written.items())
    assert {version.key for version in versions if version.extractor == "feed"} == {
        url for url in written if url.startswith("https://walled.")}
    again = {url: world.asked[url] for url, article in written.items()
             if world.asked[url] > 1 + article.edited}
    assert again == {}, "a page is read when it is new and when it has changed, and not again"
    check_polls(db, world)


def check_polls(db: Database, world: World) -> None:
    """Each source was asked when it was due and no more; what was wrong is told and over."""
    odd = {"away": PollOutcome.FAILED, "empty": PollOutcome.SUSPECT}
    with db.begin() as session:
        outcomes = Counter(map(tuple, session.execute(
            select(Source.name, Poll.outcome).join(Source, Source.id == Poll.source_id))))
        assert set(session.scalars(select(Source.failures))) == {0}
    told = {address: {outcome: count for (name, outcome), count in outcomes.items() if name == address}
            for address in world.feeds}
    for address, publisher in world.feeds.items():
        bad = odd.get(publisher.site)
        news = set(told[address])
        if publisher.articles is world.feeds[COPY].articles:  # what is new is told by the one asked first
            news = set(told[COPY]) | set(told[ORIGINAL])
        assert news == {PollOutcome.NEW, PollOutcome.UNCHANGED} | ({bad} if bad else set())
        assert bad or sum(told[address].values()) == 30 * DAY // EVERY + 1
