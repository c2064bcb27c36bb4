"""Each stage as a Prefect task: load, work, save. Ids go in, counts come out, the rest stays in PostgreSQL.

A batch is one task, and what became of each row is a table of the run; a source has a task of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from prefect import task
from prefect.artifacts import acreate_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter
from prefect.client.schemas.objects import State
from prefect.client.schemas.sorting import FlowRunSort
from prefect.client.utilities import get_or_create_client
from prefect.runtime import task_run
from prefect.settings import get_current_settings
from prefect.tasks import exponential_backoff
from sqlalchemy import select

from almanac.wiring import library
from models.session import Database, is_away
from models.states import ChunkState
from models.tables import Chunk, Source
from tasks import housekeeping, read
from tasks.answer.question import Question
from tasks.answer.retrieve import retrieve
from tasks.chunk import cut
from tasks.discover import poll
from tasks.errors import Transient
from tasks.index import follow

DEPLOYMENT = "library"  # in prefect.yaml: of what is due
POLLS_AT_ONCE = 16
WAITS_TO_START = {"type": {"any_": ["SCHEDULED", "PENDING"]}}
ENDED = {"type": {"any_": ["COMPLETED", "FAILED", "CANCELLED", "CRASHED"]}}
BULK_DELETE: Any = "/flow_runs/bulk_delete"  # a route that Prefect's own client does not know
PRUNED_AT_ONCE = 50  # as many as it takes in one request
REST_SECONDS = 0.2  # between two requests, for what others want of Prefect
TURN_SECONDS = 0.5  # between two looks whether it is our turn

P = ParamSpec("P")
T = TypeVar("T")
Row = dict[str, Any]


def now() -> datetime:
    return datetime.now(UTC)


def passes(error: object) -> bool:
    """Whether what went wrong may be gone in seconds: the database away, or what says so of itself."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(passes, error.exceptions))
    return isinstance(error, Transient) or (isinstance(error, BaseException) and is_away(error))


async def worth_another_try(task: object, task_run: object, state: State[Any]) -> bool:
    return passes(await state.aresult(raise_on_failure=False))  # a synchronous result would end all retries


RETRIED: dict[str, Any] = {  # after about 1, 2, 4, 8 and 16 seconds
    "retries": 5, "retry_delay_seconds": exponential_backoff(1), "retry_jitter_factor": 0.5,
    "retry_condition_fn": worth_another_try,
}


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


@task(task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def poll_source(source_id: UUID, name: str) -> Row:
    """One look at a source, as a row of the run's table."""
    one, started = library(), monotonic()
    reading = partial(read.read_document, one.db, one.fetcher, one.parser, one.worker,
                      max_attempts=one.settings.max_attempts, renderer=one.renderer)
    result = await poll.poll_source(one.db, one.fetcher, one.parser, source_id, now(), reading)
    return {
        "source": name, "outcome": result.outcome, "reason": result.reason, "seen": result.items_seen,
        "new": result.items_new, "changed": result.items_changed, "seconds": round(monotonic() - started, 1),
    }


@task(task_run_name="read documents", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def read_documents(limit: int, document_ids: Sequence[UUID] | None) -> int:
    """Read a batch of documents that are due, or those named; how many."""
    one = library()
    worker = f"{one.worker}/{task_run.id}"
    if task_run.run_count > 1:
        read.release(one.db, worker)  # what the attempt before this one had taken
    reads = await read.read_documents(
        one.db, one.fetcher, one.parser, worker, limit, now(), document_ids, one.settings.max_attempts,
        one.renderer)
    await show("read", [
        {"address": it.url, "state": it.state, "reason": it.reason, "seconds": round(it.seconds, 1)}
        for it in reads
    ])
    return len(reads)


@task(task_run_name="index versions", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def index_versions(limit: int) -> int:
    """Bring a batch of versions that wait into the index; how many. What a crash left is finished first."""
    one, settings = library(), library().settings
    async with told("index"), turn(one.db, "index"):
        indexed = await in_thread(
            follow.index_versions, one.db, one.embedder, one.index, cut, limit,
            settings.articles_per_hour, settings.articles_per_day, now(), one.worker)
    await show("indexed", [
        {"address": it.url, "chunks": it.chunks, "embedded": it.embedded} for it in indexed])
    return len(indexed)


@task(task_run_name="rebuild the index", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def rebuild_index() -> int:
    """Write every chunk that answers into the index, from PostgreSQL alone; how many."""
    one = library()
    async with told("index"), turn(one.db, "index"):
        done = await in_thread(follow.rebuild, one.db, one.index)
    await show("rebuilt", [done.to_json()])
    return done.written


@asynccontextmanager
async def told(part: str) -> AsyncIterator[None]:
    """Let ``/health`` say why the part's work failed, until it succeeds again."""
    trouble = library().trouble
    try:
        yield
    except Exception as error:
        trouble[part] = (str(error) or type(error).__name__).splitlines()[0]
        raise
    trouble.pop(part, None)


@asynccontextmanager
async def turn(db: Database, name: str) -> AsyncIterator[None]:
    """Wait until no other run, on whatever machine, is in a block of this name."""
    while True:
        with db.lock(name) as mine:
            if mine:
                yield
                return
        await asyncio.sleep(TURN_SECONDS)


async def answer(question: Question) -> Row:
    """The retrieval that HTTP gives too."""
    one = library()
    return retrieve(one.db, one.embedder, one.index, question, now(), one.settings.min_similarity).to_json()


async def hand_over() -> None:
    """Start reading when documents are due, and indexing when there is something to put in or take out."""
    if library().renderer:
        read.wake(library().db, now())
    if read.due(library().db, now()):
        await start("read")
    if index_lags():
        await start("index")


def index_lags() -> bool:
    """Versions wait that the owner's limits let through, chunks that answer no more are still there, or
    the last run failed.
    """
    if "index" in library().trouble:
        return True
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


@task(task_run_name="prune polls", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def prune_polls(days: int | None) -> int:
    """Delete looks at sources that are older than so many days, or than the setting says; how many."""
    one = library()
    before = now() - timedelta(days=days or one.settings.keep_polls_days)
    return await in_thread(housekeeping.prune_polls, one.db, before)


@task(task_run_name="prune runs", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def prune_runs(days: int | None, runs: int | None) -> int:
    """Delete ended runs of our flows that are so many days old, and of each deployment all but the newest.

    Says how many. What belongs to a run goes with it; events, and runs that are not ours, are pruned by
    Prefect's server itself.
    """
    settings = library().settings
    since = now() - timedelta(days=days or settings.keep_runs_days)
    prune_results(get_current_settings().results.local_storage_path, since)
    client, _ = get_or_create_client()
    ours = [it.id for it in await client.read_deployments() if (it.entrypoint or "").startswith("flows.")]
    return sum([await prune_deployment(client, it, since, runs or settings.keep_runs) for it in ours])


async def prune_deployment(client: PrefectClient, deployment: UUID, since: datetime, runs: int) -> int:
    """Delete the ended runs from before ``since``, and all but the newest; in small parts, with rests."""
    ended = {"state": ENDED, "deployment_id": {"any_": [deployment]}}
    beyond = await client.read_flow_runs(
        flow_run_filter=FlowRunFilter.model_validate(ended), offset=runs, limit=1,
        sort=FlowRunSort.EXPECTED_START_TIME_DESC)
    before = max([since, *(run.expected_start_time for run in beyond if run.expected_start_time)])
    old = FlowRunFilter.model_validate(ended | {"expected_start_time": {"before_": before}})
    pruned = 0
    while True:
        answer = await client.request("POST", BULK_DELETE, json={
            "flow_runs": old.model_dump(mode="json", exclude_none=True), "limit": PRUNED_AT_ONCE})
        gone = [UUID(it) for it in answer.json()["deleted"]]
        await prune_artifacts(client, gone)  # Prefect would leave them
        pruned += len(gone)
        if len(gone) < PRUNED_AT_ONCE:
            return pruned
        await asyncio.sleep(REST_SECONDS)


async def prune_artifacts(client: PrefectClient, runs: Sequence[UUID]) -> None:
    of_them = ArtifactFilter.model_validate({"flow_run_id": {"any_": list(runs)}})
    while runs and (found := await client.read_artifacts(artifact_filter=of_them)):
        for artifact in found:
            await client.delete_artifact(artifact.id)


def prune_results(folder: Path, since: datetime) -> None:
    """Delete results of runs that were kept as files."""
    for file in folder.glob("*") if folder.is_dir() else ():
        if file.is_file() and file.stat().st_mtime < since.timestamp():
            file.unlink(missing_ok=True)


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
