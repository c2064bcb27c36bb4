"""A small library whose similarities can be worked out by hand."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4, uuid5

import numpy as np
import pytest

from models.blocks import SEPARATOR, digest
from models.session import Database
from models.states import ChunkState, DocumentState, SourceKind
from models.tables import LIBRARY_SCOPE, Chunk, Document, DocumentVersion, Source, VersionAnalysis
from tasks.answer.cite import Citation, cite
from tasks.answer.fuse import Evidence, Fused
from tasks.answer.question import Question
from tasks.answer.retrieval import Retrieval
from tasks.answer.retrieve import retrieve
from tasks.ports import Entry, Filter, Hit, Vectors

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


class WordEmbedder:
    """Each word a dimension of its own: two texts of n and m words, s shared, are s / sqrt(n * m) alike."""

    name = "words"
    dimensions = 2048
    window = 256

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in set(text.lower().replace("?", "").split()):
                vectors[row, self.places.setdefault(word, len(self.places))] = 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])


class BruteIndex:
    """Compares with every vector and text. It knows no filters: only the records keep a reader out."""

    def __init__(self) -> None:
        self.entries: dict[UUID, Entry] = {}

    def upsert(self, entries: Sequence[Entry]) -> None:
        self.entries |= {entry.id: entry for entry in entries}

    def delete(self, ids: Sequence[UUID]) -> None:
        for chunk_id in ids:
            self.entries.pop(chunk_id, None)

    def nearest(self, vector: Vectors, limit: int, where: Filter, minimum: float) -> list[Hit]:
        hits = [Hit(entry.id, similarity=float(entry.vector @ vector)) for entry in self.entries.values()]
        near = [hit for hit in hits if (hit.similarity or 0) >= minimum]
        return sorted(near, key=lambda hit: -(hit.similarity or 0))[:limit]

    def containing(self, words: str, limit: int, where: Filter) -> list[Hit]:
        asked = set(words.lower().split())
        shared = {entry.id: len(asked & set(entry.text.lower().split())) for entry in self.entries.values()}
        hits = [Hit(chunk, words=float(count)) for chunk, count in shared.items() if count]
        return sorted(hits, key=lambda hit: -(hit.words or 0))[:limit]

    def count(self) -> int:
        return len(self.entries)

    def ids(self) -> Iterator[UUID]:
        return iter(self.entries)

    def close(self) -> None: ...

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a retrieval has no use for {name}")


@dataclass
class Library:
    """Rows and vectors, put in by hand; each paragraph of a document is one chunk."""

    db: Database
    embedder: WordEmbedder = field(default_factory=WordEmbedder)
    index: BruteIndex = field(default_factory=BruteIndex)

    def source(self, name: str = "The Tidings", **values: Any) -> Source:
        given = {"id": uuid4(), "kind": SourceKind.FEED, "name": name, "url": f"https://example.org/{uuid4().hex}"}
        return self._add(Source(**given | values))

    def document(self, source: Source, *paragraphs: str, title: str = "A title",
                 days_old: float | None = None, author: str | None = None, **values: Any) -> Document:
        """A document whose first version answers."""
        url = f"https://example.org/{uuid4().hex}"
        published = NOW - timedelta(days=days_old) if days_old is not None else None
        document = Document(**{"id": uuid4(), "source_id": source.id, "url": url, "key": url, "title": title,
                               "state": DocumentState.INDEXED, "discovered_at": NOW, "author": author,
                               "published_at": published, "scopes": source.scopes} | values)
        self._add(document)
        self.say(document, *paragraphs)
        return document

    def say(self, document: Document, *paragraphs: str) -> DocumentVersion:
        """A version of the document that answers from now on, in place of the one before."""
        text = SEPARATOR.join(paragraphs)
        with self.db.begin() as session:
            old = session.query(Chunk).filter_by(document_id=document.id, state=ChunkState.LIVE)
            self.index.delete([chunk.id for chunk in old])
            old.update({"state": ChunkState.RETIRED})
            number = session.query(DocumentVersion).filter_by(document_id=document.id).count() + 1
            version = DocumentVersion(
                id=uuid4(), document_id=document.id, scopes=document.scopes, number=number, blocks=[],
                text=text, content_hash=digest(text), title=document.title or "",
                author=document.author, published_at=document.published_at, final_url=document.url,
                extractor="by hand", read_at=NOW,
            )
            session.add(version)
            session.flush()
            chunks = list(self._chunks(document, version, paragraphs))
            session.add_all(chunks)
            session.query(Document).filter_by(id=document.id).update({"version_id": version.id})
        self.index.upsert([
            Entry(id=chunk.id, vector=vector, text=chunk.text, document_id=document.id, version_id=version.id,
                  source_id=document.source_id, scopes=document.scopes)
            for chunk, vector in zip(chunks, self.embedder.embed(paragraphs), strict=True)
        ])
        return version

    def analyse(self, document: Document, content_type: str = "news", language: str = "en",
                **terms: list[str]) -> Document:
        """What was understood of the version that answers."""
        with self.db.begin() as session:
            version = session.get_one(Document, document.id).version_id
            found = {"topics": [], "entities": [], "keywords": []} | terms
            session.add(VersionAnalysis(
                version_id=version, summary="", category="", content_type=content_type, language=language,
                confidence=1.0, reasons=[], analyser="by hand", analysed_at=NOW, **found))
        return document

    def _chunks(
        self, document: Document, version: DocumentVersion, paragraphs: Sequence[str]
    ) -> Iterator[Chunk]:
        start = 0
        vectors = self.embedder.embed(paragraphs).astype("<f2")
        for position, (text, vector) in enumerate(zip(paragraphs, vectors, strict=True)):
            yield Chunk(
                id=uuid5(version.id, str(position)), version_id=version.id, document_id=document.id,
                source_id=document.source_id, scopes=document.scopes, position=position, text=text,
                headings=[document.title or ""], start=start, end=start + len(text), tokens=len(text.split()),
                digest=digest(text), vector=vector.tobytes(), embedder=self.embedder.name,
                state=ChunkState.LIVE,
            )
            start += len(text) + len(SEPARATOR)

    def change(self, row: Any, **values: Any) -> None:
        with self.db.begin() as session:
            session.query(type(row)).filter_by(id=row.id).update(values)

    def ask(self, query: str, now: datetime = NOW, **wanted: Any) -> Retrieval:
        question = Question(query, **wanted)
        return retrieve(self.reader(question.own), self.embedder, self.index, question, now)

    def reader(self, scopes: Sequence[str] = (LIBRARY_SCOPE,)) -> Database:
        """The database as a reader of these scopes sees it."""
        return self.db.caller(scopes)

    def cite(
        self, retrieval: Retrieval, label: str, scopes: Sequence[str] = (LIBRARY_SCOPE,)
    ) -> Citation | None:
        return cite(self.db.caller(scopes), retrieval.retrieval_id, label)

    def _add(self, row: Any) -> Any:
        with self.db.begin() as session:
            session.add(row)
        return row


def by_cosine(question: str, found: Iterable[Evidence], minimum: float) -> list[Fused]:
    """In place of fusion, which has tests of its own: a similarity that can be worked out by hand."""
    return [Fused(each.id, each.cosine, each.cosine, 0.0, exact=False) for each in found
            if each.cosine >= minimum]


@pytest.fixture
def library(db: Database, monkeypatch: pytest.MonkeyPatch) -> Library:
    """An empty library at noon of 20 May 2026, in which similarity is the cosine."""
    monkeypatch.setattr("tasks.answer.candidates.fuse", by_cosine)
    return Library(db)


@pytest.fixture
def fused_library(db: Database) -> Library:
    """An empty library whose similarity is that of meaning and words."""
    return Library(db)
