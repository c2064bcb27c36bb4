"""Which candidates answer: a document's first before a second, no third, no text twice, neighbours as one."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from tasks.answer.alike import ALIKE, likeness, repeats
from tasks.answer.candidates import PER_DOCUMENT, Candidate
from tasks.answer.origin import Place
from tasks.answer.rank import Ranked

A_COPY = "the same text as an excerpt that ranks higher"
A_THIRD = "a third excerpt of its document"


@dataclass(frozen=True, slots=True)
class Choice:
    """Who answers, and who does not, with why; both best first."""

    chosen: list[Ranked]
    passed_over: list[tuple[Ranked, str]]


def choose(ranked: Sequence[Ranked], k: int) -> Choice:
    """At most ``k`` excerpts of the candidates, which come best first.

    Documents with the same text count as one, the best of them, which says where the others stand. Seconds
    fill only what firsts leave. Two chosen chunks that follow each other are one excerpt, at the better's
    place, and leave room for another.
    """
    firsts, seconds, whys, copies = _turns(ranked)
    order = firsts + seconds
    taken = k
    while True:
        places = sorted(order[:taken])
        chosen = joined([_with_copies(ranked[place], copies.get(place, ())) for place in places])
        if len(chosen) >= k or taken >= len(order):
            break
        taken += k - len(chosen)
    beyond = f"beyond the {k} asked for"
    left = [place for place in range(len(ranked)) if place not in set(places)]
    return Choice(chosen, [(ranked[place], whys.get(place, beyond)) for place in left])


class Turns(NamedTuple):
    """Each document's first and second excerpt, why others have no turn, who repeats whom; all by place."""

    firsts: list[int]
    seconds: list[int]
    whys: dict[int, str]
    copies: dict[int, list[Place]]


def _turns(ranked: Sequence[Ranked]) -> Turns:
    turns = Turns([], [], {}, defaultdict(list))
    firsts, seconds, whys, copies = turns
    speaks_for: dict[str, int] = {}  # content hash -> the place of the document that answers for it
    taken: Counter[UUID] = Counter()
    candidates = [entry.candidate for entry in ranked]
    alike = likeness(candidates)
    for place, candidate in enumerate(candidates):
        speaker = speaks_for.setdefault(candidate.origin.content_hash, place)
        original = next((other for other in firsts + seconds if alike[place, other] >= ALIKE
                         and _is_copy(candidate, candidates[other])), None)
        if candidates[speaker].document_id != candidate.document_id:
            original = speaker
        if original is not None:
            whys[place] = A_COPY
            if candidates[original].document_id != candidate.document_id:
                copies[original] += [Place.of(candidate.origin), *candidate.also_at]
        elif taken[candidate.document_id] == PER_DOCUMENT:
            whys[place] = A_THIRD
        else:
            (seconds if taken[candidate.document_id] else firsts).append(place)
            taken[candidate.document_id] += 1
    return turns


def _is_copy(one: Candidate, other: Candidate) -> bool:
    if one.document_id == other.document_id:
        return one.text == other.text
    return one.text == other.text or repeats(one, other)


def _with_copies(entry: Ranked, copies: Iterable[Place]) -> Ranked:
    """An excerpt that names where else it stands, each place once."""
    if not copies:
        return entry
    places = dict.fromkeys([*entry.candidate.also_at, *copies])
    places.pop(Place.of(entry.candidate.origin), None)
    return entry._replace(candidate=entry.candidate._replace(also_at=tuple(places)))


def joined(chosen: Sequence[Ranked]) -> list[Ranked]:
    """Neighbouring chunks as one excerpt, at the place and with the score of the better."""
    excerpts: list[Ranked] = []
    for entry in chosen:
        for at, other in enumerate(excerpts):
            if whole := join(other.candidate, entry.candidate):
                excerpts[at] = other._replace(candidate=whole)
                break
        else:
            excerpts.append(entry)
    return excerpts


def join(better: Candidate, other: Candidate) -> Candidate | None:
    """The excerpt that two chunks of a version make that follow each other; none where they do not.

    Its text is the version's, character for character: what they both hold once, what stands between them.
    """
    first, second = sorted((better, other), key=lambda chunk: chunk.position)
    gap = second.origin.start - first.origin.end
    if first.version_id != second.version_id or second.position != first.position + 1:
        return None
    if gap > 0 and (first.gap is None or len(first.gap) != gap):
        return None
    text = first.text + (first.gap or "" if gap > 0 else "") + second.text[max(-gap, 0):]
    origin = first.origin._replace(end=second.origin.end)
    return better._replace(text=text, headings=first.headings, origin=origin)
