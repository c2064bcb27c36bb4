"""Each stage as a Prefect task: load, work, save. Ids go in, counts come out, the rest stays in PostgreSQL.

A batch is one task, and what became of each row is a table of the run; a source has a task of its own.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from prefect import task
from prefect.artifacts import acreate_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.utilities import get_or_create_client
from sqlalchemy import select

from almanac.wiring import library
from models.states import ChunkState
from models.tables import Chunk, Source
from tasks import read
from tasks.answer.question import Question
from tasks.answer.retrieve import retrieve
from tasks.chunk import cut
from tasks.discover import poll
from tasks.index import follow

DEPLOYMENT = "library"  # in prefect.yaml: of what is due
POLLS_AT_ONCE = 16
WAITS_TO_START = {"type": {"any_": ["SCHEDULED", "PENDING"]}}

P = ParamSpec("P")
T = TypeVar("T")
Row = dict[str, Any]


def now() -> datetime:
    return datetime.now(UTC)


async def poll_sources(limit: int, source_ids: Sequence[UUID] | None) -> int:
    """Look at the sources that are due, or at those named; how many. One that fails stops no other."""
    db = library().db
    ids = poll.due_sources(db, now(), limit) if source_ids is None else list(source_ids)
    with db.begin() as session:
        found = session.execute(select(Source.id, Source.name).where(Source.id.in_(ids)))
        names = {row.id: row.name for row in found}
    room = asyncio.Semaphore(POLLS_AT_ONCE)

    async def look(source_id: UUID) -> Row:
        async with room:
            return await poll_source(source_id, names.get(source_id, str(source_id)))

    rows = await asyncio.gather(*map(look, ids), return_exceptions=True)
    await show("polled", [row for row in rows if isinstance(row, dict)])
    for failure in rows:
        if isinstance(failure, BaseException):
            raise failure
    return len(ids)


@task(task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)
async def poll_source(source_id: UUID, name: str) -> Row:
    """One look at a source, as a row of the run's table."""
    one, started = library(), monotonic()
    result = await poll.poll_source(one.db, one.fetcher, one.parser, source_id, now())
    return {
        "source": name, "outcome": result.outcome, "reason": result.reason, "seen": result.items_seen,
        "new": result.items_new, "changed": result.items_changed, "seconds": round(monotonic() - started, 1),
    }


@task(task_run_name="read documents", cache_policy=NO_CACHE, persist_result=False)
async def read_documents(limit: int, document_ids: Sequence[UUID] | None) -> int:
    """Read a batch of documents that are due, or those named; how many."""
    one = library()
    reads = await read.read_documents(
        one.db, one.fetcher, one.parser, one.worker, limit, now(), document_ids, one.settings.max_attempts)
    await show("read", [
        {"address": it.url, "state": it.state, "reason": it.reason, "seconds": round(it.seconds, 1)}
        for it in reads
    ])
    return len(reads)


@task(task_run_name="index versions", cache_policy=NO_CACHE, persist_result=False)
async def index_versions(limit: int) -> int:
    """Bring a batch of versions that wait into the index; how many. What a crash left is finished first."""
    one, settings = library(), library().settings
    indexed = await in_thread(
        follow.index_versions, one.db, one.embedder, one.index, cut, limit,
        settings.articles_per_hour, settings.articles_per_day, now())
    await show("indexed", [
        {"address": it.url, "chunks": it.chunks, "embedded": it.embedded} for it in indexed])
    return len(indexed)


async def answer(question: Question) -> Row:
    """The retrieval that HTTP gives too."""
    one = library()
    return retrieve(one.db, one.embedder, one.index, question, now(), one.settings.min_similarity).to_json()


async def hand_over() -> None:
    """Start reading when documents are due, and indexing when there is something to put in or take out."""
    if read.due(library().db, now()):
        await start("read")
    if index_lags():
        await start("index")


def index_lags() -> bool:
    """Versions wait that the owner's limits let through, or chunks that answer no more are still there."""
    db, settings = library().db, library().settings
    held = follow.held(db, settings.articles_per_hour, settings.articles_per_day, now())
    with db.begin() as session:
        retiring = session.scalar(select(Chunk.id).where(Chunk.state == ChunkState.RETIRING).limit(1))
    return retiring is not None or follow.waiting(db) > held


async def start(flow: str) -> None:
    """A run of the flow, unless one waits to start already."""
    client, _ = get_or_create_client()
    deployment = await client.read_deployment_by_name(f"{flow}/{DEPLOYMENT}")
    waits = FlowRunFilter.model_validate(
        {"state": WAITS_TO_START, "deployment_id": {"any_": [deployment.id]}})
    if not await client.read_flow_runs(flow_run_filter=waits, limit=1):
        await client.create_flow_run_from_deployment(deployment.id)


async def show(key: str, rows: list[Row]) -> None:
    """A table of the run, when there is something to show."""
    if rows:
        await acreate_table_artifact(rows, key=key)


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call without holding up the run's event loop; a cancellation waits until the call has ended."""
    work = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
