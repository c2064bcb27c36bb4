"""Polling, reading and indexing hand over to each other through PostgreSQL, and what is done stays done."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter
from prefect.client.schemas.sorting import ArtifactSort
from small_library import SITE, SmallLibrary
from sqlalchemy import select, update
from workbench import Worker, until

from almanac import wiring
from almanac.deployments import read_specs
from models.session import Database
from models.tables import LIBRARY_SCOPE, Document, VersionAnalysis
from tasks import curate
from tasks.keep.given import Given
from tasks.keep.keep import keep
from tasks.steps import running

pytestmark = [pytest.mark.stack, pytest.mark.database]

ARTICLES: dict[str, str | None] = {
    "heron": "Herons\nA heron stands in the shallow water.",
    "ferry": "Ferries\nThe ferry leaves at noon.",
    "gone": None,
}


@pytest.fixture
def library(db: Database, home: Path, monkeypatch: pytest.MonkeyPatch) -> SmallLibrary:
    small = SmallLibrary(db, home, ARTICLES)
    monkeypatch.setattr(wiring, "library", lambda: small)
    monkeypatch.setattr("tasks.steps.indexing.GRACE_SECONDS", 0)
    return small


@pytest.fixture
async def worker(worker_on: Callable[..., Worker], library: SmallLibrary) -> Worker:
    """The deployments that Almanac ships, without their schedule: a test starts what it wants."""
    return worker_on(*({k: v for k, v in shipped.items() if k != "schedules"} for shipped in read_specs()))


def states(library: SmallLibrary) -> Counter[str]:
    with library.db.begin() as session:
        return Counter(session.scalars(select(Document.state)))


async def runs_since(first: Any) -> Counter[str]:
    """How many runs each flow had since the one given, it included."""
    async with get_client() as client:
        began = await client.read_flow_run(first)
        runs = await client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(
            {"expected_start_time": {"after_": began.expected_start_time}}))
        flows = {flow.id: flow.name for flow in await client.read_flows()}
    return Counter(flows[run.flow_id] for run in runs)


async def settled(library: SmallLibrary, wanted: dict[str, int]) -> bool:
    async def there() -> bool:
        return states(library) == wanted

    return await until(there, seconds=30)


async def test_a_poll_leads_to_documents_that_are_read_and_indexed(
    worker: Worker, library: SmallLibrary
) -> None:
    library.add_source()
    run = await worker.start("poll")
    assert await settled(library, {"indexed": 2, "rejected": 1}), states(library)
    assert library.index.count() == 2
    assert await worker.end_of(run) == "completed"


async def test_a_file_that_waits_is_found_by_a_tick_converted_and_indexed(
    worker: Worker, library: SmallLibrary
) -> None:
    handed_in = Given(("library",), uri=f"{SITE}/heron", preserve_source=True)
    await keep(library.doors, library.fetcher, handed_in, running.now())  # by a process that was killed then
    await worker.start("poll")
    assert await settled(library, {"indexed": 1}), states(library)
    assert library.index.count() == 1
    assert library.conversion.rests >= 1


async def test_what_became_of_each_document_is_a_table_of_the_run(
    worker: Worker, library: SmallLibrary
) -> None:
    library.add_source()
    await worker.start("poll")
    assert await settled(library, {"indexed": 2, "rejected": 1})
    async with get_client() as client:
        [table, *_] = await client.read_artifacts(
            artifact_filter=ArtifactFilter.model_validate({"key": {"any_": ["read"]}}),
                sort=ArtifactSort.CREATED_DESC, limit=1)
    rows = str(table.data)
    assert f"{SITE}/gone" in rows
    assert "rejected" in rows
    assert "HTTP 410 Gone" in rows


async def test_an_idle_tick_starts_nothing(worker: Worker, library: SmallLibrary) -> None:
    run = await worker.start("poll")
    assert await worker.end_of(run) == "completed"
    await asyncio.sleep(1)
    assert await runs_since(run) == {"poll": 1}


async def test_running_a_finished_flow_again_repeats_no_work(worker: Worker, library: SmallLibrary) -> None:
    source = library.add_source()
    await worker.start("poll")
    assert await settled(library, {"indexed": 2, "rejected": 1})
    asked, index = list(library.fetcher.asked), dict(library.index.entries)
    for flow in ("read", "index"):
        assert await worker.end_of(await worker.start(flow)) == "completed"
    assert await worker.end_of(await worker.start("poll", source_ids=[str(source)])) == "completed"
    assert library.fetcher.asked == [*asked, f"{SITE}/feed"]
    assert library.index.entries == index


@pytest.mark.parametrize(("batches", "runs"), [(1, 2), (8, 1)])
async def test_more_than_a_batch_is_read_by_one_run_and_more_than_its_batches_by_another(
    worker: Worker, library: SmallLibrary, batches: int, runs: int
) -> None:
    """A batch holds 25 documents of one host at most."""
    many = {f"many-{n:02}": f"Number {n}\nWhat number {n} says." for n in range(30)}
    library.fetcher.pages = {f"{SITE}/{name}": text for name, text in many.items()}
    library.add_source()
    async with get_client() as client:
        of_the_owner = await client.read_deployment_by_name("read/library")
        await client.update_deployment(of_the_owner.id, DeploymentUpdate(parameters={"batches": batches}))
    first = await worker.start("poll")
    assert await settled(library, {"indexed": 30}), states(library)
    assert (await runs_since(first))["read"] == runs


async def test_what_another_analyser_judged_is_judged_again_and_nothing_is_embedded(
    worker: Worker, library: SmallLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add_source()
    await worker.start("poll")
    assert await settled(library, {"indexed": 2, "rejected": 1})
    with library.db.begin() as session:
        session.execute(update(VersionAnalysis).values(analyser="an older one", content_type="opinion"))
    monkeypatch.setattr(library.embedder, "embed_query", None)
    vectors = dict(library.index.entries)
    assert await worker.end_of(await worker.start("reanalyse", limit=1)) == "completed"
    with library.db.begin() as session:
        assert {*session.scalars(select(VersionAnalysis.analyser))} == {library.analyser.name}
    assert library.index.entries.keys() == vectors.keys()


async def test_an_answer_is_the_result_of_its_run(worker: Worker, library: SmallLibrary) -> None:
    library.add_source()
    await worker.start("poll")
    assert await settled(library, {"indexed": 2, "rejected": 1})
    run = await worker.start("retrieve", query="where does the heron stand")
    assert await worker.end_of(run) == "completed"
    async with get_client() as client:
        state = (await client.read_flow_run(run)).state
    assert state is not None
    found = await state.aresult()
    assert found["excerpts"][0]["citation"]["url"] == f"{SITE}/heron"


async def test_a_source_that_is_not_there_fails_the_run_and_not_the_others(
    worker: Worker, library: SmallLibrary
) -> None:
    source = library.add_source()
    run = await worker.start("poll", source_ids=["00000000-0000-0000-0000-000000000001", str(source)])
    assert await worker.end_of(run) == "failed"
    assert states(library).total() == 3


async def test_a_source_that_is_named_does_not_wait_for_the_tick(
    worker: Worker, library: SmallLibrary
) -> None:
    source = library.add_source()
    library.fetcher.delay = 8
    tick = await worker.start("poll")
    assert await until(lambda: asyncio.sleep(0, bool(library.fetcher.asked)))
    library.fetcher.delay = 0
    named = await worker.start("poll", source_ids=[str(source)])
    assert await worker.end_of(named, seconds=6) == "completed"
    assert await worker.runs.state(tick) == "running"
    assert await worker.end_of(tick) == "completed"
    assert states(library).total() == 3


async def test_what_the_limits_hold_back_does_not_start_a_run_that_can_do_nothing(
    worker: Worker, library: SmallLibrary
) -> None:
    library.settings = library.settings.model_copy(update={"articles_per_hour": 1})
    library.add_source()
    await worker.start("poll")
    assert await settled(library, {"indexed": 1, "read": 1, "rejected": 1}), states(library)
    await asyncio.sleep(2)
    idle = await worker.start("poll")
    assert await worker.end_of(idle) == "completed"
    await asyncio.sleep(1)
    assert await runs_since(idle) == {"poll": 1}


async def test_what_was_removed_leaves_the_index_at_the_next_tick(
    worker: Worker, library: SmallLibrary
) -> None:
    source = library.add_source()
    await worker.start("poll")
    assert await settled(library, {"indexed": 2, "rejected": 1})
    assert curate.remove_source(library.db.caller([LIBRARY_SCOPE]), source, running.now())
    await worker.start("poll")
    assert await until(lambda: asyncio.sleep(0, library.index.count() == 0))


@pytest.mark.parametrize("flow", ["index", "rebuild"])
async def test_indexing_and_rebuilding_take_turns(worker: Worker, library: SmallLibrary, flow: str) -> None:
    with library.db.lock("index") as mine:
        assert mine
        run = await worker.start(flow)
        assert await worker.reaches(run, {"running"}) == "running"
        await asyncio.sleep(2 * running.TURN_SECONDS)
        assert await worker.runs.state(run) == "running"
    assert await worker.end_of(run) == "completed"


async def test_an_index_that_was_lost_is_made_again_by_a_run(worker: Worker, library: SmallLibrary) -> None:
    library.add_source()
    await worker.start("poll")
    assert await settled(library, {"indexed": 2, "rejected": 1})
    held = set(library.index.entries)
    library.index.entries.clear()
    for _ in range(2):  # and again, which changes nothing
        assert await worker.end_of(await worker.start("rebuild")) == "completed"
        assert set(library.index.entries) == held
