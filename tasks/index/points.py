"""A chunk as a point of Qdrant, in process or on a server: its payload, its words, and whether both sides say
the same of it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from tasks.errors import Permanent
from tasks.index.words import Sparse, passage
from tasks.ports import Entry, Filter, Payload, Vectors

DENSE, WORDS = "dense", "words"  # the vectors of a point
SCOPES, PUBLISHED = "scopes", "published_at"
SAME_COSINE = 0.999  # half-precision floats, and the engine's own rounding, are closer
SAME_WEIGHT = 1e-3

Stored = dict[str, Any]


def payload_of(payload: Payload) -> Stored:
    """What is stored beside the vectors; what is not known is left out."""
    published = payload.published_at and payload.published_at.isoformat()
    fields = {
        "document_id": str(payload.document_id), "version_id": str(payload.version_id),
        "source_id": str(payload.source_id), SCOPES: list(payload.scopes), PUBLISHED: published,
        "content_type": payload.content_type, "language": payload.language,
    }
    return {name: value for name, value in fields.items() if value is not None}


def wanted(where: Filter) -> Iterator[tuple[str, list[str]]]:
    """Each field that must have one of some values, but for the scopes, which may have no other."""
    fields = {"source_id": where.sources, "content_type": where.content_types, "language": where.languages}
    for name, values in fields.items():
        if values is not None:
            yield name, [str(value) for value in values]


def period(where: Filter) -> dict[str, str]:
    """The bounds of the publication date, as Qdrant names them."""
    bounds = {"gte": where.since, "lt": where.until}
    return {name: moment.isoformat() for name, moment in bounds.items() if moment is not None}


def is_empty(limit: int, where: Filter) -> bool:
    """Whether nothing can be found, so that nobody needs to be asked."""
    return limit < 1 or not where.scopes or any(not values for _, values in wanted(where))


def same_payload(payloads: Iterable[Payload]) -> Iterator[tuple[Stored, list[UUID]]]:
    """Each payload once, with its chunks: those of a version share one."""
    groups: defaultdict[str, list[UUID]] = defaultdict(list)
    for payload in payloads:
        groups[json.dumps(payload_of(payload))].append(payload.id)
    return ((json.loads(stored), ids) for stored, ids in groups.items())


def stale(payloads: Sequence[Payload], held: Mapping[UUID, Stored | None]) -> set[UUID]:
    """Those that are not held, or otherwise."""
    return {payload.id for payload in payloads if held.get(payload.id) != payload_of(payload)}


def unlike(entries: Sequence[Entry], held: Mapping[UUID, tuple[Sequence[float], Sparse]]) -> set[UUID]:
    """Those whose vector or words are not held, or otherwise."""
    return {entry.id for entry in entries if entry.id not in held or not alike(entry, *held[entry.id])}


def alike(entry: Entry, vector: Sequence[float], words: Sparse) -> bool:
    other = np.asarray(vector, np.float32)
    if other.shape != entry.vector.shape:
        return False
    norms = float(np.linalg.norm(entry.vector) * np.linalg.norm(other))
    if not float(entry.vector @ other) >= SAME_COSINE * norms:  # not so for what is no number, too
        return False
    mine, theirs = (dict(zip(*sparse, strict=True)) for sparse in (passage(entry.text), words))
    return mine.keys() == theirs.keys() and all(
        abs(mine[index] - theirs[index]) <= SAME_WEIGHT * mine[index] for index in mine)


def require_size(vectors: Iterable[Vectors], dimensions: int) -> None:
    """Raises Permanent unless all are of the collection's size."""
    if any(vector.shape != (dimensions,) for vector in vectors):
        raise Permanent(f"the index holds vectors of {dimensions} dimensions, and these are others")
