"""Stories: excerpts of different sources that tell of one event, told apart by meaning, names and time.

On 42 short reports of 22 events, some of one town, club or company within days (tests/answer/stories.csv),
pairs are found with precision .90 and recall .90; by the cosine alone, with .84 and .90 at its best.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import cast

import numpy as np

from tasks.answer.about import normal, words
from tasks.answer.candidates import Candidate
from tasks.answer.freshness import HALF_LIVES
from tasks.answer.rank import dated, kind_of
from tasks.ports import Vectors

WITHIN = timedelta(days=7)  # the excerpts of one event are dated
ALIKE = 0.55  # cosine, with two names in common
RATHER = 0.68  # with one
VERY_ALIKE = 0.75  # where one of them names nobody
DAYS_AND_MONTHS = frozenset(re.findall(r"\w+", """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december
"""))
NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w-]+(?:\s+[A-Z][\w-]+)*", re.MULTILINE)


def label(excerpts: Sequence[Candidate]) -> list[str | None]:
    """S1, S2, … for the excerpts of each story that two sources or more tell; none for the others."""
    events = [place for place, excerpt in enumerate(excerpts) if is_dated(excerpt)]
    group = list(range(len(excerpts)))
    names = {place: named(excerpts[place]) for place in events}
    for one, other in near(excerpts, events):
        if is_one_event(excerpts[one], excerpts[other], names[one], names[other]):
            group = [group[one] if each == group[other] else each for each in group]
    labels: dict[int, str] = {}
    for of in group:
        sources = {excerpt.source_id for excerpt, its in zip(excerpts, group, strict=True) if its == of}
        if of not in labels and len(sources) > 1:
            labels[of] = f"S{len(labels) + 1}"
    return [labels.get(of) for of in group]


def near(excerpts: Sequence[Candidate], places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The pairs that may tell of one event by their meaning; all that could is far too much for a day's."""
    if not places:
        return
    vectors = np.stack([cast(Vectors, excerpts[place].vector) for place in places])
    documents = np.array([excerpts[place].document_id.int % (1 << 63) for place in places])
    may = (vectors @ vectors.T >= ALIKE) | (documents[:, None] == documents)
    for one, other in zip(*np.nonzero(np.triu(may, 1)), strict=True):
        yield places[one], places[other]


def is_dated(excerpt: Candidate) -> bool:
    """Whether it can tell of an event: what does not age tells what always holds."""
    ages = kind_of(excerpt) in HALF_LIVES
    analysed, dated = bool(excerpt.content_type), bool(excerpt.origin.published_at)
    return excerpt.vector is not None and (ages or (dated and not analysed))


def is_one_event(one: Candidate, other: Candidate, names: frozenset[str], others: frozenset[str]) -> bool:
    if one.document_id == other.document_id:
        return True
    if abs(dated(one) - dated(other)) > WITHIN or one.vector is None or other.vector is None:
        return False
    alike = float(np.dot(one.vector, other.vector))
    if not (names and others):
        return alike >= VERY_ALIKE
    shared = len(names & others)
    return shared > 0 and alike >= (RATHER if shared == 1 else ALIKE)


def named(excerpt: Candidate) -> frozenset[str]:
    """Who and what an excerpt names: by its analysis, else what has a capital inside a sentence."""
    if excerpt.about.entities:
        return frozenset(map(normal, excerpt.about.entities))
    written = f"{excerpt.origin.title}\n{excerpt.text}"
    return frozenset(normal(name) for name in NAME.findall(written) if words(name)) - DAYS_AND_MONTHS
