"""The owner's commands on rows: sources and documents.

A command on what is unknown, removed, or outside the scopes of the caller whose database is given does
nothing and says so.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.orm import Session

from models.duplicates import let_go
from models.headers import check_headers, header_record
from models.lease import GIVEN_BACK
from models.sealing import NotOpened, seal_values
from models.session import Database
from models.states import HANDED_IN, ArtifactState, ChunkState, DocumentState, SourceKind, Verdict
from models.tables import Artifact, Chunk, Document, DocumentVersion, Source, Table
from tasks.errors import Away


@dataclass(frozen=True, slots=True)
class Removed:
    """What a removal took out of the answers."""

    documents: int
    chunks: int
    comes_back: bool = False  # at the next start: Almanac's own documentation does

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def pause_source(db: Database, source_id: UUID) -> bool:
    """Look at the source no more until it is resumed; what it brought goes on answering."""
    return _change_source(db, source_id, paused=True)


def resume_source(db: Database, source_id: UUID) -> bool:
    """Look at the source again, at once where its time has passed."""
    return _change_source(db, source_id, paused=False)


def set_headers(db: Database, source_id: UUID, headers: Mapping[str, str]) -> bool:
    """Ask with these headers, and none of those before. Raises ValueError for one that may not be set, and
    Away where they cannot be sealed.
    """
    checked = check_headers(headers)
    try:
        with db.begin() as session:
            ring = db.sealing(session)
            source = session.scalar(select(Source).where(_standing(source_id)).with_for_update())
            if source:
                source.headers = seal_values(ring, checked, header_record(source.id, source.url))
    except NotOpened as error:
        raise Away(f"the headers cannot be sealed: {error}") from error
    return source is not None


def remove_source(db: Database, source_id: UUID, now: datetime) -> Removed | None:
    """Take the source and its documents out of the answers; the rows stay, the index follows."""
    removal = update(Source).where(_standing(source_id)).values(
        removed_at=now, next_poll_at=None, headers={})
    with db.begin() as session:
        if kind := session.scalar(removal.returning(Source.kind)):
            removed = _remove(session, Document.source_id == source_id, "its source was removed", now)
            return replace(removed, comes_back=kind == SourceKind.DOCUMENTATION)
    return None


def retry_document(db: Database, document_id: UUID, now: datetime) -> bool:
    """Make the document due as if it had never been tried, whatever its state; what answers goes on.

    A version that could not be indexed, and a file that could not be converted, are tried again, too; a
    version that a gate refused is judged again. What was handed in has no address that is read.
    """
    afresh = {"due_at": now, "attempts": 0, "etag": None, "last_modified": None,
              "reason": "to be read again, as its owner asks"}
    own = Document.id == document_id, Document.state != DocumentState.REMOVED
    owns = DocumentVersion.document_id.in_(select(Document.id).where(*own))
    failed = owns, or_(DocumentVersion.failure.is_not(None), DocumentVersion.verdict == Verdict.QUARANTINED)
    handed_in = Document.source_id.in_(select(Source.id).where(Source.kind.in_(HANDED_IN)))
    files = Artifact.id.in_(select(Document.artifact_id).where(*own)), Artifact.key.is_not(None)
    again = {"state": ArtifactState.PENDING, "attempts": 0, "reason": None, "due_at": now}
    with db.begin() as session:
        session.execute(update(DocumentVersion).where(*failed).values(failure=None, verdict=None))
        session.execute(update(Artifact).where(*files, Artifact.state == ArtifactState.FAILED).values(again))
        session.execute(update(Document).where(*own, ~handed_in).values(**afresh))
        return session.scalar(select(Document.id).where(*own)) is not None


def remove_document(db: Database, document_id: UUID, now: datetime) -> Removed | None:
    """Take the document out of the answers; its row stays, so that its source does not bring it back."""
    with db.begin() as session:
        removed = _remove(session, Document.id == document_id, "removed by its owner", now)
    return removed if removed.documents else None


def _change_source(db: Database, source_id: UUID, **values: object) -> bool:
    change = update(Source).where(_standing(source_id)).values(**values)
    with db.begin() as session:
        return session.connection().execute(change).rowcount > 0


def _standing(source_id: UUID) -> ColumnElement[bool]:
    return and_(Source.id == source_id, Source.removed_at.is_(None))


def _remove(session: Session, which: ColumnElement[bool], reason: str, now: datetime) -> Removed:
    """Documents become tombstones; those that repeated one of them are read in its stead."""
    tombstone = GIVEN_BACK | {
        "state": DocumentState.REMOVED, "reason": reason, "version_id": None, "due_at": None}
    ids = select(Document.id).where(which)
    moving = Chunk.state.in_([ChunkState.LIVE, ChunkState.PENDING])

    def change(table: type[Table], *conditions: ColumnElement[bool], **values: object) -> int:
        return session.connection().execute(update(table).where(*conditions).values(**values)).rowcount

    documents = change(Document, which, Document.state != DocumentState.REMOVED, **tombstone)
    let_go(session, ids, "what it repeated was removed", now)
    change(DocumentVersion, DocumentVersion.document_id.in_(ids), DocumentVersion.superseded_at.is_(None),
           superseded_at=now)
    chunks = change(Chunk, Chunk.document_id.in_(ids), moving, state=ChunkState.RETIRING)
    return Removed(documents, chunks)
