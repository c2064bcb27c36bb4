"""The order of candidates: a score of weighted parts, each 0 to 1, and the sentence that explains it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from models.states import ContentType
from tasks.answer.candidates import Candidate
from tasks.answer.freshness import HALF_LIVES, age, content_type, freshness
from tasks.answer.retrieval import Score

RECENTLY = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part counts. A part that nothing computes yet is 0 and adds nothing."""

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


def rank(candidates: Iterable[Candidate], now: datetime, weights: Weights,
         half_lives: Mapping[ContentType, timedelta] = HALF_LIVES) -> list[Ranked]:
    """Best first; of equals the more similar, then the smaller id, so that the same gives the same."""
    ranked = [Ranked(candidate, score(candidate, now, weights, half_lives)) for candidate in candidates]
    return sorted(ranked, key=lambda r: (-r.score.total, -r.score.similarity, r.candidate.chunk_id))


def score(candidate: Candidate, now: datetime, weights: Weights,
          half_lives: Mapping[ContentType, timedelta] = HALF_LIVES) -> Score:
    """Rises with each part but the last; never below 0."""
    half_life = half_lives.get(content_type(candidate.source_kind))
    similarity, topic, interest = min(max(candidate.similarity, 0.0), 1.0), 0.0, 0.0
    fresh, source = freshness(age(dated(candidate), now), half_life), candidate.source_weight
    off = weights.recently_used * fading(candidate.last_used, now)
    total = (weights.similarity * similarity + weights.topic * topic + weights.freshness * fresh
             + weights.source * source + weights.interest * interest - off)
    return Score(max(total, 0.0), similarity, topic, fresh, source, interest, off)


def dated(candidate: Candidate) -> datetime:
    """The date that a document's age is counted from: published, else first seen."""
    return candidate.origin.published_at or candidate.first_seen


def fading(last_used: datetime | None, now: datetime) -> float:
    """1 for a document used just now, falling evenly to 0 in ``RECENTLY``."""
    return max(1 - age(last_used, now) / RECENTLY, 0.0) if last_used else 0.0


def explain(ranked: Ranked, now: datetime, weights: Weights) -> str:
    """The score as a sum that a reader can check, and the age behind its freshness."""
    found, part = ranked.candidate, ranked.score
    weighted = " + ".join(
        f"{getattr(weights, name):.2f} * {name} {getattr(part, name):.4f}"
        for name in ("similarity", "topic", "freshness", "source", "interest")
    )
    kind = content_type(found.source_kind).replace("_", "-")
    event = "published" if found.origin.published_at else "not dated, first seen"
    days = age(dated(found), now) / timedelta(days=1)
    return (f"{weighted} - recently used {part.recently_used:.4f} = {part.total:.4f}; "
            f"{kind}, {event} {days:.1f} days ago")
