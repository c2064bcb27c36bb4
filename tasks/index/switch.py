"""The steps between PostgreSQL and the index. Each may be repeated; PostgreSQL always commits first.

A chunk is ``pending`` until the index has it, ``live`` while it answers, ``retiring`` until the index has
let go of it, and then ``retired``.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Update, case, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import aliased

from models import lease
from models.session import Database
from models.states import ChunkState, DocumentState
from models.tables import Chunk, Document, DocumentVersion
from tasks.index.claim import UNWANTED, still_held
from tasks.index.fill import write_chunks
from tasks.ports import Embedder, Index

ANSWERING = (ChunkState.PENDING, ChunkState.LIVE)  # or about to
PAGE = 10_000  # ids in memory at once


def insert_pending(db: Database, holder: str, rows: Sequence[dict[str, Any]]) -> None:
    """Store chunks that are about to be written to the index, over what was left of them before.

    Only those of versions that are still held: another may have finished them since.
    """
    if not rows:
        return
    statement = insert(Chunk)
    new = {name: statement.excluded[name] for name in rows[0] if name != "id"}
    with db.begin() as session:
        held = still_held(session, holder, {row["version_id"] for row in rows})
        if kept := [row for row in rows if row["version_id"] in held]:
            session.execute(statement.on_conflict_do_update(index_elements=[Chunk.id], set_=new), kept)


def put_aside(db: Database, holder: str, odd: Mapping[UUID, str]) -> None:
    """Say why these versions cannot be indexed; they are not claimed again until their owner asks."""
    for version, reason in odd.items():
        mine = DocumentVersion.id == version, lease.held_by(DocumentVersion, holder)
        with db.begin() as session:
            session.execute(
                update(Document).where(Document.id == DocumentVersion.document_id, *mine,
                                       Document.state == DocumentState.READ)
                .values(state=DocumentState.FAILED, reason=reason),
                execution_options={"synchronize_session": False})
            session.execute(update(DocumentVersion).where(*mine).values(failure=reason, **lease.GIVEN_BACK))


def switch(db: Database, holder: str, versions: Sequence[UUID], now: datetime) -> Collection[UUID]:
    """Let these versions answer instead of older ones of their documents, all at once; those that do.

    The chunks of a document that was removed or refused in the meantime are retired instead, and so are those
    of a version that a newer one has overtaken. What the holder has no longer is left to whoever took it.
    """
    with db.begin() as session:
        wanted = set(session.scalars(
            select(Document.id).join(DocumentVersion, DocumentVersion.document_id == Document.id)
            .where(DocumentVersion.id.in_(versions), Document.state.not_in(UNWANTED))
            .order_by(Document.id).with_for_update(of=Document, key_share=True)
        ))
        mine = still_held(session, holder, versions)
        documents = wanted.intersection(mine.values())
        for statement in (*switched(mine.keys(), documents, now), overtaken(versions)):
            session.execute(statement, execution_options={"synchronize_session": False})
    return mine.keys()


def overtaken(versions: Sequence[UUID]) -> Update:
    """What changes when a newer version answered first."""
    old = select(DocumentVersion.id).where(
        DocumentVersion.id.in_(versions), DocumentVersion.superseded_at.is_not(None))
    return update(Chunk).values(state=ChunkState.RETIRING).where(
        Chunk.version_id.in_(old), Chunk.state == ChunkState.PENDING)


def switched(versions: Collection[UUID], documents: Collection[UUID], now: datetime) -> list[Update]:
    """What changes when these versions of these documents begin to answer."""
    new = aliased(DocumentVersion)
    answers = new.id.in_(versions) & new.document_id.in_(documents)
    is_new, is_wanted = Chunk.version_id.in_(versions), Chunk.document_id.in_(documents)
    leave = update(Chunk).values(state=ChunkState.RETIRING).where(
        Chunk.state.in_(ANSWERING))
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
        update(DocumentVersion).values(indexed_at=now, **lease.GIVEN_BACK).where(
            DocumentVersion.id.in_(versions), DocumentVersion.document_id.in_(documents)),
    ]


def retire(db: Database, embedder: Embedder, index: Index) -> None:
    """Take out of the index what answers no more."""
    leaving = select(Chunk.id).where(Chunk.state == ChunkState.RETIRING).limit(PAGE)
    while True:
        with db.begin() as session:
            ids = session.scalars(leaving).all()
        if ids:
            index.delete(ids)
            with db.begin() as session:
                retired = session.scalars(
                    update(Chunk).where(Chunk.id.in_(ids), Chunk.state == ChunkState.RETIRING)
                    .values(state=ChunkState.RETIRED).returning(Chunk.id)).all()
            if revived := set(ids) - set(retired):  # by another run, which wrote them before they went out
                write_chunks(db, embedder, index, Chunk.id.in_(revived) & Chunk.state.in_(ANSWERING))
        if len(ids) < PAGE:
            return


def withdraw(db: Database, index: Index, versions: Collection[UUID]) -> None:
    """Take out what was written too late, after another run had retired it."""
    if versions:
        late = select(Chunk.id).where(Chunk.version_id.in_(versions), Chunk.state == ChunkState.RETIRED)
        with db.begin() as session:
            ids = session.scalars(late).all()
        index.delete(ids)
