"""Which versions are indexed next, and how many the owner's limits let through."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, aliased

from models.session import Database
from models.states import ChunkState, DocumentState, SourceKind
from models.tables import Chunk, Document, DocumentVersion, Source

UNWANTED = (DocumentState.REMOVED, DocumentState.DUPLICATE, DocumentState.QUARANTINED, DocumentState.SKIPPED)
"""Documents in these states answer nothing, whatever they said."""
FREE = Source.kind == SourceKind.DOCUMENTATION.value  # our own pages are not the articles that limits are for
METERED = Source.kind != SourceKind.DOCUMENTATION.value


def waiting(db: Database) -> int:
    """How many documents an index run has something to do for, those that wait for the limits included."""
    leaving = select(func.count(Chunk.document_id.distinct())).where(Chunk.state == ChunkState.RETIRING)
    with db.begin() as session:
        return sum(session.scalars(counted).one() for counted in (pending(func.count()), leaving))


def held(db: Database, per_hour: int, per_day: int, now: datetime) -> int:
    """How many versions wait because so many articles were indexed in the last hour or day."""
    with db.begin() as session:
        queued: int = session.scalars(pending(func.count()).where(METERED)).one()
        return max(0, queued - allowance(session, per_hour, per_day, now))


def claim(db: Database, limit: int, per_hour: int, per_day: int, now: datetime) -> list[tuple[UUID, int]]:
    """The next ``limit`` versions with the lengths of their texts: high priorities first, then the oldest."""
    queue = pending(DocumentVersion.id, func.length(DocumentVersion.text)).order_by(
        Document.priority.desc(), DocumentVersion.read_at, DocumentVersion.id)
    with db.begin() as session:
        free = session.execute(queue.where(FREE).limit(limit)).all()
        room = min(limit - len(free), allowance(session, per_hour, per_day, now))
        metered = session.execute(queue.where(METERED).limit(room)).all()
    return [(version, length) for version, length in (*free, *metered)]


def used(db: Database, now: datetime) -> tuple[int, int]:
    """How many articles were indexed in the last hour, and in the last day."""
    with db.begin() as session:
        return indexed(session, now)


def allowance(session: Session, per_hour: int, per_day: int, now: datetime) -> int:
    """How many articles may still be indexed now, by what was indexed in the last hour and the last day."""
    hour, day = indexed(session, now)
    return max(0, min(per_hour - hour, per_day - day))


def indexed(session: Session, now: datetime) -> tuple[int, int]:
    hour, day = session.execute(
        select(func.count().filter(DocumentVersion.indexed_at > now - timedelta(hours=1)), func.count())
        .select_from(DocumentVersion).join(DocumentVersion.document).join(Document.source)
        .where(METERED, DocumentVersion.indexed_at > now - timedelta(days=1))
    ).one()
    return hour, day


def pending(*columns: Any) -> Select[Any]:
    """The newest version of each wanted document, where it is not indexed yet."""
    newer = aliased(DocumentVersion)
    return (
        select(*columns)
        .select_from(DocumentVersion).join(DocumentVersion.document).join(Document.source)
        .where(
            DocumentVersion.indexed_at.is_(None), DocumentVersion.superseded_at.is_(None),
            Document.state.not_in(UNWANTED), Source.removed_at.is_(None),
            ~select(newer.id).where(newer.document_id == DocumentVersion.document_id,
                                    newer.number > DocumentVersion.number).exists(),
        )
    )
