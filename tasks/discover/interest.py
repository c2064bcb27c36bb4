"""How near an item is to what interests its owner: by meaning, and by words."""

import re
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from models.words import FUNCTION_WORDS
from tasks.ports import Embedder

NEAR = 0.25  # from here on an item is read: found on benchmarks/interest.json
BY_WORDS = 0.15  # that are added where all words of a topic stand in an item
FAINTEST = 0.75  # what the slightest of all interests counts, beside the strongest
EXPLORED = 0.10  # of what is far from all of them, read all the same: interests would only narrow else
LONGEST = 600  # characters of an item that are judged
WORD = re.compile(r"[^\W\d_]{3,}|\d{2,}")


class Interest(NamedTuple):
    """One topic of the owner's profile, with its weight there, above 0."""

    topic: str
    weight: float


class Judgement(NamedTuple):
    """How near an item is, 0 to 1, and to which topic."""

    score: float
    topic: str


def judge(texts: Sequence[str], interests: Sequence[Interest], embedder: Embedder) -> list[Judgement]:
    """The judgement on each text; ``interests`` are not empty."""
    topics = [interest.topic for interest in interests]
    weights = np.array([interest.weight for interest in interests])
    strength = FAINTEST + (1 - FAINTEST) * weights / weights.max()
    meaning = embedder.embed([text[:LONGEST] for text in texts]) @ embedder.embed(topics).T
    named = [words(topic) for topic in topics]
    shared = np.array([[share(topic, words(text)) for topic in named] for text in texts])
    near = np.clip(meaning + BY_WORDS * shared, 0, 1) * strength
    return [Judgement(float(row.max()), topics[int(row.argmax())]) for row in near]


def words(text: str) -> frozenset[str]:
    """The words that say something, without the s of a plural."""
    return frozenset(word.removesuffix("s") for word in WORD.findall(text.lower())) - FUNCTION_WORDS


def share(topic: Collection[str], text: Collection[str]) -> float:
    """How many of the topic's words stand in the text, 0 to 1."""
    return len([word for word in topic if word in text]) / len(topic) if topic else 0.0


def is_explored(key: str) -> bool:
    """Whether the item of this key is of the share that is read whatever it is about: the same each time."""
    return int.from_bytes(sha256(key.encode()).digest()[:4]) < EXPLORED * 2**32
