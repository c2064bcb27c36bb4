"""The index compared with PostgreSQL, and made to agree with it."""

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select

from models.session import Database
from models.states import ChunkState
from models.tables import Chunk
from tasks.index.switch import write_chunks
from tasks.ports import Index

PART = 1_000  # ids in a statement
LIVE = Chunk.state == ChunkState.LIVE
ANSWERED_OR_MOVING = Chunk.state != ChunkState.RETIRED

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides: what should answer, what the index holds, what it lacks, and what nobody knows of."""

    expected: int
    indexed: int
    missing: Collection[UUID]
    orphans: Collection[UUID]

    @property
    def agrees(self) -> bool:
        return not self.missing and not self.orphans

    def to_json(self) -> dict[str, int | bool]:
        return {"agrees": self.agrees, "expected": self.expected, "indexed": self.indexed,
                "missing": len(self.missing), "orphans": len(self.orphans)}


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild came to; ``indexed`` is what the index holds afterwards."""

    expected: int
    written: int
    removed: int
    indexed: int

    def to_json(self) -> dict[str, int]:
        return {"expected": self.expected, "written": self.written, "removed": self.removed,
                "indexed": self.indexed}


def verify(db: Database, index: Index) -> Comparison:
    """Compare chunk by chunk. Chunks on their way in or out are neither missing nor orphans."""
    with db.begin() as session:
        expected = set(session.scalars(select(Chunk.id).where(LIVE)))
    indexed = set(index.ids())
    missing, strange = expected - indexed, indexed - expected  # or changed while we looked: ask again
    return Comparison(len(expected), len(indexed), among(db, missing, live=True),
                      strange - among(db, strange, live=False))


def among(db: Database, ids: Collection[UUID], live: bool) -> set[UUID]:
    """Those of the chunks that answer, or (not only ``live``) may be in the index."""
    found: set[UUID] = set()
    for part in parts(ids):
        with db.begin() as session:
            found.update(session.scalars(
                select(Chunk.id).where(Chunk.id.in_(part), LIVE if live else ANSWERED_OR_MOVING)))
    return found


def lacks(db: Database, index: Index) -> bool:
    """Whether the index holds less than what answers: nothing that we do leaves it so, but it was removed."""
    expected = answering(db)  # first: what begins to answer is in the index by then
    return index.count() < expected


def agree(db: Database, index: Index) -> None:
    """Make the index hold what answers, when it does not hold as many chunks: a new or an old folder."""
    if index.count() == answering(db):
        return
    found = verify(db, index)
    log.warning("the index lacks %d chunks and holds %d strange ones: both are put right",
                len(found.missing), len(found.orphans))
    for part in parts(found.missing):
        write_chunks(db, index, Chunk.id.in_(part) & LIVE)
    index.delete(list(found.orphans))


def answering(db: Database) -> int:
    """How many chunks should answer."""
    with db.begin() as session:
        return session.scalars(select(func.count()).select_from(Chunk).where(LIVE)).one()


def rebuild(db: Database, index: Index) -> Rebuilt:
    """Write every chunk that answers, from PostgreSQL alone, and take out what nobody knows of."""
    written = write_chunks(db, index, LIVE)
    found = verify(db, index)
    index.delete(list(found.orphans))
    return Rebuilt(found.expected, written, len(found.orphans), index.count())


def parts(ids: Collection[UUID]) -> Iterator[list[UUID]]:
    ordered = sorted(ids)
    for i in range(0, len(ordered), PART):
        yield ordered[i : i + PART]
