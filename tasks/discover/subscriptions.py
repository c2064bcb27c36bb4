"""Sources that come and go together, as OPML: nothing is asked of anybody until their first polls."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.addresses import identity_key
from models.intervals import interval_of, seconds_of
from models.session import Database
from models.states import HANDED_IN, ReadingMode, SourceKind
from models.tables import Source
from tasks.discover import opml
from tasks.discover.auto import host_of
from tasks.discover.wishes import HOURLY, NewSource
from tasks.errors import Permanent, Rejected
from tasks.ports import Parser

PACE = timedelta(seconds=2)  # between the first polls of two that came together
NOT_OURS = (SourceKind.URL, SourceKind.DOCUMENTATION, *HANDED_IN)  # of Almanac itself


def read_map(written: str) -> dict[str, str]:
    try:
        told = json.loads(written)
    except RecursionError as error:
        raise ValueError("its map is no map") from error
    if not isinstance(told, dict) or not all(isinstance(value, str) for value in told.values()):
        raise ValueError("its map is no map")
    return told


LINES: Callable[[Any], str] = "\n".join

# The columns that an entry tells of, if they are not as usual: how they are written, and read.
OWN: Mapping[str, tuple[Any, Callable[[Any], str], str, Callable[[str], Any]]] = {
    "kind": (SourceKind.FEED, str, "kind", str),
    "every_seconds": (HOURLY, interval_of, "every_seconds", seconds_of),
    "cron": (None, str, "cron", str),
    "zone": ("UTC", str, "zone", str),
    "priority": (50, str, "priority", int),
    "weight": (0.5, str, "weight", float),
    "limit_per_poll": (100, str, "limit", int),
    "mode": (ReadingMode.EVERYTHING, str, "mode", str),
    "include": ([], LINES, "include", str.splitlines),
    "exclude": ([], LINES, "exclude", str.splitlines),
    "map": ({}, json.dumps, "map", read_map),
    "fragment_routes": (False, lambda said: str(said).lower(), "fragment_routes", "true".__eq__),
}


@dataclass(slots=True)
class Imported:
    """What became of each entry: ``known`` and ``refused`` have a line each, ``name: why``."""

    added: list[dict[str, Any]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


async def read_opml(parser: Parser, body: bytes) -> dict[str, Any]:
    """The entries in hostile bytes: see ``opml.parse``. Raises Rejected for what is no OPML."""
    try:
        return await parser.parse("opml", body, {"url": "", "media_type": "", "charset": None})
    except Permanent as error:
        raise Rejected([error.reason]) from error


def import_sources(db: Database, told: Mapping[str, Any], now: datetime) -> Imported:
    """Save the entries as sources, each due a little after the one before; one that is wrong stops no other.

    One that is there twice is saved once, with the tags of both.
    """
    done = Imported(refused=[f"{name}: {why}" for name, why in told["refused"]])
    wanted: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in told["entries"]:
        name = entry["name"] or entry["url"]
        try:
            row = row_of(entry)
        except ValueError as error:
            done.refused.append(f"{name}: {error}")
            continue
        first = wanted.setdefault((row["kind"], identity_key(row["url"])), row)
        if first is not row:
            first["tags"] = list(dict.fromkeys([*first["tags"], *row["tags"]]))
            done.known.append(f"{name}: {row['url']} is in the file twice")
    with db.begin() as session:
        for row in wanted.values():
            due = None if row["every_seconds"] is row["cron"] is None else now + len(done.added) * PACE
            if identity := save(session, row | {"next_poll_at": due}):
                done.added.append({"id": str(identity)} | {key: row[key] for key in ("name", "url", "tags")})
            else:
                done.known.append(f"{row['name']}: {row['url']} is a source already")
    return done


def save(session: Session, row: Mapping[str, Any]) -> UUID | None:
    stored = insert(Source).values(row).on_conflict_do_nothing(
        index_elements=[Source.kind, Source.url], index_where=Source.removed_at.is_(None))
    return session.scalar(stored.returning(Source.id))


def row_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The row of an entry. Raises ValueError, one clear sentence, for what cannot be a source."""
    own = entry["own"]
    wishes = {wish: read(own[name]) for name, (_, _, wish, read) in OWN.items() if name in own}
    new = NewSource(entry["url"], name=entry["name"], tags=tuple(entry["tags"]),
                    **{"kind": SourceKind.FEED} | wishes)
    if new.kind not in set(SourceKind) - set(NOT_OURS):
        raise ValueError(f"{new.kind} is no kind that can be imported")
    settled = {name: getattr(new, wish) for name, (_, _, wish, _) in OWN.items()}
    lists = {name: list(getattr(new, name)) for name in ("include", "exclude", "tags")}
    return settled | lists | {
        "url": new.url, "name": new.name or host_of(new.url), "map": dict(new.map),
        "paused": own.get("paused") == "true",
    }


def export_sources(db: Database) -> str:
    """The OPML of every source that an owner added; its headers stay here, since they may hold secrets."""
    kept = Source.removed_at.is_(None), Source.kind.not_in(NOT_OURS)
    with db.begin() as session:
        found = session.scalars(select(Source).where(*kept).order_by(Source.name, Source.id)).all()
        return opml.write(entry_of(source) for source in found)


def entry_of(source: Source) -> dict[str, Any]:
    told = {name: write(getattr(source, name)) for name, (usual, write, _, _) in OWN.items()
            if getattr(source, name) not in (usual, None)}
    paused = {"paused": "true"} if source.paused else {}
    return {"url": source.url, "name": source.name, "tags": source.tags, "own": told | paused}
