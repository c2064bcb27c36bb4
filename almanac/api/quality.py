"""What the gates refused, over HTTP: reported, released, rejected."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from almanac.api.context import By, Caller, Context, InContext
from almanac.api.documents import changeable, found
from almanac.api.problems import Problem, sentence
from almanac.api.runs import start_if_possible
from almanac.api.words import Body, Name, Zone
from models.session import Database
from models.states import Severity, Verdict
from tasks.gates import decisions
from tasks.gates.rates import rates
from tasks.gates.refusals import refusals

router = APIRouter(prefix="/v1/quality", tags=["quality"])

Limit = Annotated[int, Query(ge=1, le=500)]


@router.get("")
def report(
    by: By, verdict: Verdict | None = None, severity: Severity | None = None,
    gate: Literal["versions", "chunks"] | None = None, source: UUID | None = None, limit: Limit = 100,
    after: Name | None = None,
) -> dict[str, Any]:
    """What gates found, last judged first; ``next`` is the ``after`` of the page behind it.

    ``sources`` are those that differ from their own history; ``counts`` tells how many versions were refused,
    by what became of them.
    """
    try:
        return decisions.report(by.db, verdict, severity, gate, source, limit, after)
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error


@router.get("/refusals")
def list_refusals(
    by: By, context: InContext, verdict: Verdict = Verdict.QUARANTINED, source: UUID | None = None,
    limit: Limit = 50, after: Name | None = None,
) -> dict[str, Any]:
    """The versions that a gate refused, last read first, each once with everything that was found of it."""
    try:
        return refusals(by.db, verdict, source, limit, after)
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error


@router.get("/rates")
def show_rates(
    by: By, context: InContext, days: Annotated[int, Query(ge=1, le=365)] = 30, zone: Zone = "UTC",
) -> dict[str, Any]:
    """How many versions passed the gates and how many were refused, day by day in that time zone, and why."""
    return rates(by.db, datetime.now(UTC), days, zone)


class Chosen(Body):
    """Some documents of which a gate has refused what they say."""

    document_ids: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=500)]


@router.post("/release", status_code=202)
async def release_all(chosen: Chosen, by: By, context: InContext) -> dict[str, Any]:
    """Release each of them, and start the indexing once; ``left`` says why, where one could not be."""
    return await decide_all(chosen, by, context, decisions.release)


@router.post("/reject")
async def reject_all(chosen: Chosen, by: By, context: InContext) -> dict[str, Any]:
    """Reject each of them; what they said before answers again. ``left`` says why, where one could not be."""
    return await decide_all(chosen, by, context, decisions.reject)


async def decide_all(
    chosen: Chosen, by: Caller, context: Context, decision: Callable[[Database, UUID], bool]
) -> dict[str, Any]:
    left = await run_in_threadpool(decisions.decide_all, by.db, chosen.document_ids, decision)
    return {"decided": [each for each in chosen.document_ids if each not in left],
            "left": [{"document_id": each, "why": sentence(why)} for each, why in left.items()],
            "flow_run_id": await start_if_possible(context.runs, "index", {})}


@router.post("/{document_id}/release", status_code=202)
async def release(document_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """Let what a gate refused of this document be indexed as it is, and start that."""
    await run_in_threadpool(changeable, document_id, by, context)
    try:
        done = await run_in_threadpool(decisions.release, by.db, document_id)
    except ValueError as error:
        raise Problem(409, sentence(str(error)), "not_releasable") from error
    document = await run_in_threadpool(decided, done, document_id, by, context)
    return document | {"flow_run_id": await start_if_possible(context.runs, "index", {})}


@router.post("/{document_id}/reject")
async def reject(document_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """Confirm the refusal, or take back its release: what the page says now is never indexed.

    What it said before answers again.
    """
    await run_in_threadpool(changeable, document_id, by, context)
    done = await run_in_threadpool(decisions.reject, by.db, document_id)
    document = await run_in_threadpool(decided, done, document_id, by, context)
    return document | {"flow_run_id": await start_if_possible(context.runs, "index", {})}


def decided(done: bool, document_id: UUID, by: Caller, context: Context) -> dict[str, Any]:
    document = found(document_id, by, context)
    if not done:
        raise Problem(409, "No gate has refused what this document says: there is nothing to decide.",
                      "not_refused")
    return document
