"""The deployments that Almanac ships, and how they are registered at every start."""

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectAlreadyExists
from workbench import PrefectServer, spec

from almanac import deployments
from almanac.deployments import (
    ASKED,
    LIBRARY,
    POOL,
    Spec,
    choices,
    load_flow,
    read_specs,
    register,
    wanted,
)

ROOT = Path(__file__).parents[2]
SHIPPED = read_specs()


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda it: f"{it['entrypoint']}/{it['name']}")
def test_a_shipped_deployment_names_a_flow_and_parameters_that_it_takes(shipped: Spec) -> None:
    flow = load_flow(shipped["entrypoint"])
    inspect.signature(flow.fn).bind_partial(**shipped.get("parameters", {}))
    assert flow.isasync
    assert shipped["entrypoint"] == f"flows.{flow.name}:{flow.name}"


def test_every_flow_has_the_deployments_that_its_callers_look_for() -> None:
    from tasks.steps import handover

    named = {(it["entrypoint"].partition(":")[2], it["name"]) for it in SHIPPED}
    assert named == {("poll", LIBRARY), ("read", LIBRARY), ("index", LIBRARY), ("retrieve", LIBRARY),
                     ("rebuild", LIBRARY), ("maintain", LIBRARY), ("poll", ASKED), ("read", ASKED),
                     ("reanalyse", LIBRARY), ("reanalyse", ASKED), ("keep", LIBRARY)}
    assert handover.DEPLOYMENT == LIBRARY
    assert all(it["work_pool"] == {"name": POOL} for it in SHIPPED)


def test_two_have_a_schedule_and_what_is_due_is_done_by_one_run_at_a_time() -> None:
    assert {it["entrypoint"]: it["schedules"] for it in SHIPPED if "schedules" in it} == {
        "flows.poll:poll": [{"interval": 60, "slug": "every-minute"}],
        "flows.maintain:maintain": [{"interval": 3600, "slug": "hourly"}]}
    limited = {it["entrypoint"]: it["concurrency_limit"] for it in SHIPPED if "concurrency_limit" in it}
    assert limited.keys() == {"flows.poll:poll", "flows.read:read", "flows.index:index",
                              "flows.rebuild:rebuild", "flows.maintain:maintain", "flows.reanalyse:reanalyse",
                              "flows.keep:keep"}
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


OURS = TICKING | {"description": "old", "parameters": {"seconds": 60}}
NEWER = OURS | {
    "description": "new", "parameters": {"seconds": 61}, "tags": ["new"],
    "concurrency_limit": {"limit": 2, "collision_strategy": "CANCEL_NEW"},
    "schedules": [{"interval": 60, "slug": "hourly"}],
}
NEWEST = NEWER | {"tags": ["newest"]}


@pytest.mark.stack
@pytest.mark.database
@pytest.mark.parametrize(("part", "change"), [
    ("description", DeploymentUpdate(description="mine")),
    ("parameters", DeploymentUpdate(parameters={"seconds": 5})),
    ("parameters", DeploymentUpdate(parameters={})),
    ("tags", DeploymentUpdate(tags=["mine"])),
    ("paused", DeploymentUpdate(paused=True)),
    ("limit", DeploymentUpdate(concurrency_limit=7)),
    ("limit", DeploymentUpdate(concurrency_limit=None)),
    ("options", DeploymentUpdate(
        concurrency_options=ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE))),
    ("work_pool", DeploymentUpdate(work_pool_name="other machines")),
    ("work_pool", DeploymentUpdate(work_pool_name="library", work_queue_name="urgent")),
    ("job_variables", DeploymentUpdate(job_variables={"env": {"A": "b"}})),
], ids=str)
async def test_what_the_owner_changed_stays_and_the_rest_follows_our_file(
    client: PrefectClient, part: str, change: DeploymentUpdate
) -> None:
    with suppress(ObjectAlreadyExists):
        await client.create_work_pool(WorkPoolCreate(name="other machines", type="process"))
    await register(client, [OURS])
    shipped = await deployed(client)
    await client.update_deployment(shipped.id, change)
    theirs = choices(await deployed(client))[part]
    assert theirs != choices(shipped)[part]
    for file, written in ((OURS, 0), (NEWER, 1), (NEWER, 0), (NEWEST, 1)):
        assert await register(client, [file]) == written
        now = choices(await deployed(client))
        assert now[part] == theirs
    follow = {"description", "parameters", "tags", "limit"} - {part}
    assert {it: now[it] for it in follow} == {it: wanted(NEWEST)[it] for it in follow}
    assert now["schedules"]["hourly"]["when"]["interval"] == 60


@pytest.mark.stack
@pytest.mark.database
@pytest.mark.parametrize(("change", "left"), [
    ({"slug": "hourly", "active": False}, {"hourly": {"active": False, "interval": 60}}),
    ({"slug": "hourly", "schedule": {"interval": 7200}}, {"hourly": {"active": True, "interval": 7200}}),
    ({"slug": "mine", "schedule": {"interval": 9}},
     {"hourly": {"active": True, "interval": 60}, "mine": {"active": True, "interval": 9}}),
], ids=["switched off", "at other times", "one more"])
async def test_a_schedule_that_the_owner_changed_or_added_stays(
    client: PrefectClient, change: dict[str, object], left: dict[str, object]
) -> None:
    await register(client, [OURS])
    update = DeploymentUpdate.model_validate({"schedules": [change]})
    await client.update_deployment((await deployed(client)).id, update)
    for file in (NEWER, NEWEST):
        assert await register(client, [file]) == 1
    now = choices(await deployed(client))["schedules"]
    assert {slug: {"active": it["active"], "interval": it["when"]["interval"]}
            for slug, it in now.items()} == left


@pytest.mark.stack
@pytest.mark.database
async def test_what_the_owner_puts_back_follows_our_file_again(client: PrefectClient) -> None:
    await register(client, [OURS])
    first = await deployed(client)
    await client.update_deployment(first.id, DeploymentUpdate(description="mine"))
    await register(client, [OURS | {"tags": ["b"]}])
    await client.update_deployment(first.id, DeploymentUpdate(description="old"))
    await register(client, [NEWER])
    assert (await deployed(client)).description == "new"


@pytest.mark.stack
@pytest.mark.database
@pytest.mark.parametrize("survived", [0, 1])
async def test_a_start_that_was_killed_in_between_forgets_nothing(
    client: PrefectClient, monkeypatch: pytest.MonkeyPatch, survived: int
) -> None:
    await register(client, [OURS])
    await client.update_deployment((await deployed(client)).id, DeploymentUpdate(description="mine"))
    really, records = deployments.record, iter(range(survived + 1))

    async def record(*words: Any) -> None:
        if next(records) == survived:
            raise ConnectionError("killed")
        await really(*words)

    with monkeypatch.context() as patch:
        patch.setattr(deployments, "record", record)
        with pytest.raises(ConnectionError):
            await register(client, [NEWER])
    for file in (NEWER, NEWEST):
        assert await register(client, [file]) == 1
    now = await deployed(client)
    assert (now.description, now.tags, now.parameters) == ("mine", ["newest"], {"seconds": 61})


@pytest.mark.stack
@pytest.mark.database
async def test_a_schedule_that_the_owner_deleted_stays_deleted(client: PrefectClient) -> None:
    await register(client, [OURS])
    first = await deployed(client)
    await client.delete_deployment_schedule(first.id, first.schedules[0].id)
    assert await register(client, [NEWER]) == 1
    assert (await deployed(client)).schedules == []


@pytest.mark.stack
@pytest.mark.database
async def test_without_a_record_our_file_is_written_and_what_was_paused_stays_paused(
    client: PrefectClient,
) -> None:
    await register(client, [OURS])
    first = await deployed(client)
    await client.delete_variable_by_name("almanac_slow_library")
    await client.update_deployment(first.id, DeploymentUpdate(description="mine", paused=True))
    await client.update_deployment_schedule(first.id, first.schedules[0].id, active=False)
    for file in (NEWER, NEWEST):
        assert await register(client, [file]) == 1
    changed = await deployed(client)
    assert (changed.id, changed.description, changed.paused) == (first.id, "new", True)
    assert changed.tags == ["newest"]
    assert [(it.slug, it.active) for it in changed.schedules] == [("hourly", False)]


@pytest.mark.stack
@pytest.mark.database
async def test_a_deployment_whose_pool_was_deleted_gets_its_pool_again(client: PrefectClient) -> None:
    await client.create_work_pool(WorkPoolCreate(name="short-lived", type="process"))
    await register(client, [OURS])
    await client.update_deployment(
        (await deployed(client)).id, DeploymentUpdate(work_pool_name="short-lived"))
    await client.delete_work_pool("short-lived")
    assert await register(client, [OURS]) == 1
    assert (await deployed(client)).work_pool_name == POOL


@pytest.mark.stack
@pytest.mark.database
async def test_prefect_deploy_takes_the_same_file(client: PrefectClient) -> None:
    await register(client, SHIPPED)
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    poll = await client.read_deployment_by_name("poll/library")
    assert (poll.entrypoint, poll.pull_steps) == ("flows.poll:poll", [])  # as a worker elsewhere needs it
    assert poll.global_concurrency_limit is not None
    assert poll.global_concurrency_limit.limit == 1
    assert [it.slug for it in poll.schedules] == ["every-minute"]
    assert await register(client, SHIPPED) == len(SHIPPED)
    assert await register(client, SHIPPED) == 0
    assert choices(await client.read_deployment_by_name("poll/library")) | {"schedules": {}} == choices(
        poll) | {"schedules": {}}
