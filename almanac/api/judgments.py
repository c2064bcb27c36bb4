"""The caller's own judgments over HTTP, and what a change of the ranking would do to them."""

from dataclasses import asdict
from datetime import UTC, datetime
from statistics import fmean
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from almanac.api.context import By, InContext
from almanac.api.problems import Problem, not_found
from almanac.api.ranking import RankingWanted
from almanac.api.words import Body, Name
from tasks.answer import judge, tuning

router = APIRouter(prefix="/v1/judgments", tags=["judgments"])

Labels = Annotated[tuple[Name, ...], Field(max_length=200)]


class Verdicts(Body):
    """Which excerpts of a retrieval answer its question, and which do not."""

    retrieval_id: UUID
    good: Labels = ()
    bad: Labels = ()


@router.get("")
def list_judgments(by: By, context: InContext) -> dict[str, Any]:
    """The last first."""
    return {"judgments": judge.judgments(context.library.db, by.scopes)}


@router.post("", status_code=201)
def add(verdicts: Verdicts, by: By, context: InContext) -> dict[str, Any]:
    """Write them down, in place of what was said before of the same question and document."""
    if both := set(verdicts.good) & set(verdicts.bad):
        raise Problem(422, f"{min(both)} is said to be good and bad: say one.")
    said = dict.fromkeys(verdicts.good, True) | dict.fromkeys(verdicts.bad, False)
    if not said:
        raise Problem(422, "Nothing is judged: name labels in good or bad.")
    judged = judge.judge(context.library.db, verdicts.retrieval_id, said, by.scopes, datetime.now(UTC))
    if not judged:
        raise not_found("retrieval, or none with these labels")
    return {"judged": judged, "unknown": sorted(said.keys() - set(judged))}


@router.delete("/{judgment_id}", status_code=204)
def withdraw(judgment_id: UUID, by: By, context: InContext) -> None:
    if not judge.withdraw(context.library.db, judgment_id, by.scopes):
        raise not_found("judgment")


@router.post("/replay")
def replay(change: RankingWanted, by: By, context: InContext) -> dict[str, Any]:
    """nDCG@10 of each judged question as answers are ranked now, and with the change, which is not kept."""
    it = context.library
    before, _ = tuning.current(it.db)
    after = change.on(before)
    asked = judge.replay(it.db, it.embedder, it.index, by.scopes, datetime.now(UTC),
                         context.settings.min_similarity, before, after)
    means = {name: fmean(getattr(each, name) for each in asked) if asked else None
             for name in ("before", "after")}
    return {"questions": [asdict(each) for each in asked], "ndcg_at_10": means,
            "weights": {"before": asdict(before.weights), "after": asdict(after.weights)}}
