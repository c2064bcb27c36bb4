"""Documents over HTTP."""

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool

from almanac.api.context import By, ByLibrarian, Caller, Context, InContext
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.runs import needed, start_if_possible
from almanac.api.words import Address, Body, Name
from models.states import ContentType, DocumentState
from tasks import curate, reports
from tasks.discover.add import add_single
from tasks.gates.results import results
from tasks.index import follow, pieces

router = APIRouter(prefix="/v1/documents", tags=["documents"])

Limit = Annotated[int, Query(ge=1, le=500)]
NOT_HELD = {DocumentState.INDEXED, DocumentState.REMOVED}  # the newest version of these waits for nothing
Number = Annotated[int | None, Query(ge=1, le=2**31 - 1)]


class PageWanted(Body):
    """An address that is to be read now."""

    url: Address


@router.get("")
def list_documents(
    by: By, context: InContext, state: DocumentState | None = None, source: UUID | None = None,
    q: Name | None = None, content_type: ContentType | None = None, limit: Limit = 100,
    after: Name | None = None,
) -> dict[str, Any]:
    """One page, newest first; ``next`` is the ``after`` of the page behind it.

    ``held`` tells of each why a limit holds it back from the index, and until when.
    """
    try:
        page = reports.documents(by.db, state, source, q, limit, after, content_type)
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error
    return page | {"documents": with_holds(page["documents"], context)}


def with_holds(documents: list[dict[str, Any]], context: Context) -> list[dict[str, Any]]:
    chosen, ids = context.settings, [UUID(each["id"]) for each in documents if each["state"] not in NOT_HELD]
    holds = follow.holds(
        context.library.db, ids, chosen.articles_per_hour, chosen.articles_per_day, datetime.now(UTC)
    ) if ids else {}
    told = {identity: hold.to_json() for identity, hold in holds.items()}
    return [document | {"held": told.get(UUID(document["id"]))} for document in documents]


@router.post("", status_code=202)
async def read(wanted: PageWanted, by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """Read an address now, whether it is known or not."""
    identity = await run_in_threadpool(add_single, context.library.db, wanted.url, datetime.now(UTC))
    return await reading(identity, by, context)


async def reading(document_id: UUID, by: Caller, context: Context) -> dict[str, Any]:
    """The document, and the run that has been started to read it."""
    return await started("read", {"document_ids": [str(document_id)]}, document_id, by, context)


async def started(
    flow: str, parameters: dict[str, Any], document_id: UUID, by: Caller, context: Context
) -> dict[str, Any]:
    run = await start_if_possible(context.runs, flow, parameters)
    document = await run_in_threadpool(found, document_id, by, context)
    return document | {"flow_run_id": run}


def found(
    document_id: UUID, by: Caller, context: Context, number: int | None = None
) -> dict[str, Any]:
    document = reports.document(by.db, document_id, number)
    if document is None:
        raise not_found("document")
    return with_holds([document], context)[0]


def changeable(document_id: UUID, by: Caller, context: Context) -> dict[str, Any]:
    """The document, which the caller may change. Raises Problem where there is none, or only to be read."""
    document = found(document_id, by, context)
    by.may_change(document)
    return document


def missing(document_id: UUID, by: Caller, context: Context) -> Problem:
    """Why nothing can be done with a document: it was removed, or there is none."""
    document = found(document_id, by, context)
    why, url = document["reason"], document["url"]
    back = f" `almanac read {url}` brings it back." if url.startswith("http") else ""
    return Problem(410, f"There is no such document any more: {why}.{back}")


@router.get("/{document_id}")
def show(document_id: UUID, by: By, context: InContext, version: Number = None) -> dict[str, Any]:
    """What answers of it, else what was read last; or its ``version`` of that number."""
    return found(document_id, by, context, version)


@router.get("/{document_id}/versions")
def list_versions(document_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """What it said at different times, newest first."""
    versions = reports.versions(by.db, document_id)
    if versions is None:
        raise missing(document_id, by, context)
    return {"versions": versions}


@router.get("/{document_id}/diff")
def diff(
    document_id: UUID, by: By, context: InContext,
    old: Annotated[int | None, Query(alias="from", ge=1)] = None,
    new: Annotated[int | None, Query(alias="to", ge=1)] = None,
) -> dict[str, Any]:
    """What changed, block by block, between two versions by number: the last two, unless others are named."""
    try:
        changes = reports.diff(by.db, document_id, old, new)
    except ValueError as error:
        raise Problem(409, sentence(str(error)), "no_such_versions") from error
    if changes is None:
        raise missing(document_id, by, context)
    return changes


@router.get("/{document_id}/chunks")
def list_chunks(
    document_id: UUID, by: By, context: InContext, version: Number = None, limit: Limit = pieces.PAGE,
    after: Annotated[int, Query(ge=-1, le=2**31 - 1)] = -1,
) -> dict[str, Any]:
    """The chunks of a version as they were cut, with their tokens; of what answers, unless one is named."""
    told = pieces.pieces(by.db, document_id, version, limit, after)
    return told or nothing_said(document_id, by, context)


@router.get("/{document_id}/gates")
def list_gates(document_id: UUID, by: By, context: InContext, version: Number = None) -> dict[str, Any]:
    """What the quality gates made of a version: of the newest, unless one is named."""
    told = results(by.db, document_id, version)
    return told or nothing_said(document_id, by, context)


def nothing_said(document_id: UUID, by: Caller, context: Context) -> dict[str, Any]:
    """Raises Problem: there is no such document, or no such version of it."""
    found(document_id, by, context)
    raise Problem(409, "There is no such version of this document.", "no_such_versions")


@router.post("/{document_id}/retry", status_code=202)
async def retry(document_id: UUID, by: By, context: InContext, analyse: bool = False) -> dict[str, Any]:
    """Read it again now, whatever became of it before; or only ``analyse`` again what it says."""
    if analyse:
        return await analysing(document_id, by, context)
    await run_in_threadpool(changeable, document_id, by, context)
    if not await run_in_threadpool(curate.retry_document, by.db, document_id, datetime.now(UTC)):
        raise await run_in_threadpool(missing, document_id, by, context)
    document = await run_in_threadpool(found, document_id, by, context)
    if document["due_at"] is None:  # it was handed in
        return await started("keep" if document["file"] else "index", {}, document_id, by, context)
    return await reading(document_id, by, context)


async def analysing(document_id: UUID, by: Caller, context: Context) -> dict[str, Any]:
    """The document, and the run that has been started to analyse what it says."""
    document = await run_in_threadpool(changeable, document_id, by, context)
    if document["state"] == DocumentState.REMOVED:
        raise await run_in_threadpool(missing, document_id, by, context)
    if document["version_id"] is None:
        raise Problem(409, "Nothing of this document answers yet: it is analysed when it is indexed.")
    with needed():
        run = await context.runs.start("reanalyse", {"document_ids": [str(document_id)]})
    return document | {"flow_run_id": run}


@router.delete("/{document_id}")
async def remove(document_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """Take it out of the answers at once, and out of the index; its source does not bring it back."""
    await run_in_threadpool(changeable, document_id, by, context)
    removed = await run_in_threadpool(curate.remove_document, by.db, document_id, datetime.now(UTC))
    if removed is None:
        raise await run_in_threadpool(missing, document_id, by, context)
    await start_if_possible(context.runs, "index", {})
    return removed.to_json()
