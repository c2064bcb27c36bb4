"""A source changed by its owner: as it would be is checked whole, as a new one is."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from models.headers import open_headers
from models.sealing import NotOpened
from models.session import Database
from models.states import ReadingMode
from models.tables import Document, Source
from tasks.discover.choosing import UNJUDGED
from tasks.discover.offers import Look
from tasks.discover.preview import preview
from tasks.discover.schedule import next_poll
from tasks.discover.subscriptions import NOT_OURS
from tasks.discover.wishes import NewSource
from tasks.errors import Away
from tasks.ports import Fetcher, Parser

CHANGEABLE = (
    "name", "every_seconds", "cron", "zone", "priority", "weight", "include", "exclude", "limit", "mode",
    "tags", "map", "fragment_routes",
)
COLUMN = {"limit": "limit_per_poll"}
SCHEDULE = {"every_seconds", "cron", "zone"}
READ_ANEW = {"map", "include", "exclude", "fragment_routes"}  # what was left out before may be wanted now
FORGOTTEN: Mapping[str, Any] = {"etag": None, "last_modified": None, "body_hash": None, "parts": {}}


def edit_source(
    db: Database, source_id: UUID, changes: Mapping[str, Any], now: datetime
) -> bool:
    """Change what ``changes`` names, of CHANGEABLE, and nothing else; whether there is such a source.

    Raises ValueError, one clear sentence, for what cannot be. An interval takes the place of a cron line, and
    the other way round.
    """
    with db.begin() as session:
        source = session.scalar(standing(source_id).with_for_update())
        if source is None:
            return False
        wish = wished(source, changes)
        values = {COLUMN.get(name, name): kept(getattr(wish, name)) for name in changes}
        if SCHEDULE & changes.keys():
            values |= {name: getattr(wish, name) for name in SCHEDULE}
            values["next_poll_at"] = next_poll(wish.every_seconds, wish.cron, now, wish.zone)
        if READ_ANEW & changes.keys():
            values |= {**FORGOTTEN, "next_poll_at": now}
        session.execute(update(Source).where(Source.id == source_id).values(values))
        if wish.mode == ReadingMode.EVERYTHING:
            read_unjudged(session, source_id, now)
    return True


async def preview_edit(
    db: Database, fetcher: Fetcher, parser: Parser, source_id: UUID, changes: Mapping[str, Any],
) -> dict[str, Any] | None:
    """What a look at the source would find if it were changed so; nothing is saved. None: no such source.

    Raises ValueError for what cannot be, and the StageError of a look that failed.
    """
    with db.begin() as session:
        source = session.scalar(standing(source_id))
    if source is None:
        return None
    wish = wished(source, changes)
    try:
        headers = open_headers(db.keys, source.id, source.url, source.headers)
    except NotOpened as error:
        raise Away(f"its headers cannot be opened: {error}; set them anew") from error
    look = Look(source.url, headers=headers, map=wish.map, include=wish.include, limit=wish.limit,
                fragment_routes=wish.fragment_routes)
    return await preview(fetcher, parser, look, source.kind, wish.name)


def standing(source_id: UUID) -> Any:
    return select(Source).where(Source.id == source_id, Source.removed_at.is_(None))


def wished(source: Source, changes: Mapping[str, Any]) -> NewSource:
    """The source as it would be. Raises ValueError."""
    if source.kind in NOT_OURS:
        raise ValueError(f"{source.name} is Almanac's own: it cannot be changed")
    if changes.get("name", "a name") is None:
        raise ValueError("a source has a name: give another one")
    told = {name: getattr(source, COLUMN.get(name, name)) for name in CHANGEABLE}
    if changes.get("cron"):
        told["every_seconds"] = None
    elif changes.get("every_seconds"):
        told["cron"] = None
    return NewSource(source.url, kind=source.kind, **told | dict(changes))


def kept(value: Any) -> Any:
    """As its column holds it."""
    return list(value) if isinstance(value, tuple) else value


def read_unjudged(session: Session, source_id: UUID, now: datetime) -> None:
    """Nobody judges any more what waits to be judged."""
    session.execute(update(Document).where(Document.source_id == source_id, *UNJUDGED).values(due_at=now))
