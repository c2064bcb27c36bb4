"""House-keeping: old looks at sources, bytes of nothing, and old runs with all that belongs to them."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter
from prefect.client.schemas.sorting import FlowRunSort
from prefect.client.utilities import get_or_create_client
from prefect.settings import get_current_settings

from almanac import wiring
from tasks import housekeeping
from tasks.answer import interests
from tasks.keep.sweep import sweep
from tasks.steps.retries import RETRIED
from tasks.steps.running import in_thread, now

ENDED = {"type": {"any_": ["COMPLETED", "FAILED", "CANCELLED", "CRASHED"]}}
BULK_DELETE: Any = "/flow_runs/bulk_delete"  # a route that Prefect's own client does not know
PRUNED_AT_ONCE = 50  # as many as it takes in one request
REST_SECONDS = 0.2  # between two requests, for what others want of Prefect


@task(task_run_name="prune polls", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def prune_polls(days: int | None) -> int:
    """Delete looks at sources that are older than so many days, or than the setting says; how many.

    Interests that have faded away go, too.
    """
    one = wiring.library()
    await in_thread(interests.erase_faded, one.db, now())
    before = now() - timedelta(days=days or one.settings.keep_polls_days)
    return await in_thread(housekeeping.prune_polls, one.db, before)


@task(task_run_name="sweep originals", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def sweep_originals() -> int:
    """Delete stored bytes that lead to no document any more; how much that was."""
    one = wiring.library()
    return await sweep(one.db, one.doors.store, now())


@task(task_run_name="prune runs", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def prune_runs(days: int | None, runs: int | None) -> int:
    """Delete ended runs of our flows that are so many days old, and of each deployment all but the newest.

    Says how many. What belongs to a run goes with it; events, and runs that are not ours, are pruned by
    Prefect's server itself.
    """
    settings = wiring.library().settings
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
