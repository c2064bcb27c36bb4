"""What a retrieval gives back, and its JSON: the shape of ``POST /v1/retrieve``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from tasks.answer.origin import Origin, Place


class Score(NamedTuple):
    """The parts of a score, each 0 to 1, before their weights; ``recently_used`` is what was taken off."""

    total: float
    similarity: float
    topic: float
    freshness: float
    source: float
    interest: float
    recently_used: float

    def to_json(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A chunk, or two that follow each other, in an answer under its label.

    ``story`` is shared by what different sources say of one event, ``also_at`` is where else the text stands,
    ``why`` says why one that was not used was dropped; ``matches`` are the places in the text where the words
    of the question stand, start and end.
    """

    label: str
    used: bool
    text: str
    headings: Sequence[str]
    document_id: UUID
    version_id: UUID
    chunk_id: UUID
    origin: Origin
    score: Score
    also_at: Sequence[Place] = ()
    why: str | None = None
    story: str | None = None
    explanation: str | None = None
    matches: Sequence[tuple[int, int]] | None = None

    def to_json(self) -> dict[str, Any]:
        """The contract's fields; ``why`` only where dropped, the last two only where asked for."""
        said = {"why": self.why, "explanation": self.explanation, "matches": self.matches}
        return {
            "label": self.label,
            "used": self.used,
            "text": self.text,
            "headings": list(self.headings),
            "document_id": str(self.document_id),
            "version_id": str(self.version_id),
            "chunk_id": str(self.chunk_id),
            "story": self.story,
            "citation": self.origin.to_json(),
            "also_at": [place.to_json() for place in self.also_at],
            "score": self.score.to_json(),
        } | {name: value for name, value in said.items() if value is not None}


class Elapsed(NamedTuple):
    """Milliseconds: ``search`` includes loading the rows, ``total`` also recording what was used."""

    embed: float
    search: float
    rank: float
    total: float

    def to_json(self) -> dict[str, float]:
        return {name: round(value, 2) for name, value in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class Retrieval:
    """An answer's excerpts, best first; ``nothing`` says why there are none, where there are none.

    ``weights`` are those that the scores were made with, where that was asked for.
    """

    retrieval_id: UUID
    recent: bool
    elapsed: Elapsed
    excerpts: Sequence[Excerpt]
    dropped: Sequence[Excerpt]
    prompt: str
    nothing: str | None
    weights: Mapping[str, float] | None = None

    def with_more(self, more: "Retrieval") -> "Retrieval":
        """Both as one, where the other went on with this one."""
        return replace(self, excerpts=[*self.excerpts, *more.excerpts],
                       dropped=[*self.dropped, *more.dropped])
    relevant: bool = True  # it holds what surely answers, and that no external AI has said
    external: Sequence[UUID] = ()  # documents of external AIs that were chosen

    def to_json(self) -> dict[str, Any]:
        return {
            "retrieval_id": str(self.retrieval_id),
            "recent": self.recent,
            "elapsed_ms": self.elapsed.to_json(),
            "excerpts": [excerpt.to_json() for excerpt in self.excerpts],
            "dropped": [excerpt.to_json() for excerpt in self.dropped],
            "prompt": self.prompt,
            "nothing": self.nothing,
        } | ({"weights": dict(self.weights)} if self.weights else {})
