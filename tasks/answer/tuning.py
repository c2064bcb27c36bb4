"""What is set of the ranking: its weights and half-lives. Each setting is kept; the last one counts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import uuid4

from sqlalchemy import insert, select

from models.session import Database
from models.states import ContentType
from models.tables import Ranking
from tasks.answer.freshness import HALF_LIVES
from tasks.answer.rank import WEIGHTS, Weights

DAY = timedelta(days=1)
SHORTEST, LONGEST = DAY / 24, 3650 * DAY  # half-lives


@dataclass(frozen=True, slots=True)
class Tuning:
    """A type without a half-life does not age."""

    weights: Weights = WEIGHTS
    half_lives: Mapping[ContentType, timedelta] = field(default_factory=lambda: HALF_LIVES)

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Self:
        """As ``to_json`` has it; what is not in it is as it is at first."""
        return cls().changed(stored.get("weights", {}), stored.get("half_lives", {})) if stored else cls()

    def to_json(self) -> dict[str, Any]:
        """``weights``, and ``half_lives`` in days, None where a type does not age."""
        lives = {kind: self.half_lives.get(kind) for kind in ContentType}
        return {"weights": asdict(self.weights),
                "half_lives": {kind.value: life and life / DAY for kind, life in lives.items()}}

    def changed(self, weights: Mapping[str, float], half_lives: Mapping[str, float | None]) -> Self:
        """With some weights, and half-lives in days, in place of its own. ValueError, one clear sentence."""
        known = [each.name for each in fields(Weights)]
        for name, value in weights.items():
            if name not in known:
                raise ValueError(f"there is no weight {name!r}: there are {', '.join(known)}")
            if not 0 <= value <= 1:
                raise ValueError(f"the weight {name} is {value}: give a number from 0 to 1")
        wanted = {_kind(name): _length(name, days) for name, days in half_lives.items()}
        ageing = {kind: life for kind, life in (dict(self.half_lives) | wanted).items() if life is not None}
        return replace(self, weights=replace(self.weights, **weights), half_lives=ageing)


def _kind(name: str) -> ContentType:
    if name not in {*ContentType}:
        raise ValueError(f"there is no content type {name!r}: there are {', '.join(ContentType)}")
    return ContentType(name)


def _length(name: str, days: float | None) -> timedelta | None:
    if days is None:
        return None
    if not SHORTEST / DAY <= days <= LONGEST / DAY:  # also for what is no number
        raise ValueError(f"the half-life of {name} is {days} days: give an hour (0.042) to ten years (3650), "
                         "or null for what does not age")
    return days * DAY


def current(db: Database) -> tuple[Tuning, datetime | None]:
    """What counts, and since when it was set so; none: as it is at first."""
    rows = db.execute(select(Ranking.weights, Ranking.half_lives, Ranking.set_at)
                      .order_by(Ranking.set_at.desc(), Ranking.id).limit(1))
    return (Tuning.of(dict(rows[0]._mapping)), rows[0].set_at) if rows else (Tuning(), None)


def keep(db: Database, tuning: Tuning, by: str, now: datetime) -> None:
    """From now on every answer is ranked so; ``by`` is whoever has set it."""
    db.execute(insert(Ranking).values(id=uuid4(), **tuning.to_json(), set_by=by, set_at=now))
