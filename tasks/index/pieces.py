"""A version's chunks as they were cut."""

from typing import Any
from uuid import UUID

from sqlalchemy import func, select, true

from models.session import Database
from models.states import DocumentState
from models.tables import Chunk, Document, DocumentVersion

Json = dict[str, Any]

PAGE = 50
PIECE = (Chunk.position, Chunk.headings, Chunk.context, Chunk.text, Chunk.start, Chunk.end, Chunk.tokens,
         Chunk.state)


def pieces(
    db: Database, document_id: UUID, number: int | None = None, limit: int = PAGE, after: int = -1
) -> Json | None:
    """The chunks behind position ``after`` of the version of that number, else the one that answers, else the
    newest: ``{"version", "embedder", "count", "tokens", "chunks": [PIECE], "next": position or None}``.

    ``count`` and ``tokens`` are of all of the version's. None where there is no such version for this reader.
    """
    answers = DocumentVersion.id == Document.version_id
    version = (
        select(DocumentVersion.id, DocumentVersion.number)
        .join(Document, Document.id == DocumentVersion.document_id)
        .where(Document.id == document_id, Document.state != DocumentState.REMOVED,
               true() if number is None else DocumentVersion.number == number)
        .order_by(answers.desc().nulls_last(), DocumentVersion.number.desc()).limit(1))
    with db.begin() as session:
        if (said := session.execute(version).one_or_none()) is None:
            return None
        of = Chunk.version_id == said.id
        sums = func.count(), func.coalesce(func.sum(Chunk.tokens), 0), func.max(Chunk.embedder)
        count, tokens, embedder = session.execute(select(*sums).where(of)).one()
        rows = session.execute(
            select(*PIECE).where(of, Chunk.position > after).order_by(Chunk.position).limit(limit + 1)
        ).mappings().all()
    shown = [dict(row) for row in rows[:limit]]
    return {"version": said.number, "embedder": embedder, "count": count, "tokens": tokens, "chunks": shown,
            "next": shown[-1]["position"] if len(rows) > limit else None}
