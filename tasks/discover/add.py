"""Adding sources: an owner's, after a look at it, and the two that Almanac has of itself."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from models.addresses import check_address, identity_key
from models.headers import header_record, headers_for
from models.sealing import NotOpened, seal_values
from models.session import Database
from models.states import ReadingMode, SourceKind
from models.tables import Document, Source
from tasks.discover.auto import Found
from tasks.discover.choosing import choose
from tasks.discover.documentation import LISTING
from tasks.discover.intake import LIVE
from tasks.discover.offers import Look
from tasks.discover.poll import PollResult, compare, write
from tasks.discover.probe import probe
from tasks.discover.wishes import AUTO, LONGEST_NAME, NewSource
from tasks.errors import Away
from tasks.ports import Embedder, Fetcher, Parser

__all__ = ["AddedSource", "NewSource", "add_single", "add_source", "ensure_documentation"]

SINGLES = "almanac:single-addresses"
ASKED_FOR = 100  # the priority of what somebody waits for
FOUND = (SourceKind.FEED, SourceKind.SITEMAP, SourceKind.PAGE, SourceKind.LISTING)  # by looking at it


@dataclass(frozen=True, slots=True)
class AddedSource:
    """A source that is saved, with the poll that its probe was."""

    id: UUID
    kind: SourceKind
    name: str
    url: str  # of the feed, where the address given was of a page that announces one
    poll: PollResult
    others: tuple[Found, ...] = ()  # what else was found there


async def add_source(
    db: Database, fetcher: Fetcher, parser: Parser, new: NewSource, now: datetime,
    embedder: Callable[[], Embedder] | None = None,
) -> AddedSource:
    """Look at what the owner names and save it as a source with its first poll.

    Raises ValueError for what is a source already, and the StageError of a look that failed: then nothing is
    saved.
    """
    started = monotonic()
    kinds = FOUND if new.kind == AUTO else [SourceKind(new.kind)]
    refuse_known(db, kinds, new.url)
    found, *others = await probe(fetcher, parser, look_of(new, now), new.kind)
    refuse_known(db, [found.kind], found.url)
    finished = now + timedelta(seconds=monotonic() - started)
    try:
        with db.begin() as session:
            row = row_of(new, found) | sealed_headers(db, session, new, found)
            source = session.scalars(insert(Source).values(row).returning(Source)).one()
            offer, taken = compare(session, source, found.offer, now)
            poll = write(session, source, offer, taken, now, finished)
    except IntegrityError:
        refuse_known(db, [found.kind], found.url)  # somebody else added it meanwhile
        raise
    if source.mode == ReadingMode.INTERESTING:
        await asyncio.to_thread(choose, db, source.id, embedder, now)
    return AddedSource(source.id, found.kind, source.name, source.url, poll, tuple(others))


def look_of(new: NewSource, now: datetime) -> Look:
    return Look(new.url, headers=new.headers, map=new.map, include=new.include,
                fragment_routes=new.fragment_routes, limit=new.limit, now=now)


def refuse_known(db: Database, kinds: Sequence[SourceKind], url: str) -> None:
    same = select(Source).where(Source.url == url, Source.kind.in_(kinds), Source.removed_at.is_(None))
    with db.begin() as session:
        if source := session.scalar(same.limit(1)):
            raise ValueError(f"already a source: {source.name} ({source.id})")


def row_of(new: NewSource, found: Found) -> dict[str, Any]:
    return {
        "kind": found.kind, "url": found.url, "name": new.name or found.title[:LONGEST_NAME],
        "priority": new.priority, "weight": new.weight, "every_seconds": new.every_seconds,
        "cron": new.cron, "zone": new.zone, "tags": list(new.tags),
        "map": dict(new.map), "include": list(new.include), "exclude": list(new.exclude),
        "limit_per_poll": new.limit, "mode": new.mode, "fragment_routes": new.fragment_routes,
    }


def sealed_headers(db: Database, session: Session, new: NewSource, found: Found) -> dict[str, Any]:
    """The id of the source to be, and its headers sealed for it. Raises Away where there is no master key."""
    source_id, headers = uuid4(), headers_for(found.url, new.headers, new.url)
    if not headers:
        return {"id": source_id}
    try:
        sealed = seal_values(db.sealing(session), headers, header_record(source_id, found.url))
    except NotOpened as error:
        raise Away(f"its headers cannot be sealed: {error}") from error
    return {"id": source_id, "headers": sealed}


def ensure_documentation(db: Database) -> UUID:
    """The source of Almanac's own documentation: the one there is, or a new one where all of it was removed.

    It has no schedule: its files change when Almanac is started anew, and that is when to poll it.
    """
    pages = select(Document.id).where(Document.source_id == Source.id)
    bare = update(Source).where(
        Source.kind == SourceKind.DOCUMENTATION, Source.removed_at.is_(None),
        pages.exists(), ~pages.where(LIVE).exists(),  # each page was removed by itself
    )
    with db.begin() as session:
        session.execute(bare.values(removed_at=func.now()))
        return own_source(session, SourceKind.DOCUMENTATION, LISTING, "Almanac's own documentation")


def add_single(db: Database, url: str, now: datetime) -> UUID:
    """The document of an address that somebody wants read now. ValueError: what cannot be an address."""
    url = check_address(url)
    with db.begin() as session:
        source_id = own_source(session, SourceKind.URL, SINGLES, "Single addresses")
        document = insert(Document).values(
            source_id=source_id, url=url, key=identity_key(url), priority=ASKED_FOR, due_at=now,
            discovered_at=now, reason="asked for by its owner",
        )
        found = document.on_conflict_do_update(
            index_elements=[Document.key, Document.scopes], index_where=LIVE,
            set_={"due_at": now, "attempts": 0, "priority": ASKED_FOR},
        )
        return session.execute(found.returning(Document.id)).scalar_one()


def own_source(session: Session, kind: SourceKind, url: str, name: str) -> UUID:
    """A source that nobody adds: made when it is first needed, without a schedule."""
    made = insert(Source).values(kind=kind, url=url, name=name, every_seconds=None, next_poll_at=None)
    session.execute(made.on_conflict_do_nothing(
        index_elements=[Source.kind, Source.url], index_where=Source.removed_at.is_(None)))
    mine = select(Source.id).where(Source.kind == kind, Source.url == url, Source.removed_at.is_(None))
    return session.execute(mine).scalar_one()
