"""Files become documents: taken under a lease, converted, and written as a version; no crash loses one.

A file that cannot be converted is found by its name, its type and the words of whoever handed it in.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update

from models import lease
from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.states import ArtifactState, DocumentState
from models.tables import Artifact, Document
from tasks.errors import StageError, Transient
from tasks.keep import rows
from tasks.keep.store import take_out
from tasks.keep.temporary import temporary
from tasks.ports import Converter, Original, Store

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=10)  # longer than any conversion may take: it is not renewed
MAX_ATTEMPTS = 4
FIRST_RETRY = timedelta(minutes=1)
WAITING = (ArtifactState.PENDING, ArtifactState.QUEUED, ArtifactState.PROCESSING)


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of one file."""

    artifact_id: UUID
    name: str
    state: str
    reason: str


def waiting(db: Database, now: datetime) -> int:
    """How many files could be converted now."""
    with db.begin() as session:
        return session.scalar(select(func.count(Artifact.id)).where(*free(now))) or 0


def free(now: datetime) -> list[ColumnElement[bool]]:
    return [Artifact.state.in_(WAITING), Artifact.due_at <= now, lease.free(Artifact)]


def queue(db: Database, ids: Sequence[UUID]) -> None:
    """A run was asked for that will convert them."""
    with db.begin() as session:
        session.execute(update(Artifact).where(Artifact.id.in_(ids), Artifact.state == ArtifactState.PENDING)
                        .values(state=ArtifactState.QUEUED))


def release(db: Database, worker: str) -> None:
    """Give back what a killed process of this name had taken."""
    with db.begin() as session:
        session.execute(lease.return_from(Artifact, worker))


async def convert_files(
    db: Database, store: Store, converter: Converter, folder: Path, worker: str, limit: int, now: datetime
) -> list[Converted]:
    """Convert up to ``limit`` files that wait, one after the other."""
    done = []
    for _ in range(limit):
        holder = lease.new_holder(worker)
        if (artifact := claim(db, holder, now)) is None:
            break
        outcome = await convert(store, converter, folder, artifact)
        state, reason = await settle(db, store, artifact, holder, outcome, now)
        done.append(Converted(artifact.id, artifact.name, state, reason))
    return done


def claim(db: Database, holder: str, now: datetime) -> Artifact | None:
    """Take the file that waits longest; each attempt is counted when it begins, should it end the process."""
    with db.begin() as session:
        found = session.scalars(
            select(Artifact).where(*free(now)).order_by(Artifact.due_at, Artifact.id).limit(1)
            .with_for_update(skip_locked=True)).one_or_none()
        if found:
            found.state, found.attempts = ArtifactState.PROCESSING, found.attempts + 1
            found.leased_by, found.leased_until = holder, session.scalar(select(func.now() + LEASE))
        return found


async def convert(
    store: Store, converter: Converter, folder: Path, artifact: Artifact
) -> Extracted | StageError:
    """What the file says; a failure is a value here, since it is what will be saved."""
    if artifact.attempts > MAX_ATTEMPTS:
        return StageError(f"its conversion ended its process {MAX_ATTEMPTS} times")
    try:
        with temporary(folder) as path:
            await take_out(
                store, artifact.key or "", artifact.packed, artifact.size, artifact.sha256, path)
            return await converter.convert(
                Original(path, artifact.name, artifact.media_type, artifact.charset, artifact.url))
    except StageError as error:
        return error
    except Exception as error:  # a fault of ours: told, and kept from the other files
        log.exception("Converting %s failed", artifact.id)
        return StageError(f"converting it failed inside Almanac ({type(error).__name__})")


async def settle(
    db: Database, store: Store, artifact: Artifact, holder: str, outcome: Extracted | StageError,
    now: datetime,
) -> tuple[str, str]:
    """Write what it came to, in one transaction; the file's state and why."""
    if isinstance(outcome, Transient) and artifact.attempts < MAX_ATTEMPTS:
        values = {"state": ArtifactState.QUEUED, "reason": outcome.reason,
                  "due_at": now + FIRST_RETRY * 4 ** (artifact.attempts - 1)}
        said = None
    elif isinstance(outcome, StageError):
        values = {"state": ArtifactState.FAILED, "reason": outcome.reason, "converted_at": now}
        said = stand_in(artifact, outcome.reason)
    else:
        values = {"state": ArtifactState.READY, "reason": None, "converted_at": now}
        said = replace(outcome, title=outcome.title or artifact.name)
    let_go = values["state"] == ArtifactState.READY and not artifact.preserve
    with db.begin() as session:
        mine = update(Artifact).where(Artifact.id == artifact.id, lease.held_by(Artifact, holder))
        if session.scalar(mine.values(**values, **lease.GIVEN_BACK, **({"key": None} if let_go else {}))
                          .returning(Artifact.id)) is None:
            return str(ArtifactState.PROCESSING), "another has taken it over"
        document = session.scalars(select(Document).where(
            Document.artifact_id == artifact.id, Document.state != DocumentState.REMOVED,
        ).with_for_update(key_share=True)).one_or_none()
        if document and said:
            rows.add_version(session, document.id, said, now)
        if document and isinstance(outcome, StageError):
            document.reason = outcome.reason
    if let_go and artifact.key:
        await store.delete(artifact.key)
    return str(values["state"]), str(values["reason"] or "converted")


def stand_in(artifact: Artifact, reason: str) -> Extracted:
    """What a file is found by that cannot be read: what is known of it from outside."""
    facts = f"A file of {artifact.size:,} bytes, {artifact.media_type}. Its text cannot be read: {reason}."
    told = [artifact.about] if artifact.about else []
    blocks = [Block(BlockKind.PARAGRAPH, text) for text in (*told, facts)]
    return Extracted((Block(BlockKind.HEADING, artifact.name, level=1), *blocks), artifact.name, "metadata")
