"""Chunks from PostgreSQL into a collection: their payloads, their words, and the vectors of its model."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Row, case, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute

from models.session import Database
from models.tables import Chunk, ChunkVector, DocumentVersion, VersionAnalysis
from tasks.index.vectors import fits, pack, unpack
from tasks.ports import Embedder, Entry, Index, Payload, Vectors

PAGE = 2_000  # chunks in memory at once: some 20 MB
AT_ONCE = 64  # texts embedded between two commits
PAYLOAD = (Chunk.id, Chunk.document_id, Chunk.version_id, Chunk.source_id, Chunk.scopes)

Column = InstrumentedAttribute[Any] | ColumnElement[Any]
Rows = Sequence[Row[Any]]


class Told(NamedTuple):
    """What a version says of its chunks."""

    title: str
    fields: dict[str, Any]  # those of a payload


Versions = Mapping[UUID, Told]


def write_chunks(db: Database, embedder: Embedder, index: Index, wanted: ColumnElement[bool]) -> int:
    """Put these chunks into the index, and say how many. What its model has not embedded yet is, and kept."""
    written = 0
    for rows, told in pages(db, wanted, *ENTRY, own_vector(embedder.name)):
        texts = [embedded(row, told[row.version_id].title) for row in rows]
        vectors = complete(db, embedder, rows, texts)
        index.upsert([entry(row, told, vector, text)
                      for row, vector, text in zip(rows, vectors, texts, strict=True)])
        written += len(rows)
    return written


def entries(db: Database, embedder: Embedder, wanted: ColumnElement[bool]) -> Iterator[list[Entry]]:
    """These chunks as they should be in the index, a page at a time; those without a vector are left out."""
    for rows, told in pages(db, wanted, *ENTRY, own_vector(embedder.name)):
        kept = vectors_kept(db, embedder, rows)
        there = [row for row in rows if row.id in kept]
        vectors = unpack(kept[row.id] for row in there)
        yield [entry(row, told, vector, embedded(row, told[row.version_id].title))
               for row, vector in zip(there, vectors, strict=True)]


def payloads(db: Database, wanted: ColumnElement[bool]) -> Iterator[list[Payload]]:
    """What filters need of these chunks, a page at a time."""
    for rows, told in pages(db, wanted, *PAYLOAD):
        yield [Payload(**described(row, told)) for row in rows]


ENTRY = (*PAYLOAD, Chunk.text, Chunk.context, Chunk.headings)


def own_vector(model: str) -> ColumnElement[bytes | None]:
    return case((Chunk.embedder == model, Chunk.vector)).label("vector")


def pages(db: Database, wanted: ColumnElement[bool], *columns: Column) -> Iterator[tuple[Rows, Versions]]:
    """The chunks' rows in the order of their ids, with what their versions say."""
    last = UUID(int=0)
    while True:
        with db.begin() as session:
            rows = cast(Rows, session.execute(
                select(*columns).where(wanted, Chunk.id > last).order_by(Chunk.id).limit(PAGE)).all())
        if rows:
            yield rows, versions(db, {row.version_id for row in rows})
        if len(rows) < PAGE:
            return
        last = rows[-1].id


def versions(db: Database, ids: Collection[UUID]) -> Versions:
    """Asked for apart, by their ids: joined, PostgreSQL may read them all for each page."""
    rows = db.execute(
        select(DocumentVersion.id, DocumentVersion.title, DocumentVersion.published_at,
               func.coalesce(VersionAnalysis.language, DocumentVersion.language).label("language"),
               VersionAnalysis.content_type)
        .outerjoin(VersionAnalysis, VersionAnalysis.version_id == DocumentVersion.id)
        .where(DocumentVersion.id.in_(ids)))
    return {row.id: Told(row.title, {"published_at": row.published_at, "language": row.language,
                                     "content_type": row.content_type}) for row in rows}


def described(row: Row[Any], told: Versions) -> dict[str, Any]:
    return {column.key: getattr(row, column.key) for column in PAYLOAD} | told[row.version_id].fields


def entry(row: Row[Any], told: Versions, vector: Vectors, text: str) -> Entry:
    return Entry(**described(row, told), vector=vector, text=text)


def embedded(row: Row[Any], title: str) -> str:
    """What is embedded of a chunk; of one that is older than its context, as nearly as can be told."""
    if row.context is not None:
        return f"{row.context}{row.text}"
    return "\n".join(filter(None, [title, " > ".join(row.headings), row.text]))


def vectors_kept(db: Database, embedder: Embedder, rows: Rows) -> dict[UUID, bytes]:
    """The vectors by this model that PostgreSQL has: the chunk's own, or one kept beside it."""
    size = embedder.dimensions
    kept = {row.id: row.vector for row in rows if row.vector is not None and fits(row.vector, size)}
    if others := [row.id for row in rows if row.id not in kept]:
        found = db.execute(select(ChunkVector.chunk_id, ChunkVector.vector)
                           .where(ChunkVector.embedder == embedder.name, ChunkVector.chunk_id.in_(others)))
        kept |= {row.chunk_id: row.vector for row in found if fits(row.vector, size)}
    return kept


def complete(db: Database, embedder: Embedder, rows: Rows, texts: Sequence[str]) -> Vectors:
    """The chunks' vectors by this model; those that are new are kept as soon as they are made."""
    kept = vectors_kept(db, embedder, rows)
    keep = insert(ChunkVector)
    keep = keep.on_conflict_do_update(constraint="pk_chunk_vector", set_={"vector": keep.excluded.vector})
    new = [(row.id, text) for row, text in zip(rows, texts, strict=True) if row.id not in kept]
    for part in (new[i : i + AT_ONCE] for i in range(0, len(new), AT_ONCE)):
        vectors = pack(embedder.embed([clipped(embedder, text) for _, text in part]))
        made = dict(zip((chunk for chunk, _ in part), vectors, strict=True))
        with db.begin() as session:
            session.execute(keep, [
                {"embedder": embedder.name, "chunk_id": chunk, "vector": vector}
                for chunk, vector in made.items()])
        kept |= made
    return unpack(kept[row.id] for row in rows)


def clipped(embedder: Embedder, text: str) -> str:
    """As much of it as the model reads: a chunk may have been cut for one that reads more."""
    while (tokens := embedder.count([text])[0]) > embedder.window:
        text = text[: len(text) * embedder.window // tokens]
    return text
