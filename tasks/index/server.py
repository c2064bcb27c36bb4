"""The index on a Qdrant server or cluster, which shards and replicates as its owner has configured it."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import TypeVar, cast
from uuid import UUID

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from tasks.errors import Permanent, Transient
from tasks.index.points import (
    DENSE,
    PUBLISHED,
    SCOPES,
    WORDS,
    is_empty,
    payload_of,
    period,
    require_size,
    same_payload,
    stale,
    unlike,
    wanted,
)
from tasks.index.words import Sparse, passage, question
from tasks.ports import Entry, Filter, Hit, Index, Payload, Vectors

BATCH = 500  # points a request: some 3 MB
PAGE = 5_000
SECONDS = 30  # for an answer
PREFIX = "almanac-"  # of our collections: others may share the server
FIELDS = {
    SCOPES: models.PayloadSchemaType.KEYWORD, "content_type": models.PayloadSchemaType.KEYWORD,
    "language": models.PayloadSchemaType.KEYWORD, "source_id": models.PayloadSchemaType.UUID,
    PUBLISHED: models.PayloadSchemaType.DATETIME,
}

T = TypeVar("T")


class ServerIndex:
    """Implements ports.Index in a collection, which each write makes anew where somebody has removed it."""

    def __init__(self, client: QdrantClient, name: str, dimensions: int) -> None:
        """Make the collection where there is none. Raises Transient when the server is away."""
        self.dimensions = dimensions
        self._name = name
        self._client: QdrantClient | None = client
        self._be_there()

    def upsert(self, entries: Sequence[Entry]) -> None:
        require_size((entry.vector for entry in entries), self.dimensions)
        for part in self._written(entries):
            with self._use("be written") as client:
                client.upsert(self._name, [point(entry) for entry in part], wait=True)

    def describe(self, payloads: Sequence[Payload]) -> None:
        for stored, ids in same_payload(payloads):
            there = models.Filter(must=[models.HasIdCondition(has_id=names(ids))])
            with self._use("be written") as client:
                client.overwrite_payload(self._name, stored, points=there, wait=True)

    def delete(self, ids: Sequence[UUID]) -> None:
        for part in self._written(ids):
            with self._use("be written") as client:
                client.delete(self._name, points_selector=names(part), wait=True)

    def nearest(self, vector: Vectors, limit: int, where: Filter, minimum: float) -> list[Hit]:
        require_size([vector.ravel()], self.dimensions)
        return [Hit(chunk, similarity=score)
                for chunk, score in self._ask(DENSE, vector.ravel().tolist(), limit, where, minimum)]

    def containing(self, words: str, limit: int, where: Filter) -> list[Hit]:
        asked = question(words)
        return [Hit(chunk, words=score) for chunk, score in
                (self._ask(WORDS, sparse(asked), limit, where) if asked.indices else ())]

    def _ask(self, using: str, vector: list[float] | models.SparseVector, limit: int, where: Filter,
             minimum: float | None = None) -> list[tuple[UUID, float]]:
        if is_empty(limit, where):
            return []
        with self._use("be searched") as client:
            found = client.query_points(
                self._name, query=vector, using=using, limit=limit, score_threshold=minimum,
                query_filter=matching(where), with_payload=False).points
        return sorted(((UUID(str(hit.id)), hit.score) for hit in found), key=lambda it: (-it[1], it[0]))

    def count(self) -> int:
        with self._use("be counted") as client:
            return client.count(self._name, exact=True).count if client.collection_exists(self._name) else 0

    def ids(self) -> Iterator[UUID]:
        with self._use("be listed") as client:
            more = client.collection_exists(self._name)
        offset = None
        while more:
            with self._use("be listed") as client:
                records, offset = client.scroll(self._name, offset=offset, limit=PAGE, with_payload=False)
            yield from (UUID(str(record.id)) for record in records)
            more = offset is not None

    def stale(self, payloads: Sequence[Payload]) -> set[UUID]:
        records = self._records(payloads, with_vectors=False)
        return stale(payloads, {UUID(str(record.id)): record.payload for record in records})

    def unlike(self, entries: Sequence[Entry]) -> set[UUID]:
        records = self._records(entries, with_vectors=True)
        return unlike(entries, {UUID(str(record.id)): vectors_of(record) for record in records})

    def close(self) -> None:
        self._client = None  # the connection is that of all collections

    def _records(self, payloads: Sequence[Payload], with_vectors: bool) -> Iterator[models.Record]:
        for part in parts(payloads):
            with self._use("be read") as client:
                if client.collection_exists(self._name):
                    yield from client.retrieve(self._name, names([payload.id for payload in part]),
                                               with_payload=True, with_vectors=with_vectors)

    def _written(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """The items in parts, where there is a collection to write them to."""
        if items:
            self._be_there()
        return parts(items)

    def _be_there(self) -> None:
        with self._use("be made") as client:
            if client.collection_exists(self._name):
                held = client.get_collection(self._name).config.params.vectors
                size = held[DENSE].size if isinstance(held, dict) and DENSE in held else None
                if size != self.dimensions:
                    raise Permanent(f"the collection {self._name} of the Qdrant server is not one of "
                                    f"{self.dimensions} dimensions: remove it there")
                return
            client.create_collection(
                self._name,
                vectors_config={DENSE: models.VectorParams(
                    size=self.dimensions, distance=models.Distance.COSINE)},
                sparse_vectors_config={WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)})
            for field, kind in FIELDS.items():
                client.create_payload_index(self._name, field, kind, wait=True)

    @contextmanager
    def _use(self, doing: str) -> Iterator[QdrantClient]:
        if (client := self._client) is None:
            raise Transient("the index is closed")
        with translated(doing):
            yield client


class ServerCollections:
    """Implements ports.Collections on a server, whose others are left alone."""

    def __init__(self, client: QdrantClient) -> None:
        self._client = client

    def open(self, name: str, dimensions: int) -> ServerIndex:
        return ServerIndex(self._client, PREFIX + name, dimensions)

    def filling(self, name: str, dimensions: int) -> AbstractContextManager[Index]:
        return nullcontext(self.open(name, dimensions))

    def remove(self, name: str) -> None:
        with translated("be removed"):
            self._client.delete_collection(PREFIX + name)

    def close(self) -> None:
        self._client.close()


def connect(url: str, key: str | None) -> ServerCollections:
    """The collections of the server at ``url``. Nothing is asked yet."""
    return ServerCollections(QdrantClient(
        url=url, api_key=key, timeout=SECONDS, check_compatibility=False, trust_env=False))


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """The client's failures in our words."""
    said = f"the index on the Qdrant server could not {doing}"
    try:
        yield
    except ResourceExhaustedResponse as error:
        raise Transient(f"{said}: it asks for a pause", timedelta(seconds=error.retry_after_s)) from error
    except ResponseHandlingException as error:
        reason = str(error.source) or type(error.source).__name__
        raise Transient(f"{said}: it does not answer ({reason})") from error
    except UnexpectedResponse as error:
        raise refusal(said, error) from error
    except (ApiException, QdrantException) as error:
        raise Transient(f"{said}: {error}") from error


def refusal(said: str, error: UnexpectedResponse) -> Permanent | Transient:
    """A status, as what to do about it: a request that is wrong stays wrong, all else may pass."""
    status = error.status_code
    if status in {401, 403}:
        return Permanent(f"{said}: it refuses the key, check ALMANAC_QDRANT_KEY")
    try:
        reason = error.structured()["status"]["error"]
    except (ValueError, KeyError, TypeError):
        reason = error.reason_phrase
    wrong = status in {400, 413, 422}
    return (Permanent if wrong else Transient)(f"{said}: HTTP {status}, {reason}")


def point(entry: Entry) -> models.PointStruct:
    vectors: dict[str, list[float] | models.SparseVector] = {DENSE: entry.vector.tolist()}
    words = passage(entry.text)
    if words.indices:
        vectors[WORDS] = sparse(words)
    return models.PointStruct(id=str(entry.id), vector=cast("models.VectorStruct", vectors),
                              payload=payload_of(entry))


def sparse(words: Sparse) -> models.SparseVector:
    return models.SparseVector(indices=words.indices, values=words.values)


def vectors_of(record: models.Record) -> tuple[Sequence[float], Sparse]:
    """What is held of a point: its vector, and its words."""
    vectors = cast("dict[str, list[float] | models.SparseVector]", record.vector or {})
    words = vectors.get(WORDS)
    held = Sparse(words.indices, words.values) if isinstance(words, models.SparseVector) else Sparse([], [])
    return cast("list[float]", vectors.get(DENSE, [])), held


def matching(where: Filter) -> models.Filter:
    """No scope that is not the reader's, and what else is wanted."""
    foreign = models.FieldCondition(key=SCOPES, match=models.MatchExcept(**{"except": list(where.scopes)}))
    must: list[models.Condition] = [
        models.FieldCondition(key=name, match=models.MatchAny(any=values)) for name, values in wanted(where)]
    if bounds := period(where):
        must.append(models.FieldCondition(key=PUBLISHED, range=models.DatetimeRange.model_validate(bounds)))
    return models.Filter(must=must, must_not=[foreign])


def names(ids: Sequence[UUID]) -> list[models.ExtendedPointId]:
    return [str(point) for point in ids]


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[i : i + BATCH] for i in range(0, len(items), BATCH))
