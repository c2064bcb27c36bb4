"""How answers are ranked, over HTTP: shown to all, set by librarians for everybody."""

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter
from pydantic import Field

from almanac.api.context import By, ByLibrarian, Context, InContext
from almanac.api.problems import Problem, sentence
from almanac.api.words import Body
from tasks.answer import tuning
from tasks.answer.tuning import Tuning

router = APIRouter(prefix="/v1/ranking", tags=["ranking"])


class RankingWanted(Body):
    """What is to be set; what is not named stays."""

    weights: dict[str, float] = Field({}, description="by part of the score, 0 to 1")
    half_lives: dict[str, float | None] = Field({}, description="days by content type; null: does not age")

    def on(self, present: Tuning) -> Tuning:
        """Raises Problem, with one sentence, for what cannot be."""
        try:
            return present.changed(self.weights, self.half_lives)
        except ValueError as error:
            raise Problem(422, sentence(str(error))) from error


@router.get("")
def show_ranking(by: By, context: InContext) -> dict[str, Any]:
    """The weights and half-lives that count, ``set_at`` some time, and those of the ``default``."""
    return told(context)


@router.put("")
def set_ranking(wanted: RankingWanted, by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """Rank every answer so from now on."""
    present, _ = tuning.current(context.library.db)
    tuning.keep(context.library.db, wanted.on(present), by.name, datetime.now(UTC))
    return told(context)


def told(context: Context) -> dict[str, Any]:
    present, since = tuning.current(context.library.db)
    return present.to_json() | {"set_at": since and since.isoformat(), "default": Tuning().to_json()}
