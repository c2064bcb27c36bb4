"""A click of the owner in Prefect's UI does to the warm worker what it does to a stock one."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolUpdate
from prefect.states import Cancelling, Scheduled, Suspended
from workbench import Worker, spec, until

from almanac.worker import silence

pytestmark = [pytest.mark.stack, pytest.mark.database]

WorkerOn = Callable[..., Worker]


@pytest.fixture
async def client(prefect_server: Any) -> AsyncIterator[PrefectClient]:
    async with get_client() as client:
        yield client
        if await client.read_work_pools():
            await client.update_work_pool("library", WorkPoolUpdate(is_paused=False, concurrency_limit=100))


async def run_now(client: PrefectClient, flow: str, **parameters: Any) -> UUID:
    """A run as the button in the UI makes it."""
    found = await client.read_deployment_by_name(f"{flow}/library")
    return (await client.create_flow_run_from_deployment(found.id, parameters=parameters)).id


async def ready(worker: Worker, flow: str = "quick") -> None:
    assert await worker.end_of(await worker.start(flow)) == "completed"


async def test_a_pool_that_is_paused_starts_nothing_until_it_goes_on(
    worker_on: WorkerOn, client: PrefectClient
) -> None:
    worker = worker_on(spec("quick"))
    await ready(worker)
    await client.update_work_pool("library", WorkPoolUpdate(is_paused=True))
    run = await run_now(client, "quick")
    assert await worker.end_of(run, seconds=5) == "scheduled"
    await client.update_work_pool("library", WorkPoolUpdate(is_paused=False))
    assert await worker.end_of(run, seconds=25) == "completed"


async def test_a_pool_executes_no_more_runs_at_once_than_its_limit(
    worker_on: WorkerOn, client: PrefectClient
) -> None:
    worker = worker_on(spec("quick"), spec("slow"))
    await ready(worker)
    await client.update_work_pool("library", WorkPoolUpdate(concurrency_limit=1))
    first = await run_now(client, "slow")
    assert await worker.reaches(first, {"running"}) == "running"
    second = await run_now(client, "quick")
    assert await worker.end_of(second, seconds=5) == "scheduled"
    await client.set_flow_run_state(first, Cancelling())
    assert await worker.end_of(second, seconds=25) == "completed"


async def test_a_run_takes_the_parameters_that_its_owner_gives(
    worker_on: WorkerOn, client: PrefectClient
) -> None:
    worker = worker_on(spec("quick"), spec("stepwise"))
    await ready(worker)
    run = await run_now(client, "stepwise", steps=1, seconds=0.01)
    assert await worker.end_of(run) == "completed"
    assert (await client.read_flow_run(run)).parameters == {"steps": 1, "seconds": 0.01}


async def test_a_finished_run_is_run_again(worker_on: WorkerOn, client: PrefectClient) -> None:
    worker = worker_on(spec("quick"))
    run = await worker.start("quick")
    assert await worker.end_of(run) == "completed"
    await client.set_flow_run_state(run, Scheduled(name="AwaitingRetry"), force=True)  # the button "Retry"
    assert await until(lambda: ran_twice(client, run), seconds=10)
    assert await worker.end_of(run) == "completed"


async def ran_twice(client: PrefectClient, run: UUID) -> bool:
    return (await client.read_flow_run(run)).run_count == 2


async def test_a_run_that_is_suspended_rests_at_its_next_task_and_goes_on_when_resumed(
    worker_on: WorkerOn, client: PrefectClient
) -> None:
    worker = worker_on(spec("quick"), spec("stepwise"))
    await ready(worker)
    run = await run_now(client, "stepwise", steps=8)
    assert await worker.reaches(run, {"running"}) == "running"
    await client.set_flow_run_state(run, Suspended(timeout_seconds=300))
    assert await worker.reaches(run, {"paused"}) == "paused"
    assert await worker.end_of(run, seconds=6) == "paused"
    await client.resume_flow_run(run)
    assert await worker.end_of(run, seconds=25) == "completed"


async def test_a_run_gives_signs_of_life(worker_on: WorkerOn, client: PrefectClient) -> None:
    worker = worker_on(spec("quick"), spec("slow"))
    await ready(worker)
    run = await run_now(client, "slow", seconds=2)
    assert await worker.end_of(run) == "completed"
    done = await client.read_flow_run(run)

    async def heard() -> bool:
        return await silence.alive(client, done, datetime.now(UTC))

    assert await until(heard)
