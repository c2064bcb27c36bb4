"""The order of candidates: a score of weighted parts, each 0 to 1, and the sentence that explains it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from models.states import ContentType
from tasks.answer.about import alignment, interest
from tasks.answer.candidates import RECENTLY, Candidate
from tasks.answer.freshness import HALF_LIVES, age, content_type, freshness
from tasks.answer.retrieval import Score


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part counts."""

    similarity: float = 0.60
    topic: float = 0.15
    freshness: float = 0.10
    source: float = 0.10
    interest: float = 0.05
    recently_used: float = 0.05  # taken off a document used just now

    def for_recent(self) -> "Weights":
        """For a question about recent developments: freshness counts double."""
        return replace(self, freshness=2 * self.freshness)


WEIGHTS = Weights()


class Ranked(NamedTuple):
    candidate: Candidate
    score: Score


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks and for what, as far as it decides the order."""

    now: datetime
    asked: frozenset[str] = frozenset()  # the words that say what the question is about
    profile: Mapping[str, float] = field(default_factory=dict)  # interests: topic to strength
    weights: Weights = WEIGHTS
    half_lives: Mapping[ContentType, timedelta] = field(default_factory=lambda: HALF_LIVES)


def rank(candidates: Iterable[Candidate], reader: Reader) -> list[Ranked]:
    """Best first; of equals the more similar, then the smaller id, so that the same gives the same."""
    ranked = [Ranked(candidate, score(candidate, reader)) for candidate in candidates]
    return sorted(ranked, key=lambda r: (-r.score.total, -r.score.similarity, r.candidate.chunk_id))


def score(candidate: Candidate, reader: Reader) -> Score:
    """Rises with each part but the last; never below 0."""
    weights, half_life = reader.weights, reader.half_lives.get(kind_of(candidate))
    parts = {
        "similarity": min(max(candidate.similarity, 0.0), 1.0),
        "topic": alignment(reader.asked, candidate.about),
        "freshness": freshness(age(dated(candidate), reader.now), half_life),
        "source": candidate.source_weight,
        "interest": interest(reader.profile, candidate.about),
    }
    off = weights.recently_used * fading(candidate.last_used, reader.now)
    total = sum(getattr(weights, name) * part for name, part in parts.items()) - off
    return Score(max(total, 0.0), **parts, recently_used=off)


def kind_of(candidate: Candidate) -> ContentType:
    return content_type(candidate.source_kind, candidate.content_type)


def dated(candidate: Candidate) -> datetime:
    """The date that a document's age is counted from: published, else first seen."""
    return candidate.origin.published_at or candidate.first_seen


def fading(last_used: datetime | None, now: datetime) -> float:
    """1 for a document used just now, falling evenly to 0 in ``RECENTLY``."""
    return max(1 - age(last_used, now) / RECENTLY, 0.0) if last_used else 0.0


def explain(ranked: Ranked, reader: Reader) -> str:
    """The score as a sum that a reader can check, and what its parts come from."""
    found, part = ranked.candidate, ranked.score
    weighted = " + ".join(
        f"{getattr(reader.weights, name):.2f} * {name} {getattr(part, name):.4f}"
        for name in ("similarity", "topic", "freshness", "source", "interest")
    )
    kind = kind_of(found).replace("_", "-")
    event = "published" if found.origin.published_at else "not dated, first seen"
    days = age(dated(found), reader.now) / timedelta(days=1)
    return (f"{weighted} - recently used {part.recently_used:.4f} = {part.total:.4f}; "
            f"{kind}, {event} {days:.1f} days ago")
