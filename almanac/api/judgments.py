"""The caller's own judgments over HTTP, and what a change of the ranking's weights would do to them."""

from dataclasses import asdict
from datetime import UTC, datetime
from statistics import fmean
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from almanac.api.context import By, InContext
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.words import Body, Name, Number
from tasks.answer import judge
from tasks.answer.rank import WEIGHTS

router = APIRouter(prefix="/v1/judgments", tags=["judgments"])

Labels = Annotated[tuple[Name, ...], Field(max_length=200)]


class Verdicts(Body):
    """Which excerpts of a retrieval answer its question, and which do not."""

    retrieval_id: UUID
    good: Labels = ()
    bad: Labels = ()


class Change(Body):
    """Weights of the ranking that are to be tried; those not named stay."""

    weights: dict[str, Number] = {}  # noqa: RUF012 - pydantic copies it


@router.get("")
def list_judgments(by: By) -> dict[str, Any]:
    """The last first."""
    return {"judgments": judge.judgments(by.db, by.scopes)}


@router.post("", status_code=201)
def add(verdicts: Verdicts, by: By) -> dict[str, Any]:
    """Write them down, in place of what was said before of the same question and document."""
    if both := set(verdicts.good) & set(verdicts.bad):
        raise Problem(422, f"{min(both)} is said to be good and bad: say one.")
    said = dict.fromkeys(verdicts.good, True) | dict.fromkeys(verdicts.bad, False)
    if not said:
        raise Problem(422, "Nothing is judged: name labels in good or bad.")
    judged = judge.judge(by.db, verdicts.retrieval_id, said, by.scopes, datetime.now(UTC))
    if not judged:
        raise not_found("retrieval, or none with these labels")
    return {"judged": judged, "unknown": sorted(said.keys() - set(judged))}


@router.delete("/{judgment_id}", status_code=204)
def withdraw(judgment_id: UUID, by: By) -> None:
    if not judge.withdraw(by.db, judgment_id, by.scopes):
        raise not_found("judgment")


@router.post("/replay")
def replay(change: Change, by: By, context: InContext) -> dict[str, Any]:
    """nDCG@10 of each judged question with the weights as they are, and with the change."""
    try:
        after = judge.weights_of(change.weights)
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error
    it = context.library
    asked = judge.replay(by.db, it.embedder, it.index, by.scopes, datetime.now(UTC),
                         context.settings.min_similarity, after)
    means = {name: fmean(getattr(each, name) for each in asked) if asked else None
             for name in ("before", "after")}
    return {"questions": [asdict(each) for each in asked], "ndcg_at_10": means,
            "weights": {"before": asdict(WEIGHTS), "after": asdict(after)}}
