"""Whether one excerpt only repeats another, in nearly the same words and with the same figures."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tasks.answer.candidates import Candidate
from tasks.ports import Vectors

WORD = re.compile(r"\w+")
RUN = 3  # words that are compared together
MOSTLY = 0.8  # of its runs: a footer, a byline or a changed word do not make a text of its own
ALIKE = 0.85  # cosine below which texts are not compared
NUMBERS = frozenset(re.findall(r"\w+", """
no none not never zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
thousand million billion dozen half first second third
"""))
CORRECTS = re.compile(r"\b(?:correct(?:ion|ed|s)|clarif(?:ication|ied|ies)|retract(?:ion|ed|s)|erratum)\b")


def likeness(candidates: Sequence[Candidate]) -> Vectors:
    """The cosine of each pair, shape (n, n); 1 where a vector is missing, so that their texts decide."""
    missing = np.array([candidate.vector is None for candidate in candidates], dtype=bool)
    if not candidates:
        return np.empty((0, 0), np.float32)
    size = next((len(c.vector) for c in candidates if c.vector is not None), 1)
    vectors = np.stack([np.zeros(size, np.float32) if c.vector is None else c.vector for c in candidates])
    alike: Vectors = vectors @ vectors.T
    alike[missing, :] = alike[:, missing] = 1.0
    return alike


def repeats(one: Candidate, other: Candidate) -> bool:
    """Whether nearly all that ``one`` says stands in ``other``, too.

    What differs in a figure or a “not” is no copy, nor what says that it corrects: it may be the news.
    """
    if bool(CORRECTS.search(_said(one))) != bool(CORRECTS.search(_said(other))):
        return False
    own, others = _runs(one.text), _runs(other.text)
    return len(own & others) >= MOSTLY * len(own) > 0 and figures(one.text) <= figures(other.text)


def _said(candidate: Candidate) -> str:
    return f"{candidate.origin.title}\n{candidate.text}".lower()


@lru_cache(maxsize=1024)
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = WORD.findall(text.lower())
    return frozenset(zip(*(words[at:] for at in range(RUN)), strict=False)) or frozenset([tuple(words)])


@lru_cache(maxsize=1024)
def figures(text: str) -> frozenset[str]:
    """Numbers, in digits or in words, and negations."""
    return frozenset(word for word in WORD.findall(text.lower()) if word in NUMBERS or word[0].isdigit())
