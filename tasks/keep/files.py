"""Files on their way in: received, held to what was declared, looked at, scanned, stored, and written down.

The order is the rule: nothing is stored that was not scanned, and nothing is written down that is not stored.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.session import Database
from models.tables import Artifact
from tasks.errors import Permanent, Rejected
from tasks.keep import rows
from tasks.keep.given import Given, Limits
from tasks.keep.identity import Content, Known, Outcome, look_up, outcome_of
from tasks.keep.rows import Kept
from tasks.keep.store import put_in
from tasks.keep.temporary import temporary
from tasks.ports import Original, Parser, Scanner, Store

NO_SCANNER = ("it is no text, and there is no scanner to look at it: set ALMANAC_CLAMD, or hand in its text "
              "instead")


@dataclass(frozen=True, slots=True)
class Doors:
    """What files need on their way in."""

    db: Database
    parser: Parser
    store: Store
    scanner: Scanner | None
    folder: Path  # for files on their way
    limits: Limits


@dataclass(frozen=True, slots=True)
class Received:
    """A file that has come whole, still outside."""

    path: Path
    size: int
    sha256: str


@asynccontextmanager
async def received(
    chunks: AsyncIterator[bytes], folder: Path, most: int
) -> AsyncIterator[Received]:
    """The bytes as a file that is gone at the end, counted and hashed as they come.

    Raises Rejected as soon as there are more than ``most``.
    """
    size, summed = 0, sha256()
    with temporary(folder) as path:
        with path.open("wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > most:
                    raise Rejected([f"it has more than {most:,} bytes: more were not declared, or allowed"])
                summed.update(chunk)
                file.write(chunk)
        yield Received(path, size, summed.hexdigest())


async def examine(doors: Doors, file: Received, declared: str) -> str:
    """The file's media type, when it may be let in. Raises Rejected for what may not, and Transient."""
    limits = doors.limits
    if file.size > limits.file:
        raise Rejected([f"it has {file.size:,} bytes; {limits.file:,} are allowed"])
    if not file.size:
        raise Rejected(["the file is empty"])
    try:
        seen = await doors.parser.parse("file", b"", {
            "path": str(file.path), "declared": declared, "most_file": limits.scanned_file,
            "most_total": limits.scanned_total})
    except Permanent as error:
        raise Rejected([error.reason]) from error
    if doors.scanner is not None:
        await doors.scanner.scan(file.path)
    elif not seen["textual"]:
        raise Rejected([NO_SCANNER])
    return str(seen["media_type"])


async def keep_file(
    doors: Doors, given: Given, file: Received, named: Original, now: datetime, preserve: bool = True,
) -> Kept:
    """Let a file in, and store it unless it is there already; its conversion is another's work.

    ``named`` is what is said of it, and held to what it is.
    """
    content = Content(sha256=file.sha256)
    if kept := settled(doors.db, given, content):
        return kept
    media_type = await examine(doors, file, named.media_type)
    key, packed = await put_in(doors.store, file.path, doors.folder)
    artifact = {
        "id": uuid4(), "scopes": list(given.scopes), "name": named.name, "media_type": media_type,
        "charset": named.charset, "url": named.url, "size": file.size, "sha256": file.sha256,
        "about": given.about or given.text, "key": key, "packed": packed, "preserve": preserve,
        "due_at": now, "created_at": now,
    }
    used = False
    try:
        kept, used = write(doors.db, given, content, artifact, now)
    finally:
        if not used:  # somebody else was faster, or it failed
            await doors.store.delete(key)
    return kept


def settled(db: Database, given: Given, content: Content) -> Kept | None:
    """What became of a file that is known already; none when it is not."""
    with db.begin() as session:
        rows.lock(session, given.scopes)
        known = look_up(session, given.scopes, [(given, content)]).match(given, content)
        outcome = outcome_of(given, content, known)
        if known is None or outcome is Outcome.REPLACED or lacks_original(given, known):
            return None
        if outcome is Outcome.REFRESHED:
            rows.refresh(session, given, known)
        return Kept(known.id, outcome, known.artifact_id)


def lacks_original(given: Given, known: Known) -> bool:
    """Whether the file's bytes are wanted now, and were not when it was first fetched."""
    return given.preserve_source and known.preserved is False


def write(
    db: Database, given: Given, content: Content, artifact: dict[str, Any], now: datetime
) -> tuple[Kept, bool]:
    """The row of the file and that of its document, in one transaction; and whether its bytes are needed."""
    with db.begin() as session:
        rows.lock(session, given.scopes)
        known = look_up(session, given.scopes, [(given, content)]).match(given, content)
        outcome = outcome_of(given, content, known)
        if known and not outcome.changes_content:
            if outcome is Outcome.REFRESHED:
                rows.refresh(session, given, known)
            needed = lacks_original(given, known) and preserve(session, known, artifact)
            return Kept(known.id, outcome, known.artifact_id), needed
        session.execute(insert(Artifact).values(artifact))
        artifact_id: UUID = artifact["id"]
        document_id = rows.write(session, given, content, known, artifact_id, now)
        return Kept(document_id, outcome, artifact_id), True


def preserve(session: Session, known: Known, artifact: dict[str, Any]) -> bool:
    """Keep the bytes of a known file from now on; whether they had been let go."""
    row = session.get_one(Artifact, known.artifact_id, with_for_update=True)
    row.preserve, gone = True, row.key is None
    if gone:
        row.key, row.packed = artifact["key"], artifact["packed"]
    return gone
