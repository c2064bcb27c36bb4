"""What vectors and words say of passages, made one: a similarity from 0 to 1 that the ranking takes.

Measured by ``make bench-retrieval`` (benchmarks/RETRIEVAL.md), which says what each part of it is worth.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from models.words import FUNCTION_WORDS, JOINTS, Token, folded, telling, tokens
from tasks.ports import Vectors

COSINE = 0.5  # its weight; the rest is that of the words
HALF = 16.0  # BM25 that counts a half, times the root of the words of the question; a rare word gives 7
KIN = 50  # of the best that look at each other
KINSHIP = 0.5  # how much of a passage's similarity is that of its kin
NEARNESS = 8  # the power that makes few of many kin
COVERED = 0.75  # of a question's words, in a passage that is found though its vector is far
FEW = 8  # words of a question that may be about one of them
SPOKEN = 16  # passages that are looked at for their words, however far they are
RARE = 5  # passages that may hold a word, of those that the index offers
ABOUT_TEXTS = frozenset([  # what questions to a library say of any text, beside function words
    "article", "articles", "describe", "described", "describes", "document", "documents", "explain",
    "find", "give", "know", "mean", "means", "mention", "mentioned", "mentions", "page", "pages",
    "please", "said", "say", "says", "show", "source", "sources", "tell", "text", "texts",
])
COUNTED = re.compile(r"\d+(?:s|st|nd|rd|th)")  # "1960s", "20th"
SAYING_NOTHING = FUNCTION_WORDS | ABOUT_TEXTS

Numbers = NDArray[np.float64]


class Evidence(NamedTuple):
    """What is known of a passage that the index offered, by its vector, by words, or by both."""

    id: UUID
    document_id: UUID
    text: str  # of which its words are indexed
    vector: Vectors  # shape (dimensions,), unit length
    cosine: float  # with the question
    words: float  # BM25; 0 where its words offered nothing


class Fused(NamedTuple):
    """A passage with its similarity, and the parts it was made of."""

    id: UUID
    similarity: float  # 0 to 1
    cosine: float
    words: float  # 0 to 1; 1 where it is exact
    exact: bool  # holds a rare word that the question is about


def promising(question: str, cosines: Mapping[UUID, float], words: Mapping[UUID, float],
              most: int) -> list[UUID]:
    """The passages that are worth a closer look, by what the index says of them alone: ``most`` at most.

    What was found by its words alone is no nearer than the last that was found by its vector. The best by
    their words are among them however far they are: they may hold a rare one.
    """
    offered = list(dict.fromkeys([*cosines, *words]))
    last = min(cosines.values(), default=0.0)
    nearness = np.clip([cosines.get(each, last) for each in offered], 0, 1)
    said = np.array([words.get(each, 0.0) for each in offered])
    similar = COSINE * nearness + (1 - COSINE) * share(said, len(telling(question)))
    by_words = np.argsort(-said, kind="stable")[: min(most, SPOKEN)]
    order = dict.fromkeys([*by_words.tolist(), *np.argsort(-similar, kind="stable").tolist()])
    return [offered[place] for place in list(order)[:most]]


def fuse(question: str, found: Iterable[Evidence], minimum: float) -> list[Fused]:
    """The passages whose cosine is at least ``minimum``, or that hold a rare word asked for; best first.

    The similarity rises with both parts of a passage, and does not depend on ``minimum`` nor on the order of
    ``found``. Equals come by their ids.
    """
    evidence = sorted(found, key=lambda each: each.id)
    if not evidence:
        return []
    cosines = np.clip([each.cosine for each in evidence], 0, 1)
    words = share([each.words for each in evidence], len(telling(question)))
    exact = holding(asked(question), [each for each in evidence if each.words > 0])
    words[[each.id in exact for each in evidence]] = 1.0
    similarities = with_kin(COSINE * cosines + (1 - COSINE) * words, evidence)
    fused = (Fused(each.id, min(float(similarity), 1.0), each.cosine, float(word), each.id in exact)
             for each, similarity, word in zip(evidence, similarities, words, strict=True)
             if each.cosine >= minimum or each.id in exact)
    return sorted(fused, key=lambda one: (-one.similarity, one.id))


def share(scores: Sequence[float] | Numbers, asked_for: int) -> Numbers:
    """BM25 as a number from 0 to 1 that means much the same for questions of any length.

    Not a share of the best score, which is 1 for something in every question.
    """
    scaled = np.maximum(scores, 0) / (HALF * max(asked_for, 1) ** 0.5)
    result: Numbers = scaled / (1 + scaled)
    return result


def with_kin(similarities: Numbers, evidence: Sequence[Evidence]) -> Numbers:
    """The best ones' similarities, each drawn to those of what is near it in other documents.

    What answers stands together (the cluster hypothesis); a mean, so that copies cannot raise each other.
    """
    best = np.argsort(-similarities, kind="stable")[:KIN]
    vectors = np.stack([evidence[i].vector for i in best]).astype(np.float64)
    documents = np.array([evidence[i].document_id.int % (1 << 63) for i in best])
    near = np.clip(vectors @ vectors.T, 0, 1) ** NEARNESS * (documents[:, None] != documents)
    own, total = similarities[best], near.sum(1)
    kin = np.where(total > 0, near @ own / np.where(total > 0, total, 1), own)
    result = similarities.copy()
    result[best] += KINSHIP * (kin - own)
    return result


def asked(question: str) -> list[Token]:
    """What a question names, each once."""
    named = {token.whole: token for token in tokens(question)}
    return [token for whole, token in named.items() if whole not in SAYING_NOTHING]


def holding(named: Sequence[Token], offered: Sequence[Evidence]) -> Set[UUID]:
    """Which passages hold a rare one of ``named``, with most of the others or written as a code."""
    few = len(named) <= FEW
    sought = {token: pattern(token) for token in named if few or is_code(token)}
    if not sought:
        return set()
    plain = {each.id: folded(each.text) for each in offered}
    held = {each: {token for token, said in sought.items() if said.search(text)}
            for each, text in plain.items()}
    passages = Counter(chain.from_iterable(held.values()))
    whole = {each for each, some in held.items() if few and len(some) >= COVERED * len(named)}
    return {each for each, some in held.items()
            if any(passages[token] <= RARE and (each in whole or is_code(token)) for token in some)}


def is_code(token: Token) -> bool:
    """Whether it is written as no ordinary word is: "E1234X", "CVE-2024-1234", "max_bytes", "10.0.0.1"."""
    digits, letters = (any(map(kind, token.raw)) for kind in (str.isdigit, str.isalpha))
    if COUNTED.fullmatch(token.raw):
        return False
    return "_" in token.raw or (digits and (letters or len(token.parts) > 2))


@lru_cache
def pattern(token: Token) -> re.Pattern[str]:
    """Where a folded text says it as a word of its own, however it is joined."""
    if not token.parts:
        return re.compile(re.escape(token.raw))  # of a script without spaces
    sign = token.raw[len(token.raw.rstrip("+#")):]
    return re.compile(rf"(?<!\w){f'{JOINTS}?'.join(token.parts)}{re.escape(sign)}(?![\w+#])")
