"""Vectors as they are kept in chunk rows: little-endian half-precision floats."""

from collections.abc import Iterable

import numpy as np

from tasks.ports import Vectors

STORED = np.dtype("<f2")


def pack(vectors: Vectors) -> list[bytes]:
    """Each row of ``vectors`` as it is stored, two bytes a dimension."""
    return [row.tobytes() for row in np.asarray(vectors).astype(STORED)]


def fits(vector: bytes, dimensions: int) -> bool:
    """Whether this is a stored vector of this size: one name may come to mean another model."""
    return len(vector) == dimensions * STORED.itemsize


def unpack(stored: Iterable[bytes]) -> Vectors:
    """The rows again, as rounded by storing them; all of one length."""
    rows = [np.frombuffer(row, STORED) for row in stored]
    return np.stack(rows).astype(np.float32) if rows else np.empty((0, 0), np.float32)
