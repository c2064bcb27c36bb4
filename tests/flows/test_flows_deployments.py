"""The deployments that Almanac ships, and how they are registered at every start."""

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.responses import DeploymentResponse
from workbench import PrefectServer, spec

from almanac.deployments import ASKED, LIBRARY, POOL, Spec, load_flow, read_specs, register

ROOT = Path(__file__).parents[2]
SHIPPED = read_specs()


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda it: f"{it['entrypoint']}/{it['name']}")
def test_a_shipped_deployment_names_a_flow_and_parameters_that_it_takes(shipped: Spec) -> None:
    flow = load_flow(shipped["entrypoint"])
    inspect.signature(flow.fn).bind_partial(**shipped.get("parameters", {}))
    assert flow.isasync
    assert shipped["entrypoint"] == f"flows.{flow.name}:{flow.name}"


def test_every_flow_has_the_deployments_that_its_callers_look_for() -> None:
    from tasks import steps

    named = {(it["entrypoint"].partition(":")[2], it["name"]) for it in SHIPPED}
    assert named == {("poll", LIBRARY), ("read", LIBRARY), ("index", LIBRARY), ("retrieve", LIBRARY),
                     ("poll", ASKED), ("read", ASKED)}
    assert steps.DEPLOYMENT == LIBRARY
    assert all(it["work_pool"] == {"name": POOL} for it in SHIPPED)


def test_only_the_tick_has_a_schedule_and_what_is_due_is_done_by_one_run_at_a_time() -> None:
    assert [it["entrypoint"] for it in SHIPPED if "schedules" in it] == ["flows.poll:poll"]
    limited = {it["entrypoint"]: it["concurrency_limit"] for it in SHIPPED if "concurrency_limit" in it}
    assert limited.keys() == {"flows.poll:poll", "flows.read:read", "flows.index:index"}
    assert all(limit == {"limit": 1, "collision_strategy": "CANCEL_NEW"} for limit in limited.values())


@pytest.fixture
async def client(prefect_server: PrefectServer) -> AsyncIterator[PrefectClient]:
    """Leaves no deployment behind: what is scheduled here is not for the workers of other tests."""
    async with get_client() as opened:
        yield opened
        for deployment in await opened.read_deployments():
            await opened.delete_deployment(deployment.id)


TICKING = spec("slow", limit=1, schedules=[{"interval": 3600, "slug": "hourly"}], tags=["a"])


async def deployed(client: PrefectClient) -> DeploymentResponse:
    return await client.read_deployment_by_name("slow/library")


@pytest.mark.stack
@pytest.mark.database
async def test_registering_again_keeps_what_the_owner_changed(client: PrefectClient) -> None:
    await register(client, [TICKING])
    first = await deployed(client)
    await client.update_deployment(first.id, DeploymentUpdate(
        description="mine", parameters={"seconds": 5}, tags=["b"], paused=True))
    assert await register(client, [TICKING]) == 0
    kept = await deployed(client)
    assert (kept.description, kept.parameters) == ("mine", {"seconds": 5})
    assert (kept.tags, kept.paused) == (["b"], True)


@pytest.mark.stack
@pytest.mark.database
async def test_a_spec_that_changed_is_written_and_what_was_paused_stays_paused(client: PrefectClient) -> None:
    await register(client, [TICKING])
    first = await deployed(client)
    await client.update_deployment(first.id, DeploymentUpdate(paused=True))
    await client.update_deployment_schedule(first.id, first.schedules[0].id, active=False)
    assert await register(client, [TICKING | {"tags": ["new"]}]) == 1
    changed = await deployed(client)
    assert (changed.id, changed.tags, changed.paused) == (first.id, ["new"], True)
    assert [(it.slug, it.active) for it in changed.schedules] == [("hourly", False)]


@pytest.mark.stack
@pytest.mark.database
async def test_prefect_deploy_takes_the_same_file(client: PrefectClient) -> None:
    await register(client, SHIPPED)
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    poll = await client.read_deployment_by_name("poll/library")
    assert poll.entrypoint == "flows.poll:poll"
    assert poll.global_concurrency_limit is not None
    assert poll.global_concurrency_limit.limit == 1
    assert [it.slug for it in poll.schedules] == ["every-minute"]
