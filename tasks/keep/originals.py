"""Originals, read back as they were handed in, by those whose scopes allow it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from models.session import Database
from models.states import DocumentState
from models.tables import Artifact, Document
from tasks.keep.files import Doors
from tasks.keep.store import take_out
from tasks.keep.temporary import temporary


def find(db: Database, document_id: UUID) -> Artifact | None:
    """The kept file of a document; the same none for what is unknown, removed, not kept or not theirs."""
    with db.begin() as session:
        return session.scalars(
            select(Artifact).join(Document, Document.artifact_id == Artifact.id)
            .where(Document.id == document_id, Document.state != DocumentState.REMOVED,
                   Artifact.key.is_not(None))).one_or_none()


@asynccontextmanager
async def opened(doors: Doors, artifact: Artifact) -> AsyncIterator[Path]:
    """The file, checked against its hash and size before anybody sees a byte of it.

    Raises Permanent where what is stored is something else, or nothing.
    """
    with temporary(doors.folder) as path:
        await take_out(doors.store, artifact.key or "", artifact.packed, artifact.size, artifact.sha256, path)
        yield path
