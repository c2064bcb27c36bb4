"""Text as sparse vectors of its words, for BM25: how often each is said here. How rare a word is (IDF) the
index knows, and multiplies at the question.
"""

from functools import cache
from typing import NamedTuple

import qdrant_edge as engine


class Sparse(NamedTuple):
    """A vector that is zero but at ``indices``."""

    indices: list[int]
    values: list[float]


def passage(text: str) -> Sparse:
    """The vector of a text that is found."""
    return sparse(model(), text)


def question(text: str) -> Sparse:
    """The vector of a text that finds: each word as often as it is said."""
    return sparse(model(k=1e6, b=0.0), text)


@cache
def model(k: float = 1.2, b: float = 0.75) -> engine.Bm25:
    return engine.Bm25(engine.Bm25Config(k=k, b=b))


def sparse(model: engine.Bm25, text: str) -> Sparse:
    found = model.embed_document(text)
    return Sparse(found.indices, found.values)
