"""A chunk's stored vector, measured: its length, and whether all of it are numbers."""

import numpy as np
from numpy.typing import NDArray

STORED = np.dtype("<f2")


def unpack(stored: bytes) -> NDArray[np.float32]:
    return np.frombuffer(stored[:len(stored) // STORED.itemsize * STORED.itemsize], STORED).astype(np.float32)


def is_finite(vector: NDArray[np.float32]) -> bool:
    return bool(np.isfinite(vector).all())


def norm(vector: NDArray[np.float32]) -> float:
    """NaN where the vector holds what is no number."""
    return float(np.linalg.norm(vector))
