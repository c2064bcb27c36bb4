"""What the in-process worker does with any flow: executes, cancels, reports, and puts right what was lost."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import FlowFilter, FlowRunFilter
from prefect.client.schemas.objects import FlowRun
from prefect.events import emit_event
from prefect.states import Cancelling, Pending, Running, Scheduled
from workbench import PrefectServer, Worker, spec, until

from almanac.deployments import register
from almanac.worker import silence
from almanac.worker.pool import POLL_SECONDS

pytestmark = [pytest.mark.stack, pytest.mark.database]

WorkerOn = Callable[..., Worker]
ALONE = """
import sys, time
from workbench import Worker, spec
worker = Worker([spec("slow", limit=1)])
sys.stdin.read()
worker.thread.stop()
"""


@pytest.fixture
def worker_process(prefect_server: PrefectServer) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker in a process of its own, that stops in order when its stdin is closed."""
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (here, here.parent)))}
    process = subprocess.Popen([sys.executable, "-c", ALONE], env=environment, stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


async def ask_to_cancel(run: UUID) -> None:
    """What the button in the UI does."""
    async with get_client() as client:
        await client.set_flow_run_state(run, Cancelling())


async def read(run: UUID) -> FlowRun:
    async with get_client() as client:
        return await client.read_flow_run(run)


async def start_from_outside(deployment: str) -> UUID:
    """A run made through Prefect, by somebody who cannot wake the worker."""
    async with get_client() as client:
        found = await client.read_deployment_by_name(deployment)
        return (await client.create_flow_run_from_deployment(found.id)).id


async def test_a_run_is_executed_here_within_a_second_or_two(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("where"))
    run = await worker.start("where")
    assert await worker.end_of(run) == "completed"
    done = await read(run)
    assert done.start_time is not None
    assert done.created is not None
    assert (done.start_time - done.created).total_seconds() < 2
    assert os.environ.pop("SAMPLE_FLOW_RAN_IN") == str(os.getpid())


async def test_a_run_that_raises_has_failed_and_says_why(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("broken"))
    run = await worker.start("broken")
    assert await worker.end_of(run) == "failed"
    assert "it is broken" in (await worker.runs.message(run) or "")


async def test_a_run_whose_flow_cannot_be_loaded_has_crashed_and_says_why(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("quick"))
    run = await worker.start("quick")
    assert await worker.end_of(run) == "completed"
    async with get_client() as client:
        deployment = await client.read_deployment_by_name("quick/library")
        await client.create_deployment(
            deployment.flow_id, "elsewhere", entrypoint="no_such_module:flow", work_pool_name="library")
    run = await start_from_outside("quick/elsewhere")
    assert await worker.end_of(run) == "crashed"
    state = (await read(run)).state
    assert state is not None
    assert "no_such_module" in str(state.message)


async def test_a_run_that_its_owner_cancels_is_cancelled_within_seconds(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("slow"))
    run = await worker.start("slow")
    assert await worker.reaches(run, {"running"}) == "running"
    await ask_to_cancel(run)
    assert await worker.end_of(run, seconds=8) == "cancelled"


async def test_a_run_can_be_cancelled_at_every_moment_of_its_start(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("slow"))
    runs = []
    for moment in range(8):
        runs.append(await worker.start("slow"))
        await asyncio.sleep(0.06 * moment)
        await ask_to_cancel(runs[-1])
    assert [await worker.end_of(run, seconds=10) for run in runs] == ["cancelled"] * len(runs)


async def test_a_run_made_by_hand_waits_for_the_room_that_its_deployment_has(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("slow", limit=1))
    first, second = await worker.start("slow"), await worker.start("slow", seconds=0)
    assert await worker.reaches(first, {"running"}) == "running"
    assert await worker.end_of(second, seconds=6) == "scheduled"
    await ask_to_cancel(first)
    assert await worker.end_of(second, seconds=15) == "completed"


async def test_ticks_of_a_schedule_do_not_pile_up_behind_a_long_run(worker_on: WorkerOn) -> None:
    worker_on(spec("ticking", limit=1, schedules=[{"interval": 1, "slug": "every-second"}]))
    try:
        assert await until(one_runs_and_two_are_cancelled, seconds=60), await ticks()
    finally:
        async with get_client() as client:
            await client.delete_deployment((await client.read_deployment_by_name("ticking/library")).id)


async def test_ticks_that_nobody_ran_meanwhile_become_one(
    prefect_server: PrefectServer, worker_on: WorkerOn
) -> None:
    """As after a night's sleep, or a clock that jumps ahead."""
    ticking = spec("ticking", limit=1, schedules=[{"interval": 1, "slug": "every-second"}])
    async with get_client() as client:
        await register(client, [ticking])
        try:
            assert await until(twenty_ticks_are_overdue, seconds=60)
            worker_on(ticking)
            assert await until(one_runs_and_twenty_are_cancelled, seconds=30), await ticks()
        finally:
            await client.delete_deployment((await client.read_deployment_by_name("ticking/library")).id)


async def twenty_ticks_are_overdue() -> bool:
    planned = {"before_": datetime.now(UTC)}
    overdue = {"state": {"type": {"any_": ["SCHEDULED"]}}, "next_scheduled_start_time": planned}
    async with get_client() as client:
        return await client.count_flow_runs(
            flow_filter=FlowFilter.model_validate({"name": {"any_": ["ticking"]}}),
            flow_run_filter=FlowRunFilter.model_validate(overdue)) >= 20


async def one_runs_and_twenty_are_cancelled() -> bool:
    states = await ticks()
    return states.count("Running") == 1 and states.count("Cancelled") >= 20 and len(set(states)) == 2


async def ticks() -> list[str]:
    async with get_client() as client:
        runs = await client.read_flow_runs(
            flow_filter=FlowFilter.model_validate({"name": {"any_": ["ticking"]}}),
            flow_run_filter=FlowRunFilter.model_validate({"state": {"type": {"not_any_": ["SCHEDULED"]}}}))
    return sorted(str(run.state_name) for run in runs)


async def one_runs_and_two_are_cancelled() -> bool:
    states = await ticks()
    return states.count("Cancelled") >= 2 and states.count("Running") == 1 and "Pending" not in states


async def test_a_run_whose_deployment_is_deleted_does_not_run_for_ever(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("slow", limit=1))
    run = await worker.start("slow", seconds=2)
    assert await worker.reaches(run, {"running"}) == "running"
    async with get_client() as client:
        await client.delete_deployment((await client.read_deployment_by_name("slow/library")).id)
    assert await worker.end_of(run, seconds=12) in {None, "completed"}


async def test_a_flow_that_blocks_holds_up_neither_this_loop_nor_other_runs(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("blocking"), spec("quick"))
    blocking = await worker.start("blocking", seconds=4)
    assert await worker.reaches(blocking, {"running"}) == "running"
    quick, longest, began = await worker.start("quick"), 0.0, time.monotonic()
    while await worker.runs.state(quick) != "completed":
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - before)
        assert before - began < 3, "the quick run waited for the blocking one"
    assert longest < 0.5
    assert await worker.runs.state(blocking) == "running"


async def test_a_process_that_stops_reports_its_runs_as_crashed(
    worker_on: WorkerOn, worker_process: "subprocess.Popen[bytes]"
) -> None:
    run = await under_way()
    worker_process.communicate(timeout=20)
    state = (await read(run)).state
    assert state is not None
    assert state.is_crashed()


async def test_what_a_killed_process_leaves_is_crashed_at_the_next_start_and_its_room_free(
    worker_on: WorkerOn, worker_process: "subprocess.Popen[bytes]"
) -> None:
    lost = await under_way()
    worker_process.send_signal(signal.SIGKILL)
    worker_process.wait()
    worker = worker_on(spec("slow", limit=1))
    next_one = await worker.start("slow", seconds=0)
    assert await worker.end_of(lost) == "crashed"
    assert await worker.end_of(next_one) == "completed"


async def test_the_worker_goes_on_when_the_server_is_back(
    worker_on: WorkerOn, prefect_server: PrefectServer
) -> None:
    worker = worker_on(spec("slow", limit=1))
    run = await worker.start("slow", seconds=4)
    assert await worker.reaches(run, {"running"}) == "running"
    prefect_server.kill()
    await asyncio.sleep(2)
    prefect_server.start()
    assert await worker.end_of(run, seconds=60) in {"completed", "crashed"}
    next_one = await start_from_outside("slow/library")
    assert await worker.reaches(next_one, {"running"}, seconds=60) == "running"


async def under_way() -> UUID:
    """A run of ``slow`` that the worker process has begun."""
    run: Any = None

    async def begun() -> bool:
        nonlocal run
        async with get_client() as client:
            if run is None:
                found = await client.read_deployments()
                ready = [it for it in found if it.entrypoint == "sample_flows:slow" and it.status == "READY"]
                run = (await client.create_flow_run_from_deployment(ready[0].id)).id if ready else None
            return run is not None and (await client.read_flow_run(run)).state_name == "Running"

    assert await until(begun, seconds=60)
    return UUID(str(run))


async def test_a_run_that_somebody_else_makes_starts_at_once(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("quick"))
    await worker.end_of(await worker.start("quick"))
    await asyncio.sleep(2)  # nothing is to do, so that only the event can tell
    delays = []
    for _ in range(3):
        run = await start_from_outside("quick/library")
        assert await worker.end_of(run) == "completed"
        done = await read(run)
        assert done.start_time is not None
        assert done.created is not None
        delays.append((done.start_time - done.created).total_seconds())
    assert max(delays) < POLL_SECONDS / 3, delays


async def test_a_run_that_is_planned_starts_on_time(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("quick"))
    await worker.end_of(await worker.start("quick"))
    planned = datetime.now(UTC) + timedelta(seconds=5)
    async with get_client() as client:
        found = await client.read_deployment_by_name("quick/library")
        run = await client.create_flow_run_from_deployment(found.id, state=Scheduled(scheduled_time=planned))
    assert await worker.end_of(run.id, seconds=25) == "completed"
    started = (await read(run.id)).start_time
    assert started is not None
    assert 0 <= (started - planned).total_seconds() < 3


async def test_a_run_of_another_pool_whose_process_is_silent_is_crashed_and_its_slot_free(
    worker_on: WorkerOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = worker_on(spec("quick"))
    await worker.end_of(await worker.start("quick"))
    async with get_client() as client:
        await client.create_work_pool(WorkPoolCreate(name="elsewhere", type="process"))
        ours = await client.read_deployment_by_name("quick/library")
        deployment = await client.create_deployment(
            ours.flow_id, "elsewhere", entrypoint=ours.entrypoint, work_pool_name="elsewhere",
            concurrency_limit=1)
        run = await client.create_flow_run_from_deployment(deployment)
        await client.set_flow_run_state(run.id, Pending())  # a worker took it, and then was killed
        now = datetime.now(UTC)
        assert await silence.silent_runs(client, "library", now) == []
        assert await silence.silent_runs(client, "elsewhere", now + 2 * silence.PATIENCE) == []
        monkeypatch.setattr(silence, "PATIENCE", timedelta())
        assert await worker.reaches(run.id, {"crashed"}, seconds=40) == "crashed"
        limits = await client.read_global_concurrency_limits()
        assert [limit.active_slots for limit in limits if str(deployment) in limit.name] == [0]


async def test_a_run_of_another_pool_that_gives_signs_of_life_goes_on(worker_on: WorkerOn) -> None:
    worker = worker_on(spec("quick"))
    run_id = await worker.start("quick")
    await worker.end_of(run_id)
    emit_event("prefect.flow-run.heartbeat", resource={"prefect.resource.id": f"prefect.flow-run.{run_id}"})
    async with get_client() as client:
        run = await client.read_flow_run(run_id)

        async def heard() -> bool:
            return await silence.alive(client, run, datetime.now(UTC))

        assert await until(heard)
        assert not await silence.alive(client, run, datetime.now(UTC) + 2 * silence.PATIENCE)


async def test_a_run_that_waits_for_its_place_in_a_cluster_is_not_silent_until_it_has_run(
    worker_on: WorkerOn
) -> None:
    worker = worker_on(spec("quick"))
    await worker.end_of(await worker.start("quick"))
    later = datetime.now(UTC) + 2 * silence.PATIENCE
    async with get_client() as client:
        await client.create_work_pool(WorkPoolCreate(name="cluster", type="kubernetes"))
        ours = await client.read_deployment_by_name("quick/library")
        deployment = await client.create_deployment(
            ours.flow_id, "cluster", entrypoint=ours.entrypoint, work_pool_name="cluster")
        run = await client.create_flow_run_from_deployment(deployment)
        await client.set_flow_run_state(run.id, Pending())
        assert await silence.silent_runs(client, "library", later) == []
        await client.set_flow_run_state(run.id, Running())
        assert [it.id for it in await silence.silent_runs(client, "library", later)] == [run.id]
        await client.delete_deployment(deployment)
        await client.delete_flow_run(run.id)
