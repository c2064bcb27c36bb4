"""Which versions are indexed next and by whom: taken under a lease, as many as the limits let through."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, aliased

from models import lease
from models.session import Database
from models.states import ChunkState, DocumentState, Verdict
from models.tables import Chunk, Document, DocumentVersion, Source
from tasks.index.limits import FREE, METERED, Hold, allowance, hold

LEASE = timedelta(minutes=1)  # after a kill, what was taken waits for so long
RENEWAL_SECONDS = 15.0
TURN = func.pg_advisory_xact_lock(func.hashtextextended("claim versions", 0))
"""Held to the end of a claim: two claims at once would each see what the limits still allow."""
UNWANTED = (DocumentState.REMOVED, DocumentState.DUPLICATE, DocumentState.QUARANTINED, DocumentState.SKIPPED)
"""Documents in these states answer nothing, whatever they said."""
UNREFUSED = or_(DocumentVersion.verdict.is_(None), DocumentVersion.verdict == Verdict.RELEASED)


def waiting(db: Database) -> int:
    """How many documents an index run has something to do for, those that wait for the limits included."""
    leaving = select(func.count(Chunk.document_id.distinct())).where(Chunk.state == ChunkState.RETIRING)
    with db.begin() as session:
        return sum(session.scalars(counted).one() for counted in (queue(func.count()), leaving))


def held(db: Database, per_hour: int, per_day: int, now: datetime) -> int:
    """How many versions wait because so many articles were indexed in the last hour or day."""
    with db.begin() as session:
        queued: int = session.scalars(queue(func.count()).where(METERED)).one()
        return max(0, queued - allowance(session, per_hour, per_day, now))


def holds(db: Database, documents: Collection[UUID], per_hour: int, per_day: int, now: datetime,
          ) -> dict[UUID, Hold]:
    """Those of the documents that wait because a limit is reached."""
    with db.begin() as session:
        if (found := hold(session, per_hour, per_day, now)) is None:
            return {}
        ids = session.scalars(queue(Document.id).where(METERED, Document.id.in_(documents)))
        return dict.fromkeys(ids, found)


def claim(db: Database, holder: str, limit: int, per_hour: int, per_day: int, now: datetime,
          ) -> list[tuple[UUID, int]]:
    """Take the next ``limit`` versions: their ids and lengths, high priorities first, then the oldest."""
    with db.begin() as session:
        session.execute(select(TURN))
        free = take(session, holder, FREE, limit)
        room = min(limit - len(free), allowance(session, per_hour, per_day, now))
        return [*free, *take(session, holder, METERED, room)]


def take(session: Session, holder: str, which: ColumnElement[bool], limit: int) -> list[tuple[UUID, int]]:
    taken = session.execute(
        queue(DocumentVersion.id, func.length(DocumentVersion.text)).where(which)
        .order_by(Document.priority.desc(), DocumentVersion.read_at, DocumentVersion.id)
        .limit(limit).with_for_update(of=DocumentVersion, skip_locked=True)
    ).all()
    write_lease(session, holder, [version for version, _ in taken])
    return [(version, length) for version, length in taken]


def take_over(db: Database, holder: str) -> list[UUID]:
    """Take the versions whose chunks were stored, and then left by whoever did it."""
    begun = select(Chunk.version_id).where(Chunk.state == ChunkState.PENDING)
    with db.begin() as session:
        taken = session.scalars(
            select(DocumentVersion.id).where(DocumentVersion.id.in_(begun), lease.free(DocumentVersion))
            .with_for_update(skip_locked=True)).all()
        write_lease(session, holder, taken)
        return list(taken)


def write_lease(session: Session, holder: str, versions: Sequence[UUID]) -> None:
    if versions:
        session.execute(update(DocumentVersion).where(DocumentVersion.id.in_(versions))
                        .values(**lease.taken(holder, LEASE)))


def still_held(session: Session, holder: str, versions: Collection[UUID]) -> dict[UUID, UUID]:
    """Those that may go on, and their documents: not another's, nor overtaken. Locks their rows."""
    return {row.id: row.document_id for row in session.execute(
        select(DocumentVersion.id, DocumentVersion.document_id).order_by(DocumentVersion.id).with_for_update()
        .where(DocumentVersion.id.in_(versions), DocumentVersion.superseded_at.is_(None),
               lease.held_by(DocumentVersion, holder)))}


@contextmanager
def holding(db: Database, holder: str) -> Iterator[None]:
    """Renew what the holder takes, from a thread of its own, and give back in the end what is left of it."""
    ended = Event()
    renewing = Thread(target=keep, args=(db, holder, ended), name="keep leases", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        with db.begin() as session:
            session.execute(lease.return_of(DocumentVersion, holder))


def keep(db: Database, holder: str, ended: Event) -> None:
    while not ended.wait(RENEWAL_SECONDS):
        try:
            with db.begin() as session:
                session.execute(lease.renewal(DocumentVersion, holder, LEASE))
        except SQLAlchemyError:  # the work itself will say so, if the database stays away
            continue


def release(db: Database, worker: str) -> int:
    """Give back what a killed process of this name had taken; how many versions that were."""
    with db.begin() as session:
        return session.connection().execute(lease.return_from(DocumentVersion, worker)).rowcount


def queue(*columns: Any) -> Select[Any]:
    """The newest version of each wanted document, where it is not indexed yet and nobody is about to."""
    newer = aliased(DocumentVersion)
    return (
        select(*columns)
        .select_from(DocumentVersion).join(DocumentVersion.document).join(Document.source)
        .where(
            DocumentVersion.indexed_at.is_(None), DocumentVersion.superseded_at.is_(None),
            DocumentVersion.failure.is_(None), lease.free(DocumentVersion), UNREFUSED,
            Document.state.not_in(UNWANTED), Source.removed_at.is_(None),
            ~select(newer.id).where(newer.document_id == DocumentVersion.document_id,
                                    newer.number > DocumentVersion.number).exists(),
        )
    )
