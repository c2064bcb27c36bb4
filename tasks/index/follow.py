"""The index follows PostgreSQL: new versions go in, old ones go out, and a crash in between is repaired.

New chunks are committed as pending before the index has them, and old ones leave the index after the new ones
answer, so that a document is never missing from an answer and never in it twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID

from models import lease
from models.session import Database
from models.states import ChunkState
from models.tables import Chunk
from tasks.index.check import Comparison, Filled, agree, answering, describe, fill, lacks, verify
from tasks.index.claim import claim, held, holding, holds, release, take_over, waiting
from tasks.index.fill import write_chunks
from tasks.index.limits import Hold, current_hold, used
from tasks.index.prepare import Indexed, prepare
from tasks.index.quarantine import admit_chunks, admitted
from tasks.index.rows import Cut
from tasks.index.switch import insert_pending, put_aside, retire, switch, withdraw
from tasks.ports import Embedder, Gate, Index

__all__ = ["Comparison", "Filled", "Hold", "Indexed", "answering", "current_hold", "describe", "fill", "held",
           "holds", "index_versions", "release", "repair", "used", "verify", "waiting"]

Analyse = Callable[[Sequence[UUID]], object]
"""Has versions understood before they are cut; what it raises (a model that is away) holds the queue."""

BATCH_VERSIONS = 16
BATCH_CHARACTERS = 400_000  # some 500 chunks; one version may be longer, and is a batch of its own


def index_versions(
    db: Database, embedder: Embedder, index: Index, cut: Cut, limit: int, per_hour: int, per_day: int,
    now: datetime, worker: str = "index", analyse: Analyse = len, gate: Gate | None = None,
) -> list[Indexed]:
    """Finish what a crash left, then index up to ``limit`` versions; ``held`` says how many may not be yet.

    Any number of runs may share the work. What an error leaves behind is finished by the next run; a version
    that cannot be indexed is put aside with its reason, and so is what the ``gate`` refuses: where nothing of
    a batch is left, the next one is taken.
    """
    holder = lease.new_holder(worker)
    with holding(db, holder):
        settle(db, embedder, index, holder, now)
        if lacks(db, index):
            agree(db, embedder, index)
        while claimed := claim(db, holder, limit, per_hour, per_day, now):
            analyse([version for version, _ in claimed])
            good = admitted(db, gate, holder, [version for version, _ in claimed])
            done = [indexed for batch in batches(it for it in claimed if it[0] in good)
                    for indexed in index_batch(db, embedder, index, cut, holder, batch, now, gate)]
            if done:
                return done
    return []


def repair(db: Database, embedder: Embedder, index: Index, now: datetime | None = None) -> None:
    """Finish what a crash left, and fill an index that lost something: to be called when a process starts."""
    holder = lease.new_holder("repair")
    with holding(db, holder):
        settle(db, embedder, index, holder, now or datetime.now(UTC))
    agree(db, embedder, index)


def settle(db: Database, embedder: Embedder, index: Index, holder: str, now: datetime) -> None:
    """Finish what a crash or a removal left between PostgreSQL and the index, and nobody works on."""
    finish(db, embedder, index, holder, take_over(db, holder), now)


def finish(db: Database, embedder: Embedder, index: Index, holder: str, versions: Sequence[UUID],
           now: datetime) -> None:
    """Bring versions whose chunks are stored as pending to answer, and take out what they replace.

    Those that the holder has no longer, since it was paused for too long, are another's.
    """
    if versions:
        write_chunks(db, embedder, index,
                     Chunk.version_id.in_(versions) & (Chunk.state == ChunkState.PENDING))
        lost = set(versions) - set(switch(db, holder, versions, now))
        withdraw(db, index, lost)
    retire(db, embedder, index)


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


def index_batch(db: Database, embedder: Embedder, index: Index, cut: Cut, holder: str,
                versions: Sequence[UUID], now: datetime, gate: Gate | None) -> list[Indexed]:
    """Cut, embed what is new, judge it, store and switch; no transaction is open while texts are embedded."""
    prepared = prepare(db, embedder, cut, versions)
    put_aside(db, holder, prepared.odd)
    prepared = admit_chunks(db, gate, holder, prepared, embedder.window, embedder.dimensions)
    insert_pending(db, holder, prepared.chunks)
    finish(db, embedder, index, holder, [version.version_id for version in prepared.versions], now)
    return prepared.versions
