"""The index compared with PostgreSQL, and made to agree with it."""

import logging
import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select

from models.session import Database
from models.states import ChunkState
from models.tables import Chunk
from tasks.index.fill import entries, payloads, write_chunks
from tasks.ports import Embedder, Index

PART = 1_000  # ids in a statement
SAMPLE = 500  # chunks whose vectors and words are compared, unless all are
LIVE = Chunk.state == ChunkState.LIVE
ANSWERED_OR_MOVING = Chunk.state != ChunkState.RETIRED

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides: what should answer, what the index holds, what it lacks, and what nobody knows of.

    ``stale`` are held with another payload, and ``unlike``, of those ``compared``, with another vector or
    other words.
    """

    expected: int
    indexed: int
    missing: Collection[UUID]
    orphans: Collection[UUID]
    stale: Collection[UUID] = ()
    unlike: Collection[UUID] = ()
    compared: int = 0

    @property
    def agrees(self) -> bool:
        return not (self.missing or self.orphans or self.stale or self.unlike)

    def to_json(self) -> dict[str, int | bool]:
        return {"agrees": self.agrees, "expected": self.expected, "indexed": self.indexed,
                "missing": len(self.missing), "orphans": len(self.orphans), "stale": len(self.stale),
                "unlike": len(self.unlike), "compared": self.compared}


@dataclass(frozen=True, slots=True)
class Filled:
    """What filling came to: what should answer, what was written and taken out, and what is held now."""

    expected: int
    written: int
    removed: int
    indexed: int

    def to_json(self) -> dict[str, int]:
        return {"expected": self.expected, "written": self.written, "removed": self.removed,
                "indexed": self.indexed}


def verify(db: Database, embedder: Embedder, index: Index, sample: int | None = SAMPLE,
           payloads_too: bool = True) -> Comparison:
    """Compare chunk by chunk, and a ``sample`` of them, or all, vector by vector and word by word.

    Chunks on their way in or out are neither missing nor orphans.
    """
    with db.begin() as session:
        expected = set(session.scalars(select(Chunk.id).where(LIVE)))
    indexed = set(index.ids())
    missing, strange = expected - indexed, indexed - expected  # or changed while we looked: ask again
    both = sorted(expected & indexed)
    looked_at = both if sample is None else random.sample(both, min(sample, len(both)))
    return Comparison(
        len(expected), len(indexed), among(db, missing, live=True), strange - among(db, strange, live=False),
        stale(db, index, stale(db, index, both)) if payloads_too else (),
        unlike(db, embedder, index, looked_at), len(looked_at))


def among(db: Database, ids: Collection[UUID], live: bool) -> set[UUID]:
    """Those of the chunks that answer, or (not only ``live``) may be in the index."""
    found: set[UUID] = set()
    for part in parts(ids):
        with db.begin() as session:
            found.update(session.scalars(
                select(Chunk.id).where(Chunk.id.in_(part), LIVE if live else ANSWERED_OR_MOVING)))
    return found


def stale(db: Database, index: Index, ids: Collection[UUID]) -> set[UUID]:
    """Those that answer, and of which the index holds another payload."""
    return {chunk for part in parts(ids) for page in payloads(db, Chunk.id.in_(part) & LIVE)
            for chunk in index.stale(page)}


def unlike(db: Database, embedder: Embedder, index: Index, ids: Collection[UUID]) -> set[UUID]:
    """Those that answer, and of which the index holds another vector, or other words."""
    return {chunk for part in parts(ids) for page in entries(db, embedder, Chunk.id.in_(part) & LIVE)
            for chunk in index.unlike(page)}


def lacks(db: Database, index: Index) -> bool:
    """Whether the index holds less than what answers: nothing that we do leaves it so, but it was removed."""
    expected = answering(db)  # first: what begins to answer is in the index by then
    return index.count() < expected


def agree(db: Database, embedder: Embedder, index: Index) -> None:
    """Make the index hold what answers, when it does not hold as many chunks: a new or an old folder."""
    if index.count() != answering(db):
        fill(db, embedder, index)


def answering(db: Database) -> int:
    """How many chunks should answer."""
    with db.begin() as session:
        return session.scalars(select(func.count()).select_from(Chunk).where(LIVE)).one()


def fill(db: Database, embedder: Embedder, index: Index) -> Filled:
    """Make the index hold what answers and nothing else, from PostgreSQL alone; what is right stays.

    It may be stopped anywhere: the next time goes on from there.
    """
    is_new = not index.count()
    written = write_chunks(db, embedder, index, LIVE) if is_new else 0
    found = verify(db, embedder, index, sample=0, payloads_too=not is_new)
    if not found.agrees:
        log.warning("the index lacks %d chunks, holds %d strange ones and %d as they were: all is put right",
                    len(found.missing), len(found.orphans), len(found.stale))
    for part in parts(found.missing):
        written += write_chunks(db, embedder, index, Chunk.id.in_(part) & LIVE)
    for part in parts(found.stale):
        for page in payloads(db, Chunk.id.in_(part) & LIVE):
            index.describe(page)
    index.delete(list(found.orphans))
    return Filled(found.expected, written, len(found.orphans), index.count())


def describe(db: Database, index: Index, versions: Collection[UUID]) -> None:
    """Write anew what filters need of these versions' chunks: they were judged anew, their text stays."""
    for part in parts(versions):
        for page in payloads(db, Chunk.version_id.in_(part) & LIVE):
            index.describe(page)


def parts(ids: Collection[UUID]) -> Iterator[list[UUID]]:
    ordered = sorted(ids)
    for i in range(0, len(ordered), PART):
        yield ordered[i : i + PART]
