"""Citations: the record behind a label. A label without a record does not exist."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CTE, ColumnElement, Select, Text, and_, bindparam, func, or_, select
from sqlalchemy.orm import aliased

from models.session import Database
from models.states import DocumentState
from models.tables import Chunk, Document, DocumentVersion, Source, UsageEvent
from tasks.answer.origin import Origin, columns, origin

AROUND = 500  # characters shown on each side of an excerpt


@dataclass(frozen=True, slots=True)
class Citation:
    """An excerpt as it was answered, in the stored version that it was taken from.

    ``text`` is ``version.text[origin.start:origin.end]``; ``around`` is the version's text from
    ``around_start``, the excerpt and some characters on each side.
    """

    retrieval_id: UUID
    label: str
    used: bool
    document_id: UUID  # the survivor, where the document has been merged
    version_id: UUID
    version: int  # its number
    chunk_id: UUID
    headings: Sequence[str]
    text: str
    around: str
    around_start: int
    origin: Origin
    changed_since: bool  # another text answers for the document now
    site_name: str | None = None  # as the page names itself
    modified_at: datetime | None = None  # as the page says

    def to_json(self) -> dict[str, Any]:
        return {
            "retrieval_id": str(self.retrieval_id),
            "label": self.label,
            "used": self.used,
            "document_id": str(self.document_id),
            "version_id": str(self.version_id),
            "version": self.version,
            "chunk_id": str(self.chunk_id),
            "headings": list(self.headings),
            "text": self.text,
            "around": {"text": self.around, "start": self.around_start,
                       "end": self.around_start + len(self.around),
                       "before": self.around[: self.origin.start - self.around_start],
                       "after": self.around[self.origin.end - self.around_start :]},
            "changed_since": self.changed_since,
            "site_name": self.site_name,
            "modified_at": self.modified_at.isoformat() if self.modified_at else None,
        } | self.origin.to_json()


def cite(db: Database, retrieval_id: UUID, label: str) -> Citation | None:
    """The record behind a label; none where there is none, may not be read, or what it cites is removed."""
    return next(iter(_citations(db, retrieval_id, label)), None)


def cite_all(db: Database, retrieval_id: UUID) -> list[Citation]:
    """Every label of a retrieval that has a record, as ``cite`` gives it, in no order."""
    return _citations(db, retrieval_id, None)


def _citations(db: Database, retrieval_id: UUID, label: str | None) -> list[Citation]:
    rows = db.execute(RECORDS, {"retrieval_id": retrieval_id, "label": label})
    return [
        Citation(
            retrieval_id, row.label, row.used, row.document_id, row.version_id, row.number, row.chunk_id,
            row.headings, row.excerpt, row.around, row.around_start, origin(row),
            changed_since=row.answering_hash not in (None, row.content_hash),
            site_name=row.site_name, modified_at=row.modified_at)
        for row in rows
    ]


def _asked() -> ColumnElement[bool]:
    label = bindparam("label", type_=Text)
    return and_(UsageEvent.retrieval_id == bindparam("retrieval_id"),
                or_(label.is_(None), UsageEvent.label == label))


def _merges() -> CTE:
    """The cited documents and those they have been merged into, one after the other; none that is removed."""
    kept = Document.state != DocumentState.REMOVED
    cited = (
        select(UsageEvent.label, Document.id, Document.duplicate_of)
        .join(UsageEvent, UsageEvent.document_id == Document.id).where(_asked(), kept)
        .cte("merges", recursive=True)
    )
    return cited.union(
        select(cited.c.label, Document.id, Document.duplicate_of)
        .join(cited, cited.c.duplicate_of == Document.id).where(kept)
    )


def _records() -> Select[Any]:
    merges, survivor, answering = _merges(), aliased(Document), aliased(DocumentVersion)
    start, end = func.coalesce(UsageEvent.start, Chunk.start), func.coalesce(UsageEvent.end, Chunk.end)
    version_text, around_start = DocumentVersion.text, func.greatest(start - AROUND, 0)
    return (
        select(
            UsageEvent.label, UsageEvent.used, survivor.id.label("document_id"), UsageEvent.version_id,
            UsageEvent.chunk_id, DocumentVersion.number, DocumentVersion.site_name,
            DocumentVersion.modified_at, Chunk.headings, *columns(survivor, start, end),
            around_start.label("around_start"),
            func.substr(version_text, start + 1, end - start).label("excerpt"),
            func.substr(version_text, around_start + 1, end + AROUND - around_start).label("around"),
            answering.content_hash.label("answering_hash"),
        )
        .join(Chunk, Chunk.id == UsageEvent.chunk_id)
        .join(DocumentVersion, DocumentVersion.id == UsageEvent.version_id)
        .join(merges, and_(merges.c.label == UsageEvent.label, merges.c.duplicate_of.is_(None)))
        .join(survivor, survivor.id == merges.c.id)
        .join(Source, Source.id == survivor.source_id)
        .outerjoin(answering, answering.id == survivor.version_id)
        .where(_asked(), Source.removed_at.is_(None))
    )


RECORDS = _records()
