"""The collections of the index: which one answers, which one is being filled, and who made their vectors.

The rows say so, and not the index: what is switched to, is, in one transaction with the model.
"""

import re
from typing import NamedTuple
from uuid import uuid4

from sqlalchemy import delete, select, update

from models.session import Database
from models.states import CollectionState
from models.tables import Chunk, ChunkVector, Collection
from tasks.ports import Collections

PART = 5_000  # vectors moved in a transaction


class EmbeddingModel(NamedTuple):
    """What makes a collection's vectors."""

    name: str
    dimensions: int
    address: str | None = None  # of its server; none: the bundled one


def answering(db: Database) -> Collection | None:
    """The collection that answers; none before the first start."""
    return found(db, CollectionState.ANSWERING)


def filling(db: Database) -> Collection | None:
    """The collection that is to answer next, where there is one."""
    return found(db, CollectionState.FILLING)


def found(db: Database, state: CollectionState) -> Collection | None:
    with db.begin() as session:
        return session.scalars(select(Collection).where(Collection.state == state)).one_or_none()


def begin(
    db: Database, model: EmbeddingModel, state: CollectionState = CollectionState.FILLING
) -> Collection:
    """The collection for this model in this state: the one that was begun, or a new one in its place."""
    with db.begin() as session:
        row = session.scalars(select(Collection).where(Collection.state == state)).one_or_none()
        if row and (row.embedder, row.dimensions) == (model.name, model.dimensions):
            row.address = model.address
            return row
        if row:
            row.state = CollectionState.LEFT
            session.flush()
        answers = select(Collection.embedder).where(Collection.state == CollectionState.ANSWERING)
        session.execute(delete(ChunkVector).where(
            ChunkVector.embedder != model.name, ChunkVector.embedder.not_in(answers)))
        row = Collection(name=name(model), embedder=model.name, dimensions=model.dimensions,
                         address=model.address, state=state)
        session.add(row)
        return row


def name(model: EmbeddingModel) -> str:
    """A new name that says what is in it; two libraries on one server never choose the same."""
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", model.name).strip("-.")
    return f"{plain[:80]}-{model.dimensions}-{uuid4().hex[:8]}"


def switch(db: Database, new: str) -> None:
    """Let this collection answer, and the one before it be left."""
    with db.begin() as session:
        for before, after, which in (
            (CollectionState.ANSWERING, CollectionState.LEFT, Collection.name != new),
            (CollectionState.FILLING, CollectionState.ANSWERING, Collection.name == new),
        ):
            session.execute(update(Collection).where(Collection.state == before, which).values(state=after))


def move_vectors(db: Database, model: str) -> None:
    """Make the vectors of the model that answers now the chunks' own, some at a time."""
    some = select(ChunkVector.chunk_id).where(ChunkVector.embedder == model).limit(PART)
    while True:
        with db.begin() as session:
            ids = session.scalars(some).all()
            mine = ChunkVector.chunk_id.in_(ids), ChunkVector.embedder == model
            for statement in (
                update(Chunk).where(Chunk.id == ChunkVector.chunk_id, *mine)
                .values(vector=ChunkVector.vector, embedder=model),
                delete(ChunkVector).where(*mine),
            ):
                session.execute(statement, execution_options={"synchronize_session": False})
        if len(ids) < PART:
            return


def sweep(db: Database, collections: Collections) -> None:
    """Remove the collections that are left."""
    left = select(Collection.name).where(Collection.state == CollectionState.LEFT)
    with db.begin() as session:
        names = session.scalars(left).all()
    for each in names:
        collections.remove(each)
        with db.begin() as session:
            session.execute(delete(Collection).where(Collection.name == each))
