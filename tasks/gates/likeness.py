"""Near equality of texts: a sketch that is stored with each version, and the likeness of two that share some.

The sketch is MinHash in bands (Broder 1997; Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, 3.4):
two texts nine tenths of whose runs of words are the same share a band in all but one of 10,000 cases; two
that share a fifth, in one of 1,000.
"""

import re
from functools import cache
from random import Random
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")
RUN = 4  # words that are compared together
LEAST = 40  # runs: of a shorter text a changed word is much of it
BANDS, ROWS = 12, 6


def sketch(text: str) -> list[int] | None:
    """What nearly equal texts have in common, at least in part: 12 numbers; none for a text of few words."""
    found = runs(text)
    if len(found) < LEAST:
        return None
    hashes = np.fromiter((crc32(" ".join(run).encode()) for run in found), np.uint64, len(found))
    multipliers, offsets = permutations()
    smallest = (hashes[:, None] * multipliers + offsets).min(axis=0).reshape(BANDS, ROWS)  # modulo 2**64
    return [fold(band, number) for number, band in enumerate(smallest)]


def fold(band: NDArray[np.uint64], number: int) -> int:
    """A band as one number that PostgreSQL can hold, which no other band gives."""
    return crc32(band.tobytes()) * BANDS + number


@cache
def permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The same in all processes and releases: sketches are stored."""
    chance = Random(20261201)  # noqa: S311 - nothing secret
    multipliers = np.array([chance.getrandbits(64) | 1 for _ in range(BANDS * ROWS)], np.uint64)
    return multipliers, np.array([chance.getrandbits(64) for _ in range(BANDS * ROWS)], np.uint64)


def likeness(one: str, other: str) -> float:
    """The share of all their runs of words that both have: 1 for equal texts."""
    ours, theirs = runs(one), runs(other)
    return len(ours & theirs) / max(1, len(ours | theirs))


def runs(text: str) -> set[tuple[str, ...]]:
    words = WORD.findall(text.lower())
    return {tuple(words[at:at + RUN]) for at in range(len(words) - RUN + 1)}
