"""The index follows PostgreSQL: new versions go in, old ones go out, and a crash in between is repaired.

New chunks are committed as pending before the index has them, and old ones leave the index after the new ones
answer, so that a document is never missing from an answer and never in it twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID, uuid5

from sqlalchemy import Row, select

from models.blocks import Block, digest
from models.session import Database
from models.states import ChunkState
from models.tables import Chunk, Document, DocumentVersion
from tasks.index.check import Comparison, Rebuilt, agree, rebuild, verify
from tasks.index.claim import claim, held, used, waiting
from tasks.index.switch import insert_pending, retire, switch, write_chunks
from tasks.index.vectors import pack
from tasks.ports import Embedder, Index

__all__ = ["Comparison", "Indexed", "Rebuilt", "held", "index_versions", "rebuild", "repair", "used",
           "verify", "waiting"]

BATCH_VERSIONS = 16
BATCH_CHARACTERS = 400_000  # some 500 chunks; one version may be longer, and is a batch of its own

Cut = Callable[[str, Sequence[Block], Callable[[Sequence[str]], list[int]], int], Sequence["Piece"]]


class Piece(Protocol):
    """What ``cut`` makes of a version: a stretch of its text, and what is embedded for it."""

    @property
    def position(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def headings(self) -> Sequence[str]: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def embedded(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Indexed:
    """A version that answers now: its chunks, and how many of them had to be embedded."""

    document_id: UUID
    version_id: UUID
    url: str
    chunks: int
    embedded: int


def index_versions(
    db: Database, embedder: Embedder, index: Index, cut: Cut, limit: int, per_hour: int, per_day: int,
    now: datetime,
) -> list[Indexed]:
    """Finish what a crash left, then index up to ``limit`` versions; ``held`` says how many may not be yet.

    Assumes one run at a time. What an error leaves behind is finished by the next run.
    """
    settle(db, index, now)
    if next(index.ids(), None) is None:
        agree(db, index)
    claimed = claim(db, limit, per_hour, per_day, now)
    return [done for batch in batches(claimed) for done in index_batch(db, embedder, index, cut, batch, now)]


def repair(db: Database, index: Index, now: datetime | None = None) -> None:
    """Finish what a crash left, and fill an index that lost something: to be called when a process starts."""
    settle(db, index, now or datetime.now(UTC))
    agree(db, index)


def settle(db: Database, index: Index, now: datetime) -> None:
    """Finish what a crash or a removal left between PostgreSQL and the index."""
    with db.begin() as session:
        begun = session.scalars(
            select(Chunk.version_id).where(Chunk.state == ChunkState.PENDING).distinct()).all()
    finish(db, index, begun, now)


def finish(db: Database, index: Index, versions: Sequence[UUID], now: datetime) -> None:
    """Bring versions whose chunks are stored as pending to answer, and take out what they replace."""
    if versions:
        write_chunks(db, index, Chunk.version_id.in_(versions) & (Chunk.state == ChunkState.PENDING))
        switch(db, versions, now)
    retire(db, index)


def batches(claimed: Iterable[tuple[UUID, int]]) -> Iterator[list[UUID]]:
    """The versions in order, in batches that bound what is in memory."""
    batch: list[UUID] = []
    characters = 0
    for version, length in claimed:
        if batch and (len(batch) == BATCH_VERSIONS or characters + length > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(version)
        characters += length
    if batch:
        yield batch


def index_batch(db: Database, embedder: Embedder, index: Index, cut: Cut, versions: Sequence[UUID],
                now: datetime) -> list[Indexed]:
    """Cut, embed what is new, store and switch; no transaction is open while texts are embedded."""
    loaded = load(db, versions)
    pieces = {
        row.id: [(piece, digest(piece.embedded)) for piece in cut(
            row.title, [Block.from_json(block) for block in row.blocks], embedder.count, embedder.window)]
        for row in loaded
    }
    vectors = known_vectors(db, embedder.name, loaded, {key for found in pieces.values() for _, key in found})
    new = {key: piece.embedded for row in loaded for piece, key in pieces[row.id]
           if (row.document_id, key) not in vectors}
    embedded = dict(zip(new, pack(embedder.embed(list(new.values()))), strict=True))
    insert_pending(db, [
        chunk(row, piece, key, vectors.get((row.document_id, key)) or embedded[key], embedder.name)
        for row in loaded for piece, key in pieces[row.id]
    ])
    finish(db, index, versions, now)
    return [
        Indexed(row.document_id, row.id, row.url, len(pieces[row.id]),
                sum((row.document_id, key) not in vectors for _, key in pieces[row.id]))
        for row in loaded
    ]


def load(db: Database, versions: Sequence[UUID]) -> Sequence[Row[Any]]:
    """What is needed of the versions to index them."""
    with db.begin() as session:
        return session.execute(
            select(DocumentVersion.id, DocumentVersion.document_id, DocumentVersion.title,
                   DocumentVersion.blocks, DocumentVersion.scopes, Document.source_id, Document.url)
            .join(DocumentVersion.document).where(DocumentVersion.id.in_(versions))
        ).all()


def known_vectors(
    db: Database, embedder: str, versions: Sequence[Row[Any]], digests: Iterable[str]
) -> dict[tuple[UUID, str], bytes]:
    """The vectors that earlier versions of the same documents have for the same embedded texts."""
    with db.begin() as session:
        rows = session.execute(
            select(Chunk.document_id, Chunk.digest, Chunk.vector)
            .where(Chunk.document_id.in_([row.document_id for row in versions]), Chunk.embedder == embedder,
                   Chunk.digest.in_(digests))
        )
        return {(document, key): vector for document, key, vector in rows}


def chunk(version: Row[Any], piece: Piece, key: str, vector: bytes, embedder: str) -> dict[str, Any]:
    """A chunk's row. Its id depends on its version and position alone, so that it is the same every time."""
    return {
        "id": uuid5(version.id, str(piece.position)),
        "version_id": version.id,
        "document_id": version.document_id,
        "source_id": version.source_id,
        "scopes": version.scopes,
        "position": piece.position,
        "text": piece.text,
        "headings": list(piece.headings),
        "start": piece.start,
        "end": piece.end,
        "tokens": piece.tokens,
        "digest": key,
        "vector": vector,
        "embedder": embedder,
        "state": ChunkState.PENDING,
    }
