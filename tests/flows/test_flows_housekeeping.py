"""A year of minute ticks stays small: what is old goes with all that belongs to it, and nothing else does."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate, LogCreate
from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter, LogFilter
from prefect.states import Completed, Running, Scheduled, State
from small_library import SmallLibrary
from workbench import PrefectServer, spec, until

from almanac import wiring
from almanac.deployments import read_specs, register
from almanac.stack.parts import prefect_server_environment
from flows.maintain import maintain
from models.session import Database
from tasks.steps import pruning

pytestmark = [pytest.mark.stack, pytest.mark.database]

UNTIMED = [{k: v for k, v in it.items() if k != "schedules"} for it in read_specs()]


@pytest.fixture
async def client(prefect_server: PrefectServer) -> AsyncIterator[PrefectClient]:
    async with get_client() as opened:
        await register(opened, [*UNTIMED, spec("quick")])
        yield opened
        for deployment in await opened.read_deployments():
            await opened.delete_deployment(deployment.id)


@pytest.fixture(autouse=True)
def library(db: Database, home: Path, monkeypatch: pytest.MonkeyPatch) -> SmallLibrary:
    small = SmallLibrary(db, home, {})
    small.settings = small.settings.model_copy(update={"keep_runs_days": 30, "keep_runs": 3})
    monkeypatch.setattr(wiring, "library", lambda: small)
    return small


async def run_of(
    client: PrefectClient, deployment: str, days: float, state: State[None] | None = None
) -> UUID:
    """A run that began so many days ago, with a log line and a table."""
    known = await client.read_deployment_by_name(deployment)
    began = datetime.now(UTC) - timedelta(days=days)
    run = await client.create_flow_run_from_deployment(known.id, state=Scheduled(scheduled_time=began))
    await client.set_flow_run_state(run.id, state or Completed(), force=True)
    await client.create_artifact(ArtifactCreate(key="polled", data="[]", type="table", flow_run_id=run.id))
    await client.create_logs(
        [LogCreate(name="a", level=40, message="line", timestamp=began, flow_run_id=run.id)])
    return run.id


async def left(client: PrefectClient, runs: list[UUID]) -> set[UUID]:
    found = await client.read_flow_runs(
        flow_run_filter=FlowRunFilter.model_validate({"id": {"any_": [str(run) for run in runs]}}))
    return {run.id for run in found}


async def belongings(client: PrefectClient, run: UUID) -> tuple[int, int]:
    """How many log lines and tables the run has."""
    of_it = {"flow_run_id": {"any_": [str(run)]}}
    return (len(await client.read_logs(LogFilter.model_validate(of_it))),
            len(await client.read_artifacts(artifact_filter=ArtifactFilter.model_validate(of_it))))


async def test_old_runs_go_with_their_logs_and_tables(client: PrefectClient) -> None:
    old, young = await run_of(client, "read/library", 31), await run_of(client, "read/library", 29)
    assert await belongings(client, old) == (1, 1)
    await maintain()
    assert await left(client, [old, young]) == {young}

    async def all_gone() -> bool:
        return await belongings(client, old) == (0, 0)

    assert await until(all_gone)
    assert await belongings(client, young) == (1, 1)


async def test_of_each_deployment_only_the_newest_are_kept(
    client: PrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "PRUNED_AT_ONCE", 2)  # more than one request
    ticks = [await run_of(client, "poll/library", days) for days in range(8)]
    other = await run_of(client, "index/library", 20)
    await maintain()
    assert await left(client, [*ticks, other]) == {*ticks[:3], other}
    await maintain(runs=1)
    assert await left(client, [*ticks, other]) == {ticks[0], other}


async def test_what_has_not_ended_and_what_is_not_ours_stays(client: PrefectClient) -> None:
    running = await run_of(client, "poll/library", 90, Running())
    foreign = await run_of(client, "quick/library", 90)
    await maintain()
    assert await left(client, [running, foreign]) == {running, foreign}
    await client.set_flow_run_state(running, Completed(), force=True)


async def test_results_that_were_kept_as_files_go_with_their_time(prefect_server: PrefectServer) -> None:
    folder = Path(prefect_server.client_environment["PREFECT_HOME"]) / "storage"
    folder.mkdir(exist_ok=True)
    old, young = folder / "old", folder / "young"
    for file, days in ((old, 31), (young, 29)):
        file.write_text("{}")
        then = (datetime.now(UTC) - timedelta(days=days)).timestamp()
        os.utime(file, (then, then))
    await maintain()
    assert (old.exists(), young.exists()) == (False, True)


def test_the_server_prunes_events_and_what_else_is_old_by_itself(library: SmallLibrary) -> None:
    told = prefect_server_environment(library.settings, "postgresql+psycopg://u:p@h/d")
    assert told["PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED"] == "events,flow_runs"
    assert told["PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD"] == str(30 * 24 * 3600)
