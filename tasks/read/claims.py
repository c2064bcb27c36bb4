"""Who reads what: documents are taken under a lease that is renewed, expires and can be given back."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, and_, func, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from models.headers import headers_for, open_headers
from models.lease import NOW, free, new_holder, return_from, return_of, taken
from models.sealing import KeyRing, NotOpened
from models.session import Database
from models.states import HANDED_IN, DocumentState
from models.tables import Document, Source
from tasks.ports import TRUSTED, Validators

LEASE = timedelta(minutes=2)  # after a kill, what was taken waits for so long
RENEWAL_SECONDS = 30.0
URGENCY = (Document.priority.desc(), Document.due_at, Document.discovered_at, Document.id)
PER_HOST = 25  # of one host in a batch: a host read slowly must not hold up the rest
WINDOW = 2000  # of the most urgent are ranked by host: to rank every due document takes half a second
HOST = func.split_part(Document.url, "/", 3)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A document as it was when this worker took it."""

    id: UUID
    lease: str  # of this claim alone: what is saved under another is dropped
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
    full_text: str | None = None  # that its feed brought
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # of its source, for its server
    unsaid: str | None = None  # why its headers cannot be said, so that nothing is asked without them


def may_be_read(now: datetime) -> list[ColumnElement[bool]]:
    """The document is due, free, and of a source that is neither paused nor removed."""
    return [
        Document.due_at <= now, free(Document, now), Source.removed_at.is_(None), Source.paused.is_(False)]


def due(db: Database, now: datetime) -> int:
    """How many documents could be claimed now."""
    with db.begin() as session:
        counted = select(func.count(Document.id)).join(Source).where(*may_be_read(now))
        return session.scalar(counted) or 0


def spread(now: datetime, served: Collection[str]) -> ColumnElement[bool]:
    """The most urgent that may be read, at most ``PER_HOST`` of one host and none of those ``served``."""
    urgent = (
        select(Document.id, HOST.label("host"), Document.priority, Document.due_at, Document.discovered_at)
        .join(Source).where(*may_be_read(now), HOST.not_in(served))
        .order_by(*URGENCY).limit(WINDOW).subquery()
    ).c
    place = func.row_number().over(
        partition_by=urgent.host,
        order_by=(urgent.priority.desc(), urgent.due_at, urgent.discovered_at, urgent.id),
    )
    ranked = select(urgent.id, place.label("place")).subquery()
    return Document.id.in_(select(ranked.c.id).where(ranked.c.place <= PER_HOST))


def named(ids: Sequence[UUID]) -> ColumnElement[bool]:
    """The documents asked for by id, due or not; what was handed in is never fetched again."""
    handed_in = Document.source_id.in_(select(Source.id).where(Source.kind.in_(HANDED_IN)))
    return and_(Document.id.in_(ids), Document.state != DocumentState.REMOVED, ~handed_in)


def claim(
    db: Database, worker: str, limit: int, now: datetime, ids: Sequence[UUID] | None = None
) -> list[Claimed]:
    """Take documents under a lease: the most urgent first, few of one host, each by one worker only."""
    lease = new_holder(worker)
    rows: list[Document] = []
    with db.begin() as session:
        while len(rows) < limit:
            wanted = spread(now, {host_of(row.url) for row in rows}) if ids is None else named(ids)
            more = take(session, wanted, limit - len(rows), now, lease)
            rows += more
            if ids is not None or not more:
                break
        rows.sort(key=lambda row: (-row.priority, row.discovered_at, row.id))
        own = own_headers(session, rows, db.keys)
        return [claimed(row, lease, now, *own.get(row.id, ({}, None))) for row in rows]


def own_headers(
    session: Session, rows: Sequence[Document], keys: Callable[[], KeyRing]
) -> dict[UUID, tuple[dict[str, str], str | None]]:
    """What the owner wants said, by document: to the server of its source, and to no other; else why it
    cannot be said.
    """
    asked_with = {row.id: row for row in session.execute(
        select(Source.id, Source.url, Source.headers)
        .where(Source.id.in_({row.source_id for row in rows}), Source.headers != {}))}
    said = {identity: said_with(source, keys) for identity, source in asked_with.items()}
    return {
        row.id: (headers_for(row.url, headers, asked_with[row.source_id].url), why)
        for row in rows if row.source_id in said for headers, why in [said[row.source_id]]
    }


def said_with(source: Row[Any], keys: Callable[[], KeyRing]) -> tuple[dict[str, str], str | None]:
    try:
        return open_headers(keys, source.id, source.url, source.headers), None
    except NotOpened as error:
        return {}, f"the headers of its source cannot be opened: {error}"


def take(
    session: Session, wanted: ColumnElement[bool], limit: int, now: datetime, lease: str
) -> Sequence[Document]:
    """Lease up to ``limit`` of what is wanted; what another transaction holds is passed over."""
    found = (
        select(Document.id)
        .where(wanted, free(Document, now))
        .order_by(*URGENCY)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return session.scalars(
        update(Document)
        .where(Document.id.in_(found))
        .values(**taken(lease, LEASE, now))
        .returning(Document)
    ).all()


def host_of(url: str) -> str:
    """As ``HOST`` has it."""
    return "".join(url.split("/")[2:3])


def claimed(
    row: Document, lease: str, now: datetime, headers: Mapping[str, str], unsaid: str | None
) -> Claimed:
    return Claimed(
        id=row.id, lease=lease, url=row.url, key=row.key, scopes=row.scopes, validators=known(row, now),
        content_hash=row.content_hash, answers=row.version_id is not None, attempts=row.attempts,
        due_at=row.due_at,
        title=row.title, author=row.author, published_at=row.published_at, full_text=row.full_text,
        headers=headers, unsaid=unsaid,
    )


def known(row: Document, now: datetime) -> Validators:
    """What may spare the server its answer; nothing, when it was spared for long: some servers lie."""
    trusted = row.content_hash and row.whole_at and now - row.whole_at < TRUSTED
    return Validators(row.etag, row.last_modified) if trusted else Validators()


async def keep_lease(db: Database, documents: Sequence[Claimed]) -> None:
    """Renew the lease of what is not saved yet, until cancelled; one that another worker took is theirs."""
    ids, leases = [it.id for it in documents], {it.lease for it in documents}
    mine = Document.id.in_(ids), Document.leased_by.in_(leases)
    while True:
        await asyncio.sleep(RENEWAL_SECONDS)
        db.execute(update(Document).where(*mine).values(leased_until=NOW + LEASE))


@contextmanager
def returned_at_a_failure(db: Database, documents: Sequence[Claimed]) -> Iterator[None]:
    """What the block has not saved when it fails or is cancelled is free at once, unless another has it."""
    try:
        yield
    except BaseException:
        with suppress(DBAPIError):  # the database is away: the leases will run out
            for lease in {it.lease for it in documents}:
                db.execute(return_of(Document, lease))
        raise


def release(db: Database, worker: str) -> int:
    """Give back what a killed process of this name had taken; how many documents that were."""
    with db.begin() as session:
        return len(session.execute(return_from(Document, worker).returning(Document.id)).all())


def wake(db: Database, now: datetime) -> int:
    """Make due what waits for a browser, now that there is one; how many documents."""
    with db.begin() as session:
        woken = session.execute(
            update(Document).where(Document.state == DocumentState.NEEDS_BROWSER, Document.due_at.is_(None))
            .values(due_at=now).returning(Document.id)
        )
        return len(woken.all())


def is_there(db: Database, document_id: UUID) -> bool:
    """Whether the document can be read at all, by whomever."""
    with db.begin() as session:
        return session.scalar(select(Document.id).where(named([document_id]))) is not None
