"""Polling: a source that is due is looked at once, and what came of it is written in one transaction.

``load → look → compare → write``: the look is all network and no transaction is open meanwhile. A poll that
goes wrong changes when the source is looked at next, and nothing else. Where only a read can tell whether a
document changed, the poll has it read first; until then the document is due, and so is the source.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Update, bindparam, insert, or_, select, update
from sqlalchemy.orm import Session

from models.headers import open_headers, traceback_of
from models.sealing import KeyRing, NotOpened
from models.session import Database
from models.states import DocumentState, PollOutcome, ReadingMode, SourceKind
from models.tables import Poll, Source
from tasks.discover.choosing import choose
from tasks.discover.doubt import GOOD, doubt
from tasks.discover.intake import Taken, take_in
from tasks.discover.kinds import KINDS
from tasks.discover.moving import moved
from tasks.discover.offers import Look, Offer
from tasks.discover.schedule import next_poll, next_try
from tasks.errors import Postponed, StageError, Transient
from tasks.ports import TRUSTED, Embedder, Fetcher, Parser, Read, Reader, Validators

log = logging.getLogger(__name__)

TROUBLE = {
    DocumentState.WAITING, DocumentState.REJECTED, DocumentState.FAILED, DocumentState.NEEDS_BROWSER,
}
SOON = timedelta(minutes=1)
CLOCK_STEP = timedelta(minutes=10)  # back, that is no jump

NEEDED = (  # of a source that is looked at: each column costs, and most looks change nothing
    "id", "kind", "url", "scopes", "priority", "every_seconds", "cron", "zone", "headers", "include",
    "exclude", "limit_per_poll", "map", "mode", "fragment_routes", "etag", "last_modified", "body_hash",
    "failures", "moved_to", "moved_polls", "parts",
)
LOADING = (  # the source, and when a body of it last came
    select(
        *(Source.__table__.c[name] for name in NEEDED),
        select(Poll.started_at)
        .where(Poll.source_id == Source.id, Poll.started_at > bindparam("trusted"), Poll.http_status == 200,
               Poll.outcome.in_(GOOD))
        .order_by(Poll.started_at.desc()).limit(1).scalar_subquery().label("since"),
    )
    .where(Source.id == bindparam("this"), Source.removed_at.is_(None))
)


@dataclass(frozen=True, slots=True)
class PollResult:
    """What one poll came to."""

    source_id: UUID
    outcome: PollOutcome
    reason: str
    items_seen: int
    items_new: int
    items_changed: int
    next_poll_at: datetime | None
    items_skipped: int = 0  # in the mode "interesting"


def due_sources(db: Database, now: datetime, limit: int = 1000) -> list[UUID]:
    """The sources whose time has come: those of high priority first, then the longest overdue.

    One that was last looked at in the future is due too: the clock was wrong then, and so is its next time.
    """
    clock_went_back = Source.next_poll_at.is_not(None) & (Source.last_polled_at > now + CLOCK_STEP)
    due = (
        select(Source.id)
        .where(or_(Source.next_poll_at <= now, clock_went_back), Source.removed_at.is_(None), ~Source.paused)
        .order_by(Source.priority.desc(), Source.next_poll_at)
        .limit(limit)
    )
    with db.begin() as session:
        return list(session.scalars(due))


async def poll_source(
    db: Database, fetcher: Fetcher, parser: Parser, source_id: UUID, now: datetime, read: Reader,
    embedder: Callable[[], Embedder] | None = None,
) -> PollResult:
    """Look at a source once, due or not. A failure is a result. LookupError: no such source.

    ``read`` is asked where only a read can tell: of a page. ``embedder`` judges what is new of a source whose
    mode is "interesting".
    """
    source, look = load(db, source_id, now)
    result = await look_once(db, fetcher, parser, source, look, now, read)
    if source.mode != ReadingMode.INTERESTING:
        return result
    return replace(result, items_skipped=await asyncio.to_thread(choose, db, source_id, embedder, now))


async def look_once(
    db: Database, fetcher: Fetcher, parser: Parser, source: Source, look: Look, now: datetime, read: Reader
) -> PollResult:
    """The look, and what is written of it."""
    started = monotonic()
    offer = await look_at(source, look, fetcher, parser, db.keys)
    with db.begin() if offer.outcome is PollOutcome.NEW else db.at_once() as session:
        offer, taken = compare(session, source, offer, now)
        if taken.unjudged is None:
            return write(session, source, offer, taken, now, after(now, started))
    offer, taken = judged(offer, await read(taken.unjudged, now))
    with db.begin() as session:
        return write(session, source, offer, taken, now, after(now, started))


def after(now: datetime, started: float) -> datetime:
    return now + timedelta(seconds=monotonic() - started)


def load(db: Database, source_id: UUID, now: datetime) -> tuple[Source, Look]:
    """The source, as a row of what is NEEDED of it, and what its last good polls let the next one spare."""
    rows = db.execute(LOADING, {"this": source_id, "trusted": now - TRUSTED})
    if not rows:
        raise LookupError(f"there is no source {source_id}")
    source: Any = rows[0]
    conditional = source.body_hash and source.since
    validators = Validators(source.etag, source.last_modified) if conditional else Validators()
    return source, Look(source.url, validators, source.body_hash, source.since, {}, source.map,
                        source.parts, source.include, source.fragment_routes, source.limit_per_poll, now)


async def look_at(
    source: Source, look: Look, fetcher: Fetcher, parser: Parser, keys: Callable[[], KeyRing]
) -> Offer:
    """What the source offers; a failure is a value here, since it is what will be recorded."""
    headers: dict[str, str] = {}
    try:
        headers = open_headers(keys, source.id, source.url, source.headers)
        return await KINDS[SourceKind(source.kind)](fetcher, parser, replace(look, headers=headers))
    except NotOpened as error:
        return Offer(PollOutcome.FAILED, f"its headers cannot be opened: {error}")
    except StageError as error:
        wait = error.retry_after if isinstance(error, Transient) else None
        asked = not isinstance(error, Postponed)
        return Offer(PollOutcome.FAILED, error.reason, retry_after=wait, asked=asked)
    except Exception as error:  # a fault of ours: told, tried again later, and kept from the other sources
        told = traceback_of(error, headers)
        log.error("Polling %s failed\n%s", source.url, told)  # noqa: TRY400 - without the headers
        return Offer(PollOutcome.FAILED, f"polling it failed inside Almanac ({type(error).__name__})")


def write(
    session: Session, source: Source, offer: Offer, taken: Taken, started: datetime, finished: datetime
) -> PollResult:
    """Write what a look came to, in one statement: the source's next look and health, and the poll itself."""
    offer, moving = moved(session, source, offer)
    values = settled(session, source, offer, started) | remembered(offer, taken) | moving
    told = {
        "id": uuid4(), "source_id": source.id, "scopes": source.scopes, "started_at": started,
        "finished_at": finished, "outcome": offer.outcome, "reason": offer.reason,
        "http_status": offer.status, "items_seen": offer.seen, "items_new": taken.new,
        "items_changed": taken.changed,
    }
    session.connection().execute(settling(frozenset(values), tuple(told)), {
        "this": source.id, **{f"source_{name}": value for name, value in values.items()},
        **{f"poll_{name}": value for name, value in told.items()},
    })
    return PollResult(
        source.id, offer.outcome, offer.reason, offer.seen, taken.new, taken.changed,
        values["next_poll_at"],
    )


@cache
def settling(changed: frozenset[str], told: tuple[str, ...]) -> Update:
    """The one statement that changes a source and tells of a poll: making it costs more than executing it."""
    poll = insert(Poll).values({name: bindparam(f"poll_{name}") for name in told})
    values: dict[str, Any] = {name: bindparam(f"source_{name}") for name in changed}
    still_there = Source.id == bindparam("this"), Source.removed_at.is_(None)
    return update(Source).where(*still_there).values(values).add_cte(poll.cte("told"))


def compare(session: Session, source: Source, offer: Offer, now: datetime) -> tuple[Offer, Taken]:
    """The offer with its verdict, and what was taken of it; a suspicious one is not touched."""
    if offer.outcome is not PollOutcome.NEW:
        return offer, Taken()
    still_there = select(Source.id).where(Source.id == source.id, Source.removed_at.is_(None))
    if session.scalar(still_there.with_for_update()) is None:
        return replace(offer, outcome=PollOutcome.FAILED, reason="the source was removed meanwhile"), Taken()
    if reason := doubt(session, source, offer):
        return replace(offer, outcome=PollOutcome.SUSPECT, reason=reason), Taken()
    taken = take_in(session, source, offer.items, now)
    outcome = PollOutcome.NEW if taken.new or taken.changed else PollOutcome.UNCHANGED
    return replace(offer, outcome=outcome, reason=sentence(offer, taken)), taken


def judged(offer: Offer, read: Read | None) -> tuple[Offer, Taken]:
    """The verdict on a page, which is how the read of its document went."""
    if read is None:
        return replace(offer, outcome=PollOutcome.FAILED, reason="its page was removed meanwhile"), Taken()
    if read.state in TROUBLE:
        failed = replace(offer, outcome=PollOutcome.FAILED, reason=read.reason, again_at=read.due_at)
        return failed, Taken()
    taken = Taken(new=int(read.version == 1), changed=int(read.version is not None and read.version > 1))
    outcome = PollOutcome.NEW if read.version else PollOutcome.UNCHANGED
    return replace(offer, outcome=outcome, reason=read.reason), taken


def sentence(offer: Offer, taken: Taken) -> str:
    """What became of all that was offered: its numbers add up."""
    same = len(offer.items) - taken.new - taken.changed - taken.left - taken.excluded
    numbers = {"new": taken.new, "changed": taken.changed, "left for the next poll": taken.left,
               "as before": same, "excluded": taken.excluded}
    told = [*(f"{number} {what}" for what, number in numbers.items() if number), offer.reason]
    said = "nothing new" if same == offer.seen else ", ".join(filter(None, told))
    warned = f"; {offer.warning}" if offer.warning else ""
    return f"{said}, of {offer.seen} offered{warned}"


def settled(session: Session, source: Source, offer: Offer, now: datetime) -> dict[str, Any]:
    """When the source is looked at next, and how it is."""
    if offer.outcome in GOOD:
        next_at = next_poll(source.every_seconds, source.cron, now, source.zone)
        return {"last_polled_at": now, "last_good_at": now, "failures": 0, "health": offer.reason,
                "next_poll_at": next_at}
    failures = source.failures + int(offer.asked)
    next_at = next_try(source.every_seconds, source.cron, source.id, failures, offer.retry_after, now)
    soon = None if offer.asked else now + (offer.retry_after or SOON)
    next_at = next_at and (offer.again_at or soon or next_at)
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


def remembered(offer: Offer, taken: Taken) -> dict[str, Any]:
    """What spares the next poll its work; nothing, while items are left that only another look brings."""
    if offer.outcome not in GOOD:
        return {}
    values: dict[str, Any] = {}
    if offer.parts is not None:
        values["parts"] = {name: part for name, part in offer.parts.items() if name not in taken.unfinished}
    if offer.validators is not None:
        told = Validators() if taken.left else offer.validators
        body_hash = None if taken.left else offer.body_hash
        values |= {"etag": told.etag, "last_modified": told.last_modified, "body_hash": body_hash}
    return values
