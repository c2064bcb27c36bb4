"""A library for the flows: a real database, and around it a site, parser, model and index in memory."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import numpy as np

from almanac.master_key import MasterKeys
from almanac.settings import Settings
from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.tables import Source
from tasks.analyse.built_in import BuiltIn
from tasks.discover import feed, json_rows, json_sample, opml, sitemap
from tasks.errors import Permanent
from tasks.extract import files, head, note
from tasks.keep.files import Doors
from tasks.keep.given import Limits
from tasks.keep.store import ObjectStore
from tasks.outside.chat import Chat
from tasks.outside.help import Help
from tasks.outside.tools.executor import Executor
from tasks.outside.tools.toolbox import Toolbox
from tasks.outside.vault import Vault as Safe
from tasks.ports import (
    Analyser,
    Entry,
    Fetched,
    Filter,
    Gate,
    Hit,
    Original,
    Payload,
    Validators,
    Vectors,
    Wanted,
)
from tasks.web.policy import Policy
from tasks.web.transport import GuardedTransport

SITE = "https://site.example"
FEED = f"{SITE}/feed"


class Site:
    """A feed of articles, and the articles; counts what it is asked."""

    def __init__(self, articles: Mapping[str, str | None]) -> None:
        self.pages = {f"{SITE}/{name}": text for name, text in articles.items()}
        self.asked: list[str] = []
        self.delay = 0.0

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any) -> Fetched:
        self.asked.append(url)
        await asyncio.sleep(self.delay)
        body = self._feed() if url == FEED else self.pages.get(url)
        if body is None:
            raise Permanent("HTTP 410 Gone")
        etag = hashlib.sha256(body.encode()).hexdigest()
        same = validators is not None and validators.etag == etag
        return Fetched(
            url=url, final_url=url, status=304 if same else 200, body=b"" if same else body.encode(),
            media_type="text/html", charset=None, validators=Validators(etag), fetched_at=datetime.now(UTC))

    def _feed(self) -> str:
        items = "".join(f"<item><title>{url[-5:]}</title><link>{url}</link></item>" for url in self.pages)
        return f'<rss version="2.0"><channel><title>Site</title>{items}</channel></rss>'


OFFERING: Mapping[str, Callable[..., dict[str, Any]]] = {
    "feed": feed.parse, "json": json_rows.parse, "json_sample": json_sample.parse, "sitemap": sitemap.parse,
    "opml": opml.parse,
    "head": head.parse, "note": note.parse, "file": files.parse,
}


class Parsers:
    """The real parsers of what offers addresses; of a page, each line is a paragraph."""

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        if parser in OFFERING:
            return OFFERING[parser](body, **context)
        lines = body.decode().splitlines()
        blocks = tuple(Block(BlockKind.PARAGRAPH, line) for line in lines)
        return Extracted(blocks, title=lines[0], extractor="lines").to_json()


class Hashes:
    """An embedder that gives each word a direction of its own."""

    name, dimensions, window = "hashes", 64, 256

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.array([self._sum(text) for text in texts], dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])

    def _sum(self, text: str) -> Any:
        rows = np.zeros(self.dimensions)
        for word in text.lower().split():
            rows[int(hashlib.md5(word.encode()).hexdigest(), 16) % self.dimensions] += 1  # noqa: S324
        return rows


class Vault:
    """An index that is a dictionary."""

    def __init__(self) -> None:
        self.entries: dict[UUID, Entry] = {}

    def upsert(self, entries: Sequence[Entry]) -> None:
        self.entries |= {entry.id: entry for entry in entries}

    def delete(self, ids: Sequence[UUID]) -> None:
        for it in ids:
            self.entries.pop(it, None)

    def describe(self, payloads: Sequence[Payload]) -> None:
        """It knows no filters."""

    def nearest(self, vector: Vectors, limit: int, where: Filter, minimum: float) -> list[Hit]:
        near = {it.id: float(np.dot(it.vector, vector.ravel())) for it in self.entries.values()}
        best = sorted((it for it in near if near[it] >= minimum), key=lambda it: -near[it])
        return [Hit(it, similarity=near[it]) for it in best[:limit]]

    def containing(self, words: str, limit: int, where: Filter) -> list[Hit]:
        asked = set(words.lower().split())
        said = {it.id: len(asked & set(it.text.lower().split())) for it in self.entries.values()}
        best = sorted((it for it in said if said[it]), key=lambda it: -said[it])
        return [Hit(it, words=float(said[it])) for it in best[:limit]]

    def stale(self, payloads: Sequence[Payload]) -> set[UUID]:
        return {it.id for it in payloads if it.id not in self.entries}

    def unlike(self, entries: Sequence[Entry]) -> set[UUID]:
        return {it.id for it in entries if it.id not in self.entries
                or not np.allclose(it.vector, self.entries[it.id].vector)}

    def count(self) -> int:
        return len(self.entries)

    def ids(self) -> Iterator[UUID]:
        return iter(list(self.entries))

    def close(self) -> None:
        self.entries.clear()


class Successor(NamedTuple):
    """What is to answer next."""

    embedder: Hashes
    index: Vault

    def filling(self) -> AbstractContextManager[Vault]:
        return nullcontext(self.index)


class Resting:
    """The converter's jail, which rests when there is nothing to do."""

    rests = 0

    def rest(self) -> None:
        self.rests += 1


class Lines:
    """A converter for which each line is a paragraph."""

    async def convert(self, original: Original) -> Extracted:
        return Extracted.from_json(await Parsers().parse("page", original.path.read_bytes(), {}))


class SmallLibrary:
    """What ``almanac.wiring.Library`` gives, over ``articles`` that a source offers."""

    worker = "small"
    renderer = None
    model: Any = None
    allowed = "127.0.0.1/32"  # that external AIs may be at
    gate: Gate | None = None  # everything is good enough

    def __init__(self, db: Database, home: Path, articles: Mapping[str, str | None]) -> None:
        self.db = db
        self.trouble: dict[str, str] = {}
        self.settings = Settings(home=home, articles_per_hour=100_000, articles_per_day=100_000)
        self.fetcher, self.parser, self.embedder, self.index = Site(articles), Parsers(), Hashes(), Vault()
        self.next = Vault()  # what a rebuild fills
        self.analyser: Analyser = BuiltIn(self.embedder)
        self.converter, self.conversion = Lines(), Resting()
        self.keys = db.keys = MasterKeys(home / "keys" / "master.key")
        self.keys.make()
        policy = Policy(self.allowed)
        self.vault = Safe(db, self.keys, policy.is_owners)
        self.help = Help(db, self.vault, Chat(lambda: GuardedTransport(policy)), self.parser,
                         lambda: self.embedder, ["Ada Krol"], seconds=5.0)

    @cached_property
    def toolbox(self) -> Toolbox:
        return Toolbox(self.db, [])

    @cached_property
    def executor(self) -> Executor:
        return Executor(self.toolbox.tools, self.settings.tool_characters)

    @cached_property
    def doors(self) -> Doors:
        incoming = self.settings.home / "incoming"
        incoming.mkdir(parents=True, exist_ok=True)
        store = ObjectStore(self.settings.originals_url)
        return Doors(self.db, self.parser, store, None, incoming, Limits())

    @contextmanager
    def successor(self) -> Iterator["Successor"]:
        yield Successor(self.embedder, self.next)

    def adopt(self, new: "Successor") -> None:
        self.index, self.next = new.index, Vault()

    def let_go(self) -> None:
        """What was left is nowhere but in memory."""

    def add_source(self) -> UUID:
        with self.db.begin() as session:
            source = Source(id=uuid4(), kind="feed", name="The site", url=FEED, limit_per_poll=1000,
                            next_poll_at=datetime.now(UTC))
            session.add(source)
        return source.id
