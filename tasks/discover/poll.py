"""Polling: a source that is due is looked at once, and what came of it is written in one transaction.

``load → look → record``: the look is all network and no transaction is open meanwhile. A poll that goes
wrong changes when the source is looked at next, and nothing else.
"""

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from sqlalchemy import exists, select, update
from sqlalchemy.orm import Session

from models.session import Database
from models.states import DocumentState, PollOutcome, SourceKind
from models.tables import Document, Poll, Source
from tasks.discover.intake import Taken, take_in
from tasks.discover.kinds import KINDS
from tasks.discover.offers import Look, Offer
from tasks.discover.schedule import next_poll, next_try
from tasks.errors import StageError, Transient
from tasks.ports import Fetcher, Parser, Validators

log = logging.getLogger(__name__)

GOOD = (PollOutcome.NEW, PollOutcome.UNCHANGED)
TRUSTED = timedelta(days=7)  # of "not modified" without a body, before one look without conditions


@dataclass(frozen=True, slots=True)
class PollResult:
    """What one poll came to."""

    source_id: UUID
    outcome: PollOutcome
    reason: str
    items_seen: int
    items_new: int
    items_changed: int
    due: int  # documents to be read because of it
    next_poll_at: datetime | None


def due_sources(db: Database, now: datetime, limit: int = 1000) -> list[UUID]:
    """The sources whose time has come: those of high priority first, then the longest overdue."""
    due = (
        select(Source.id)
        .where(Source.next_poll_at <= now, Source.removed_at.is_(None), ~Source.paused)
        .order_by(Source.priority.desc(), Source.next_poll_at)
        .limit(limit)
    )
    with db.begin() as session:
        return list(session.scalars(due))


async def poll_source(
    db: Database, fetcher: Fetcher, parser: Parser, source_id: UUID, now: datetime
) -> PollResult:
    """Look at a source once, due or not. A failure is a result. LookupError: no such source."""
    started = monotonic()
    source, look = load(db, source_id, now)
    offer = await look_at(source, look, fetcher, parser)
    finished = now + timedelta(seconds=monotonic() - started)
    with db.begin() as session:
        return record(session, source, offer, now, finished)


def load(db: Database, source_id: UUID, now: datetime) -> tuple[Source, Look]:
    """The source, and what its last good polls allow the next one to spare."""
    body_at = (
        select(Poll.started_at)
        .where(Poll.source_id == Source.id, Poll.started_at > now - TRUSTED, Poll.http_status == 200,
               Poll.outcome.in_(GOOD))
        .order_by(Poll.started_at.desc()).limit(1).scalar_subquery()
    )
    with db.begin() as session:
        row = session.execute(
            select(Source, body_at).where(Source.id == source_id, Source.removed_at.is_(None))).one_or_none()
    if row is None:
        raise LookupError(f"there is no source {source_id}")
    source, since = row
    conditional = source.body_hash and since
    validators = Validators(source.etag, source.last_modified) if conditional else Validators()
    return source, Look(source.url, validators, source.body_hash, since)


async def look_at(source: Source, look: Look, fetcher: Fetcher, parser: Parser) -> Offer:
    """What the source offers; a failure is a value here, since it is what will be recorded."""
    try:
        return await KINDS[SourceKind(source.kind)](fetcher, parser, look)
    except StageError as error:
        wait = error.retry_after if isinstance(error, Transient) else None
        return Offer(PollOutcome.FAILED, error.reason, retry_after=wait)
    except Exception as error:  # a fault of ours: told, tried again later, and kept from the other sources
        log.exception("Polling %s failed", source.url)
        return Offer(PollOutcome.FAILED, f"polling it failed inside Almanac ({type(error).__name__})")


def record(
    session: Session, source: Source, offer: Offer, started: datetime, finished: datetime
) -> PollResult:
    """Write what a look came to: documents, the source's next look and health, and the poll itself."""
    taken = Taken()
    if offer.outcome is PollOutcome.NEW:
        offer, taken = compare(session, source, offer, started)
    values = settled(session, source, offer, started) | remembered(offer, taken)
    session.execute(update(Source).where(Source.id == source.id, Source.removed_at.is_(None)).values(values))
    session.add(Poll(
        source_id=source.id, scopes=source.scopes, started_at=started, finished_at=finished,
        outcome=offer.outcome, reason=offer.reason, http_status=offer.status, items_seen=len(offer.items),
        items_new=taken.new, items_changed=taken.changed,
    ))
    return PollResult(
        source.id, offer.outcome, offer.reason, len(offer.items), taken.new, taken.changed,
        taken.new + taken.changed + taken.again, values["next_poll_at"],
    )


def compare(session: Session, source: Source, offer: Offer, now: datetime) -> tuple[Offer, Taken]:
    """The offer with its verdict, and what was taken of it; a suspicious one is not touched."""
    still_there = select(Source.id).where(Source.id == source.id, Source.removed_at.is_(None))
    if session.scalar(still_there.with_for_update()) is None:
        return replace(offer, outcome=PollOutcome.FAILED, reason="the source was removed meanwhile"), Taken()
    if not offer.items and has_documents(session, source.id):
        reason = "it offers nothing to read, although it did before"
        return replace(offer, outcome=PollOutcome.SUSPECT, reason=reason), Taken()
    taken = take_in(session, source, offer.items, now)
    if taken.trouble:
        return replace(offer, outcome=PollOutcome.FAILED, reason=taken.trouble), taken
    outcome = PollOutcome.NEW if taken.new or taken.changed else PollOutcome.UNCHANGED
    return replace(offer, outcome=outcome, reason=sentence(offer, taken)), taken


def has_documents(session: Session, source_id: UUID) -> bool:
    live = exists().where(Document.source_id == source_id, Document.state != DocumentState.REMOVED)
    return bool(session.scalar(select(live)))


def sentence(offer: Offer, taken: Taken) -> str:
    parts = [
        f"{taken.new} new" if taken.new else "",
        f"{taken.changed} changed" if taken.changed else "",
        f"{taken.left} left for the next poll" if taken.left else "",
        "its page is read again" if taken.again else "",
        offer.reason,
    ]
    said = ", ".join(filter(None, parts)) or "nothing new"
    return said if taken.again else f"{said}, of {len(offer.items)} offered"


def settled(session: Session, source: Source, offer: Offer, now: datetime) -> dict[str, Any]:
    """When the source is looked at next, and how it is."""
    if offer.outcome in GOOD:
        next_at = next_poll(source.every_seconds, source.cron, now)
        return {"last_polled_at": now, "failures": 0, "health": offer.reason, "next_poll_at": next_at}
    failures = source.failures + 1
    next_at = next_try(source.every_seconds, source.cron, source.id, failures, offer.retry_after, now)
    since = f"{failing_since(session, source.id) or now:%Y-%m-%d %H:%M} UTC"
    again = f", next try {next_at:%Y-%m-%d %H:%M} UTC" if next_at else ""
    health = f"{offer.outcome} since {since}: {offer.reason}{again}"
    return {"last_polled_at": now, "failures": failures, "health": health, "next_poll_at": next_at}


def failing_since(session: Session, source_id: UUID) -> datetime | None:
    """When the first poll after the last good one began."""
    polls = select(Poll.started_at).where(Poll.source_id == source_id)
    last_good = session.scalar(
        polls.where(Poll.outcome.in_(GOOD)).order_by(Poll.started_at.desc()).limit(1))
    after = polls.where(Poll.started_at > last_good) if last_good else polls
    return session.scalar(after.order_by(Poll.started_at).limit(1))


def remembered(offer: Offer, taken: Taken) -> dict[str, str | None]:
    """What spares the next poll its work; nothing, while items are left that only another look brings."""
    if offer.outcome not in GOOD or offer.validators is None:
        return {}
    told = Validators() if taken.left else offer.validators
    body_hash = None if taken.left else offer.body_hash
    return {"etag": told.etag, "last_modified": told.last_modified, "body_hash": body_hash}
