"""Passages and questions as sparse vectors of words; with IDF, which the engine adds, their product is BM25.

English words lose their endings, and so does what looks like them, in passages and questions alike.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import NamedTuple
from zlib import crc32

import Stemmer

from models.words import telling

K1 = 1.2  # how soon more of the same word adds no more
B = 0.75  # how much a long passage must say a word more often
AVERAGE = 80  # words of a passage, in four collections; fixed, so that no vector depends on others

_stemmer = Stemmer.Stemmer("english", 0)
_stemming = Lock()  # a stemmer has one buffer


class Sparse(NamedTuple):
    """A vector by its entries: term ids of 32 bits, rising, and what each weighs."""

    indices: list[int]
    values: list[float]


def passage(text: str) -> Sparse:
    """What is indexed of a passage: how often it says each word, saturated by its length."""
    counts = Counter(term_ids(text))
    norm = K1 * (1 - B + B * counts.total() / AVERAGE)
    return _sparse({term: count * (K1 + 1) / (count + norm) for term, count in counts.items()})


def question(text: str) -> Sparse:
    """What is looked up for a question: how often it says each word."""
    return _sparse(Counter(term_ids(text)))


def term_ids(text: str) -> Iterator[int]:
    return map(term_id, telling(text))


@lru_cache(maxsize=1 << 16)
def term_id(word: str) -> int:
    """The same on every machine and in every release: vectors are stored with it."""
    if word.isascii() and word.isalpha():
        with _stemming:
            word = _stemmer.stemWord(word)
    return crc32(word.encode())


def _sparse(weights: Mapping[int, float]) -> Sparse:
    indices = sorted(weights)
    return Sparse(indices, [float(weights[index]) for index in indices])
