"""Candidates: what the index offers, kept only where the records say that it may answer."""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, Text, Uuid, and_, any_, bindparam, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute, aliased

from models.session import Database
from models.states import ChunkState, DocumentState
from models.tables import Chunk, Document, DocumentVersion, Source, UsageEvent
from tasks.answer.origin import Origin, columns, origin
from tasks.ports import Index, Vectors

PER_DOCUMENT = 2
FIRST_FETCH = 64
LAST_FETCH = 4096


class Candidate(NamedTuple):
    """A live chunk that the reader may read, with what its ranking needs."""

    similarity: float
    chunk_id: UUID
    version_id: UUID
    document_id: UUID
    text: str
    headings: Sequence[str]
    origin: Origin
    source_kind: str
    source_weight: float
    first_seen: datetime
    last_used: datetime | None  # by readers of the same scopes, since the time asked for


def find(db: Database, index: Index, vectors: Sequence[Vectors], wanted: int, minimum: float,
         scopes: Sequence[str], used_since: datetime) -> list[Candidate]:
    """The chunks that may answer and are nearest to any of the vectors, at least ``minimum`` alike.

    Twice as many are fetched while too few of them can be chosen and there are more: the index may hold
    what the records have retired, and one long document may fill it all.
    """
    limit = max(FIRST_FETCH, 4 * wanted)
    best: dict[UUID, float] = {}
    rows: list[Row[Any]] = []
    while True:
        offers = [index.search(vector, limit, scopes, minimum) for vector in vectors]
        new = {hit.id for hit in chain.from_iterable(offers)} - best.keys()
        for hit in chain.from_iterable(offers):
            best[hit.id] = max(hit.similarity, best.get(hit.id, hit.similarity))
        rows += _load(db, new, scopes, used_since)
        exhausted = all(len(hits) < limit for hits in offers) or limit >= LAST_FETCH
        if exhausted or _choosable(rows) >= wanted:
            return [_candidate(row, best[row.chunk_id]) for row in rows]
        limit *= 2


def _choosable(rows: Iterable[Row[Any]]) -> int:
    """How many excerpts are left by the rule of so many a document, copies counted as one."""
    return sum(min(count, PER_DOCUMENT) for count in Counter(row.content_hash for row in rows).values())


def _load(db: Database, ids: Set[UUID], scopes: Sequence[str], used_since: datetime) -> Sequence[Row[Any]]:
    if not ids:
        return []
    return db.execute(LIVE_ROWS, {"ids": list(ids), "scopes": list(scopes), "used_since": used_since})


def _candidate(row: Row[Any], similarity: float) -> Candidate:
    return Candidate(similarity, row.chunk_id, row.version_id, row.document_id, row.text, row.headings,
                     origin(row), row.source_kind, row.source_weight, row.first_seen, row.last_used)


def readable(*scopes: InstrumentedAttribute[list[str]]) -> ColumnElement[bool]:
    """Whether the reader has every scope of each row; the reader's are the parameter ``scopes``."""
    reader = bindparam("scopes", type_=ARRAY(Text))
    return and_(*(row.contained_by(reader) for row in scopes))


def _live_rows() -> Select[Any]:
    """The chunks first, by their ids, whatever PostgreSQL believes of tables that have just been filled."""
    hit = (
        select(Chunk.id, Chunk.version_id, Chunk.document_id, Chunk.text, Chunk.headings, Chunk.start,
               Chunk.end)
        .where(Chunk.id == any_(bindparam("ids", type_=ARRAY(Uuid))), Chunk.state == ChunkState.LIVE,
               readable(Chunk.scopes))
        .cte("hit").prefix_with("MATERIALIZED")
    )
    found = aliased(Chunk, hit)
    last_used = (
        select(func.max(UsageEvent.happened_at))
        .where(UsageEvent.document_id == Document.id, UsageEvent.used, readable(UsageEvent.scopes),
               UsageEvent.happened_at > bindparam("used_since"))
        .scalar_subquery()
    )
    return (
        select(found.id.label("chunk_id"), found.version_id, found.document_id, found.text, found.headings,
               *columns(chunk=found), Source.kind.label("source_kind"), Source.weight.label("source_weight"),
               Document.discovered_at.label("first_seen"), last_used.label("last_used"))
        .join(DocumentVersion, DocumentVersion.id == found.version_id)
        .join(Document, Document.id == found.document_id)
        .join(Source, Source.id == Document.source_id)
        .where(Document.state != DocumentState.REMOVED, Source.removed_at.is_(None), unexpired(),
               readable(Document.scopes, Source.scopes))
    )


def unexpired() -> ColumnElement[bool]:
    """What was handed in with a time until which it holds answers no longer than that; it is kept."""
    return or_(Document.expires_at.is_(None), Document.expires_at > func.now())


LIVE_ROWS = _live_rows()
