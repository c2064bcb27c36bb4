"""The steps between PostgreSQL and the index. Each may be repeated; PostgreSQL always commits first.

A chunk is ``pending`` until the index has it, ``live`` while it answers, ``retiring`` until the index has
let go of it, and then ``retired``.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Update, case, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import aliased

from models.session import Database
from models.states import ChunkState, DocumentState
from models.tables import Chunk, Document, DocumentVersion
from tasks.index.claim import UNWANTED
from tasks.index.vectors import unpack
from tasks.ports import Entry, Index

PAGE = 10_000  # rows in memory at once: some 40 MB


def insert_pending(db: Database, rows: Sequence[dict[str, Any]]) -> None:
    """Store chunks that are about to be written to the index, over what was left of them before."""
    if rows:
        statement = insert(Chunk)
        new = {name: statement.excluded[name] for name in rows[0] if name != "id"}
        with db.begin() as session:
            session.execute(statement.on_conflict_do_update(index_elements=[Chunk.id], set_=new), rows)


def write_chunks(db: Database, index: Index, wanted: ColumnElement[bool]) -> int:
    """Put the stored vectors of these chunks into the index, and say how many."""
    written = 0
    last = UUID(int=0)
    while True:
        with db.begin() as session:
            rows = session.execute(
                select(Chunk.id, Chunk.vector, Chunk.document_id, Chunk.version_id, Chunk.source_id,
                       Chunk.scopes)
                .where(wanted, Chunk.id > last).order_by(Chunk.id).limit(PAGE)
            ).all()
        vectors = unpack(row.vector for row in rows)
        index.upsert([
            Entry(row.id, vector, row.document_id, row.version_id, row.source_id, row.scopes)
            for row, vector in zip(rows, vectors, strict=True)
        ])
        written += len(rows)
        if len(rows) < PAGE:
            return written
        last = rows[-1].id


def switch(db: Database, versions: Sequence[UUID], now: datetime) -> None:
    """Let these versions answer instead of older ones of their documents, all at once.

    The chunks of a document that was removed or refused in the meantime are retired instead.
    """
    with db.begin() as session:
        documents = session.scalars(
            select(Document.id).join(DocumentVersion, DocumentVersion.document_id == Document.id)
            .where(DocumentVersion.id.in_(versions), Document.state.not_in(UNWANTED))
            .order_by(Document.id).with_for_update(of=Document)
        ).all()
        for statement in switched(versions, documents, now):
            session.execute(statement, execution_options={"synchronize_session": False})


def switched(versions: Sequence[UUID], documents: Sequence[UUID], now: datetime) -> list[Update]:
    """What changes when these versions of these documents begin to answer."""
    new = aliased(DocumentVersion)
    answers = new.id.in_(versions) & new.document_id.in_(documents)
    is_new, is_wanted = Chunk.version_id.in_(versions), Chunk.document_id.in_(documents)
    leave = update(Chunk).values(state=ChunkState.RETIRING).where(
        Chunk.state.in_((ChunkState.PENDING, ChunkState.LIVE)))
    read = Document.state == DocumentState.READ
    return [
        leave.where(is_wanted, ~is_new),
        leave.where(is_new, ~is_wanted),
        update(Chunk).values(state=ChunkState.LIVE).where(is_new, Chunk.state == ChunkState.PENDING),
        update(Document).where(answers, Document.id == new.document_id).values(
            version_id=new.id,
            state=case((read, DocumentState.INDEXED), else_=Document.state),
            reason=case((read, "indexed"), else_=Document.reason)),
        update(DocumentVersion).values(superseded_at=now).where(
            answers, DocumentVersion.document_id == new.document_id, DocumentVersion.number < new.number,
            DocumentVersion.superseded_at.is_(None)),
        update(DocumentVersion).values(indexed_at=now).where(
            DocumentVersion.id.in_(versions), DocumentVersion.document_id.in_(documents)),
    ]


def retire(db: Database, index: Index) -> None:
    """Take out of the index what answers no more."""
    while True:
        with db.begin() as session:
            leaving = select(Chunk.id).where(Chunk.state == ChunkState.RETIRING).limit(PAGE)
            ids = session.scalars(leaving).all()
        if ids:
            index.delete(ids)
            with db.begin() as session:
                session.execute(update(Chunk).where(Chunk.id.in_(ids), Chunk.state == ChunkState.RETIRING)
                                .values(state=ChunkState.RETIRED))
        if len(ids) < PAGE:
            return
