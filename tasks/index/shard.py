"""The Qdrant Edge engine in our words: opening a shard, points, filters, and its failures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import qdrant_edge as engine

from tasks.errors import StageError, Transient
from tasks.ports import Entry

VECTOR = "dense"


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
    """Cosine vectors; the optimiser builds a search graph for half as many points as may be without one."""
    params = engine.EdgeVectorParams(size=dimensions, distance=engine.Distance.Cosine)
    kilobytes = max(1, unoptimised * dimensions * 4 // 1024 // 2)
    return engine.EdgeConfig(vectors={VECTOR: params}, wal_enabled=True,
                             optimizers=engine.EdgeOptimizersConfig(indexing_threshold=kilobytes))


def create(path: Path, config: engine.EdgeConfig) -> engine.EdgeShard:
    """An empty shard at ``path``, where there must not be one."""
    with translated("be made"):
        shard = engine.EdgeShard.create(str(path), config)
        shard.update(engine.UpdateOperation.create_field_index("scopes", engine.PayloadSchemaType.Keyword))
    return shard


def load(path: Path, config: engine.EdgeConfig) -> engine.EdgeShard:
    """The shard at ``path``. Raises Transient when it cannot be read or holds vectors of another size."""
    with translated("be opened"):
        shard = engine.EdgeShard.load(str(path), config)
        if shard.info().points_count and not nearest(shard, [1.0] * config.vectors[VECTOR].size, 1):
            shard.close()
            raise Transient("the index could not be opened: its vectors are gone")
    return shard


def point(entry: Entry) -> engine.Point:
    payload = {
        "document_id": str(entry.document_id),
        "version_id": str(entry.version_id),
        "source_id": str(entry.source_id),
        "scopes": list(entry.scopes),
    }
    return engine.Point(entry.id, {VECTOR: entry.vector.tolist()}, payload)


def nearest(shard: engine.EdgeShard, vector: list[float], limit: int, minimum: float | None = None,
            scopes: Sequence[str] | None = None) -> list[engine.ScoredPoint]:
    """The nearest points, among those without a scope that is not in ``scopes``."""
    foreign = engine.FieldCondition("scopes", match=engine.MatchExcept(list(scopes or ())))
    return shard.query(engine.QueryRequest(
        limit=limit, query=engine.Query.Nearest(vector, using=VECTOR), score_threshold=minimum,
        filter=None if scopes is None else engine.Filter(must_not=[foreign])))


def carry(ids: Sequence[UUID], source: engine.EdgeShard, target: engine.EdgeShard) -> None:
    """Make ``target`` hold of these points what ``source`` holds."""
    records = source.retrieve(list(ids), with_payload=True, with_vector=True)
    gone = set(ids) - {record.id for record in records}
    target.update(engine.UpdateOperation.delete_points(list(gone)))
    target.update(engine.UpdateOperation.upsert_points(
        [engine.Point(record.id, record.vector or {}, record.payload) for record in records]))
