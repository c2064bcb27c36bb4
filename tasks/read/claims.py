"""Who reads what: documents are taken under a lease that is renewed, expires and can be given back."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, update

from models.session import Database
from models.states import DocumentState
from models.tables import Document, Source
from tasks.ports import Validators

LEASE = timedelta(minutes=5)
RENEWAL_SECONDS = 60.0
URGENCY = (Document.priority.desc(), Document.due_at, Document.discovered_at, Document.id)
PER_HOST = 25  # of one host in a batch: a host read slowly must not hold up the rest


@dataclass(frozen=True, slots=True)
class Claimed:
    """A document as it was when this worker took it."""

    id: UUID
    url: str
    key: str
    scopes: list[str]
    validators: Validators
    content_hash: str | None
    answers: bool  # it has a version that answers
    attempts: int
    due_at: datetime | None
    title: str | None
    author: str | None
    published_at: datetime | None


def free(now: datetime) -> ColumnElement[bool]:
    """Nobody holds a lease on the document."""
    return or_(Document.leased_until.is_(None), Document.leased_until < now)


def may_be_read(now: datetime) -> list[ColumnElement[bool]]:
    """The document is due, free, and of a source that is neither paused nor removed."""
    return [Document.due_at <= now, free(now), Source.removed_at.is_(None), Source.paused.is_(False)]


def due(db: Database, now: datetime) -> int:
    """How many documents could be claimed now."""
    with db.begin() as session:
        counted = select(func.count(Document.id)).join(Source).where(*may_be_read(now))
        return session.scalar(counted) or 0


def spread(now: datetime) -> ColumnElement[bool]:
    """The documents that may be read, at most ``PER_HOST`` of one host."""
    place = func.row_number().over(
        partition_by=func.split_part(Document.url, "/", 3),
        order_by=URGENCY,
    )
    ranked = select(Document.id, place.label("place")).join(Source).where(*may_be_read(now)).subquery()
    return Document.id.in_(select(ranked.c.id).where(ranked.c.place <= PER_HOST))


def named(ids: Sequence[UUID]) -> ColumnElement[bool]:
    """The documents asked for by id, due or not."""
    return Document.id.in_(ids) & (Document.state != DocumentState.REMOVED)


def claim(
    db: Database, worker: str, limit: int, now: datetime, ids: Sequence[UUID] | None = None
) -> list[Claimed]:
    """Take documents under a lease: the most urgent first, few of one host, each by one worker only."""
    wanted = spread(now) if ids is None else named(ids)
    taken = (
        select(Document.id)
        .where(wanted, free(now))
        .order_by(*URGENCY)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    lease = (
        update(Document)
        .where(Document.id.in_(taken))
        .values(leased_by=worker, leased_until=now + LEASE)
        .returning(Document)
    )
    with db.begin() as session:
        rows = sorted(session.scalars(lease), key=lambda row: (-row.priority, row.discovered_at, row.id))
        return [claimed(row) for row in rows]


def claimed(row: Document) -> Claimed:
    known = Validators(row.etag, row.last_modified) if row.content_hash else Validators()
    return Claimed(
        id=row.id, url=row.url, key=row.key, scopes=row.scopes, validators=known,
        content_hash=row.content_hash, answers=row.version_id is not None, attempts=row.attempts,
        due_at=row.due_at,
        title=row.title, author=row.author, published_at=row.published_at,
    )


async def keep_lease(db: Database, worker: str, ids: Sequence[UUID]) -> None:
    """Renew the lease of what is not saved yet, until cancelled."""
    while True:
        await asyncio.sleep(RENEWAL_SECONDS)
        with db.begin() as session:
            session.execute(
                update(Document)
                .where(Document.id.in_(ids), Document.leased_by == worker)
                .values(leased_until=func.now() + LEASE)
            )


def release(db: Database, worker: str) -> int:
    """Give back what a killed process of this name had taken; how many documents that were."""
    with db.begin() as session:
        given_back = session.execute(
            update(Document).where(Document.leased_by == worker)
            .values(leased_by=None, leased_until=None).returning(Document.id)
        )
        return len(given_back.all())
