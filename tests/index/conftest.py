"""A library of records to index, an embedder that needs no model, and the index adapters."""

import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any, cast
from uuid import UUID, uuid4

import numpy as np
import pytest
from qdrant_client import QdrantClient
from sqlalchemy import event, select, update

from models.blocks import Block, BlockKind, digest, text_of
from models.session import Database
from models.states import ChunkState, DocumentState, SourceKind
from models.tables import Chunk, Document, DocumentVersion, Source
from tasks.chunk import cut
from tasks.index import follow
from tasks.index.apart import Apart
from tasks.index.edge import EdgeIndex
from tasks.index.server import ServerCollections, ServerIndex
from tasks.ports import Embedder, Entry, Filter, Index, Vectors

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIMENSIONS = 32


class Hashing:
    """An embedder whose vectors are hashes of words: alike texts are near, and nothing is loaded."""

    name = "hashing"
    dimensions = DIMENSIONS
    window = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []  # every text that was embedded
        self.fail_after: int | None = None  # so many texts

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        if self.fail_after is not None and len(self.embedded) > self.fail_after:
            raise RuntimeError("the embedder is out of order")
        vectors = np.array([sum((word_vector(w) for w in text.split()), word_vector("")) for text in texts])
        vectors = vectors.reshape(-1, DIMENSIONS)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def embed_query(self, text: str) -> Vectors:
        return Hashing().embed([text])


def word_vector(word: str) -> Vectors:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
    return np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)


class Records:
    """Documents and versions as reading leaves them, and what an index run makes of them."""

    now = NOW

    def __init__(self, db: Database, embedder: Embedder) -> None:
        self.db = db
        self.embedder = embedder
        self.minutes = 0

    def source(self, kind: SourceKind = SourceKind.FEED, scopes: Sequence[str] = ("library",)) -> UUID:
        with self.db.begin() as session:
            source = Source(kind=kind.value, name="A source", url=f"https://s.example/{uuid4()}",
                            scopes=list(scopes))
            session.add(source)
            session.flush()
            return source.id

    def document(self, source: UUID, text: str | None = None, priority: int = 50) -> UUID:
        """A document that was read once, if a text is given."""
        address = f"https://s.example/{uuid4()}"
        with self.db.begin() as session:
            scopes = session.get_one(Source, source).scopes
            document = Document(source_id=source, url=address, key=address, priority=priority, scopes=scopes)
            session.add(document)
            session.flush()
        if text is not None:
            self.version(document.id, text)
        return document.id

    def version(self, document: UUID, text: str) -> UUID:
        """A new version: paragraphs parted by blank lines, a heading where one begins with ``#``."""
        blocks = [block(part) for part in text.split("\n\n")] if text else []
        self.minutes += 1
        with self.db.begin() as session:
            row = session.get_one(Document, document)
            last = session.scalars(
                select(DocumentVersion.number).where(DocumentVersion.document_id == document)
                .order_by(DocumentVersion.number.desc()).limit(1)).one_or_none() or 0
            version = DocumentVersion(
                document_id=document, scopes=row.scopes, number=last + 1, title="Harbour news",
                blocks=[block.to_json() for block in blocks], text=text_of(blocks),
                content_hash=digest(text_of(blocks)), final_url=row.url, extractor="test",
                read_at=NOW + timedelta(minutes=self.minutes))
            row.state, row.content_hash = DocumentState.READ, version.content_hash
            session.add(version)
            session.flush()
            return version.id

    def run(self, index: Index, limit: int = 100, per_hour: int = 1000, per_day: int = 1000,
            now: datetime = NOW) -> list[follow.Indexed]:
        return follow.index_versions(self.db, self.embedder, index, cut, limit, per_hour, per_day, now)

    def change(self, document: UUID, **values: Any) -> None:
        with self.db.begin() as session:
            session.execute(update(Document).where(Document.id == document).values(**values))

    def remove(self, document: UUID) -> None:
        """As its owner does it: a tombstone whose chunks are on their way out."""
        self.change(document, state=DocumentState.REMOVED, version_id=None, due_at=None)
        moving = Chunk.state.in_([ChunkState.LIVE, ChunkState.PENDING])
        with self.db.begin() as session:
            session.execute(update(Chunk).where(Chunk.document_id == document, moving)
                            .values(state=ChunkState.RETIRING))

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """What is sent to PostgreSQL in the meantime."""
        seen: list[str] = []

        def notice(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            seen.append(statement)

        event.listen(self.db.engine, "before_cursor_execute", notice)
        yield seen
        event.remove(self.db.engine, "before_cursor_execute", notice)

    def chunks(self, state: ChunkState | None = None, document: UUID | None = None) -> list[Chunk]:
        wanted = select(Chunk).order_by(Chunk.version_id, Chunk.position)
        wanted = wanted.where(Chunk.state == state) if state else wanted
        wanted = wanted.where(Chunk.document_id == document) if document else wanted
        with self.db.begin() as session:
            return list(session.scalars(wanted))

    def row(self, document: UUID) -> Document:
        with self.db.begin() as session:
            return session.get_one(Document, document)

    def versions(self, document: UUID) -> list[DocumentVersion]:
        with self.db.begin() as session:
            return list(session.scalars(
                select(DocumentVersion).where(DocumentVersion.document_id == document)
                .order_by(DocumentVersion.number)))

    def answers(self, index: Index, question: str) -> list[str]:
        """The texts that a reader of the library finds: hits that the records say may answer."""
        hits = index.nearest(self.embedder.embed_query(question), 50, Filter(["library"]), -1)
        with self.db.begin() as session:
            live = {chunk.id: chunk.text for chunk in session.scalars(
                select(Chunk).where(Chunk.id.in_([hit.id for hit in hits]), Chunk.state == ChunkState.LIVE))}
        return [live[hit.id] for hit in hits if hit.id in live]


def block(text: str) -> Block:
    if text.startswith("#"):
        return Block(BlockKind.HEADING, text.lstrip("# "), level=len(text) - len(text.lstrip("#")))
    return Block(BlockKind.PARAGRAPH, text)


@pytest.fixture
def embedder() -> Hashing:
    return Hashing()


@pytest.fixture
def records(db: Database, embedder: Hashing) -> Records:
    return Records(db, embedder)


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[EdgeIndex]:
    """The real engine on an empty folder."""
    index = EdgeIndex(tmp_path / "index", DIMENSIONS)
    yield index
    index.close()


class OneAtATime:
    """The client's stand-in for a server: unlike one, it must not be asked by two threads at once."""

    def __init__(self) -> None:
        self._client, self._lock = QdrantClient(":memory:"), Lock()

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                return getattr(self._client, name)(*arguments, **named)

        return call


@pytest.fixture
def server() -> ServerIndex:
    """The adapter of a Qdrant server."""
    with warnings.catch_warnings(action="ignore"):  # the stand-in has no payload indexes
        return ServerCollections(cast(QdrantClient, OneAtATime())).open("hashing", DIMENSIONS)


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Apart]:
    """The real engine in a process of its own."""
    index = Apart(tmp_path / "apart", DIMENSIONS)
    yield index
    index.close()


@pytest.fixture(params=["edge", "server"])
def index(request: pytest.FixtureRequest) -> Index:
    """Each adapter, by the name of its fixture: an empty index of 32 dimensions."""
    adapter: Index = request.getfixturevalue(request.param)
    return adapter


@pytest.fixture
def entries() -> Callable[..., list[Entry]]:
    """Makes entries of these texts, with scopes; ids depend on the texts alone."""
    def make(texts: Sequence[str], scopes: Sequence[str] = ("library",)) -> list[Entry]:
        vectors = Hashing().embed(texts)
        return [Entry(id=UUID(digest(text)[:32]), document_id=UUID(int=1), version_id=UUID(int=2),
                      source_id=UUID(int=3), scopes=scopes, vector=vector, text=text)
                for text, vector in zip(texts, vectors, strict=True)]

    return make
