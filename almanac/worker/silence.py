"""Runs of other machines whose process has died without a word, so that their slots do not stay taken."""

from datetime import datetime, timedelta
from typing import Any, cast

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.events.filters import EventFilter, EventNameFilter, EventOccurredFilter, EventResourceFilter

PATIENCE = timedelta(seconds=240)  # a run gives a sign of life every 180 s, unless told otherwise
BEGUN = FlowRunFilter.model_validate({"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}})


async def silent_runs(client: PrefectClient, own_pool: str, now: datetime) -> list[FlowRun]:
    """Runs of other pools that have begun and of which nothing was heard for ``PATIENCE``.

    Where a run does not start on its worker's own machine it may be pending for long, for an image or for a
    place in a cluster: there only what has run can be silent.
    """
    old = [run for run in await client.read_flow_runs(flow_run_filter=BEGUN)
           if run.work_pool_name not in (None, own_pool)
           and now - cast(State[Any], run.state).timestamp > PATIENCE]
    near = {pool.name for pool in await client.read_work_pools() if pool.type == "process"} if old else set()
    return [run for run in old
            if (run.work_pool_name in near or run.start_time) and not await alive(client, run, now)]


async def alive(client: PrefectClient, run: FlowRun, now: datetime) -> bool:
    """Whether there was a heartbeat of the run lately."""
    lately = EventFilter(
        event=EventNameFilter(name=["prefect.flow-run.heartbeat"]),
        resource=EventResourceFilter(id=[f"prefect.flow-run.{run.id}"]),
        occurred=EventOccurredFilter(since=now - PATIENCE, until=now))
    return bool((await client.read_events(lately, limit=1)).events)
