"""The Qdrant Edge engine in our words: opening a shard, points, filters, and its failures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import qdrant_edge as engine

from tasks.errors import StageError, Transient
from tasks.index.points import DENSE, PUBLISHED, SCOPES, WORDS, payload_of, period, wanted
from tasks.index.words import Sparse, passage
from tasks.ports import Entry, Filter

Named = list[float] | engine.SparseVector

UNOPTIMISED = 20_000  # points without a search graph: a question looks at each, in about a millisecond
COLD = engine.Memory.Cold  # read from the disk's cache when a question needs it
# of 64 nearest in a fifth of the points, 63 are found so, 48 without
ACORN = engine.SearchParams(acorn=engine.AcornSearchParams(enable=True, max_selectivity=0.5))
KEYWORD = engine.KeywordIndexParams(memory=COLD, enable_hnsw=False)  # a graph for each value costs minutes
FIELDS: dict[str, engine.KeywordIndexParams | engine.UuidIndexParams | engine.DatetimeIndexParams] = {
    SCOPES: KEYWORD, "content_type": KEYWORD, "language": KEYWORD,
    "source_id": engine.UuidIndexParams(memory=COLD, enable_hnsw=False),
    PUBLISHED: engine.DatetimeIndexParams(memory=COLD, enable_hnsw=False),
}


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Engine failures as Transient: whatever is wrong with an index, it can be built again."""
    try:
        yield
    except StageError:
        raise
    except BaseException as error:  # a panic of the engine is a BaseException that has no importable class
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise Transient(f"the index could not {doing}: {error}") from error


def config(dimensions: int, unoptimised: int) -> engine.EdgeConfig:
    """Cosine vectors and BM25 words; the optimiser builds a search graph for half as many points as may be
    without one.
    """
    dense = engine.EdgeVectorParams(size=dimensions, distance=engine.Distance.Cosine)
    words = engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf, memory=COLD)
    kilobytes = max(1, min(unoptimised, UNOPTIMISED) * dimensions * 4 // 1024 // 2)
    return engine.EdgeConfig(vectors={DENSE: dense}, sparse_vectors={WORDS: words}, wal_enabled=True,
                             optimizers=engine.EdgeOptimizersConfig(indexing_threshold=kilobytes))


def create(path: Path, config: engine.EdgeConfig) -> engine.EdgeShard:
    """An empty shard at ``path``, where there must not be one."""
    with translated("be made"):
        shard = engine.EdgeShard.create(str(path), config)
        for field, params in FIELDS.items():
            shard.update(engine.UpdateOperation.create_field_index(field, params))
    return shard


def load(path: Path, config: engine.EdgeConfig) -> engine.EdgeShard:
    """The shard at ``path``. Raises Transient when it cannot be read or holds other vectors."""
    with translated("be opened"):
        shard = engine.EdgeShard.load(str(path), config)
        if shard.info().points_count and not query(shard, DENSE, [1.0] * config.vectors[DENSE].size, 1):
            shard.close()
            raise Transient("the index could not be opened: its vectors are gone")
    return shard


def point(entry: Entry) -> engine.Point:
    vectors: dict[str, Named] = {DENSE: entry.vector.tolist()}
    words = passage(entry.text)
    if words.indices:
        vectors[WORDS] = engine.SparseVector(*words)
    return engine.Point(entry.id, {**vectors}, payload_of(entry))


def query(shard: engine.EdgeShard, using: str, vector: Named, limit: int,
          minimum: float | None = None, where: Filter | None = None) -> list[engine.ScoredPoint]:
    """The points nearest to the vector of this name, or that say most of its words."""
    narrow = where is not None and where != Filter(where.scopes)
    return shard.query(engine.QueryRequest(
        limit=limit, query=engine.Query.Nearest(vector, using=using), score_threshold=minimum,
        filter=where and matching(where), params=ACORN if narrow else None))


def matching(where: Filter) -> engine.Filter:
    """No scope that is not the reader's, and what else is wanted."""
    foreign = engine.FieldCondition(SCOPES, match=engine.MatchExcept(list(where.scopes)))
    must = [engine.FieldCondition(name, match=engine.MatchAny(values)) for name, values in wanted(where)]
    if bounds := period(where):
        must.append(engine.FieldCondition(PUBLISHED, range=engine.RangeDateTime(**bounds)))
    return engine.Filter(must=[*must], must_not=[foreign])


def vectors_of(record: engine.Record) -> tuple[Sequence[float], Sparse]:
    """What is held of a point: its vector, and its words."""
    vectors = cast("dict[str, Any]", record.vector)  # by their names, as they were written
    words = vectors.get(WORDS)
    return vectors.get(DENSE, ()), Sparse(words.indices, words.values) if words else Sparse([], [])


def without_graph(shard: engine.EdgeShard) -> int:
    """How many points a question must look at one by one."""
    info = shard.info()
    said = shard.count(engine.CountRequest(
        exact=True, filter=engine.Filter(must=[engine.HasVectorCondition(WORDS)])))
    return info.points_count + said - info.indexed_vectors_count  # words are always indexed


def carry(ids: Sequence[UUID], source: engine.EdgeShard, target: engine.EdgeShard) -> None:
    """Make ``target`` hold of these points what ``source`` holds."""
    records = source.retrieve(list(ids), with_payload=True, with_vector=True)
    gone = set(ids) - {record.id for record in records}
    target.update(engine.UpdateOperation.delete_points(list(gone)))
    target.update(engine.UpdateOperation.upsert_points(
        [engine.Point(record.id, record.vector or {}, record.payload) for record in records]))
