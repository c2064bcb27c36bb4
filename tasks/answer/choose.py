"""Which candidates answer: one a document before a second, never a third, and no text twice."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from tasks.answer.candidates import PER_DOCUMENT
from tasks.answer.rank import Ranked

A_COPY = "the same text as an excerpt that ranks higher"
A_THIRD = "a third excerpt of its document"


@dataclass(frozen=True, slots=True)
class Choice:
    """Who answers, and who does not, with why; both best first."""

    chosen: list[Ranked]
    passed_over: list[tuple[Ranked, str]]


def choose(ranked: Sequence[Ranked], k: int) -> Choice:
    """At most ``k`` of the candidates, which come best first.

    Documents with the same text count as one, the best of them. Seconds fill only what firsts leave.
    """
    firsts: list[int] = []  # places
    seconds: list[int] = []
    whys: dict[int, str] = {}  # by place
    speaks_for: dict[str, UUID] = {}  # content hash -> the document that answers for it
    texts: set[str] = set()
    taken: Counter[UUID] = Counter()
    for place, (candidate, _) in enumerate(ranked):
        document = candidate.document_id
        speaker = speaks_for.setdefault(candidate.origin.content_hash, document)
        if speaker != document or candidate.text in texts:
            whys[place] = A_COPY
        elif taken[document] == PER_DOCUMENT:
            whys[place] = A_THIRD
        else:
            (seconds if taken[document] else firsts).append(place)
            taken[document] += 1
            texts.add(candidate.text)
    chosen = set((firsts + seconds)[:k])
    beyond = f"beyond the {k} asked for"
    return Choice(
        [entry for place, entry in enumerate(ranked) if place in chosen],
        [(entry, whys.get(place, beyond)) for place, entry in enumerate(ranked) if place not in chosen],
    )
