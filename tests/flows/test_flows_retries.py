"""A task tries again what is gone in seconds, and nothing else: documents have retries of their own."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import TaskRunFilter
from small_library import FEED, SITE, SmallLibrary
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from workbench import PrefectServer, until

from almanac import wiring
from almanac.stack.postgres import SETTINGS, Postgres, stop
from flows.rebuild import rebuild
from models.session import Database
from models.states import PollOutcome
from models.tables import Document, Poll
from tasks import steps
from tasks.errors import NeedsCredential, Permanent, Postponed, Rejected, StageError, Transient, Unsafe
from tasks.steps import polling, retries

AWAY = OperationalError("SELECT 1", {}, psycopg.OperationalError("connection refused"))


@pytest.mark.parametrize(("error", "again"), [
    (Transient("the model server does not answer"), True),
    (AWAY, True),
    (ExceptionGroup("several", [AWAY, Transient("busy")]), True),
    (ExceptionGroup("several", [AWAY, Permanent("gone")]), False),
    (Permanent("gone"), False),
    (Unsafe("private"), False),
    (Rejected(["too short"]), False),
    (NeedsCredential("a key"), False),
    (Postponed("the model server is left alone"), False),
    (ValueError("a fault of ours"), False),
    (3, False),
])
def test_only_what_may_be_gone_in_seconds_is_tried_again(error: object, again: bool) -> None:
    assert retries.passes(error) is again


def test_waits_grow_are_spread_and_end_within_a_minute() -> None:
    for task in (polling.poll_source, steps.read_documents, steps.index_versions, steps.rebuild_index,
                 steps.reanalyse_versions, steps.catch_up_analyses):
        delays = task.retry_delay_seconds
        assert isinstance(delays, list)
        assert delays == sorted(delays)
        assert len(delays) == task.retries
        assert sum(delays) < 60
        assert task.retry_jitter_factor


@flow
async def read_due() -> int:
    return await steps.read_documents(10, None)


@flow
async def look(source: UUID) -> Any:
    return await polling.poll_source(source, "The site")


async def attempted(name: str, times: int) -> bool:
    """Whether the newest task run of that name was begun so often; Prefect writes that a moment later."""
    named = TaskRunFilter.model_validate({"name": {"any_": [name]}})

    async def recorded() -> bool:
        async with get_client() as client:
            runs = await client.read_task_runs(task_run_filter=named)
        counts = [(run.created, run.run_count) for run in runs if run.created]
        return bool(counts) and max(counts)[1] == times

    return await until(recorded)


@dataclass
class Stoppable:
    """A PostgreSQL that a test may stop, and a library on it."""

    server: Postgres
    library: SmallLibrary

    def start(self) -> None:
        self.process = self.server.start()

    def stop(self) -> None:
        stop(self.process)

    async def be_away_after(self, address: str) -> None:
        """Stop for two seconds as soon as the address was asked for."""
        assert await until(lambda: asyncio.sleep(0, address in self.library.fetcher.asked))
        await asyncio.to_thread(self.stop)
        await asyncio.sleep(2)
        await asyncio.to_thread(self.start)


@pytest.fixture
def stoppable(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stoppable]:
    server = Postgres(tmp_path / "pg", SETTINGS | {"fsync": "off"})
    process = server.start()
    server.ensure_database("almanac")
    database = Database(server.url("almanac"))
    database.migrate()
    library = SmallLibrary(database, home, {"heron": "Herons\nA heron stands in the shallow water."})
    monkeypatch.setattr(wiring, "library", lambda: library)
    it = Stoppable(server, library)
    it.process = process
    yield it
    database.close()
    it.stop()


@pytest.mark.stack
@pytest.mark.database
async def test_a_database_that_is_away_for_seconds_costs_a_look_nothing_but_time(
    prefect_server: PrefectServer, stoppable: Stoppable
) -> None:
    library = stoppable.library
    source = library.add_source()
    library.fetcher.delay = 1
    looking = asyncio.create_task(look(source))
    await stoppable.be_away_after(FEED)
    assert (await looking)["new"] == 1
    with library.db.begin() as session:
        assert session.scalars(select(Poll.outcome)).all() == [PollOutcome.NEW]
    assert library.fetcher.asked.count(FEED) > 1


@pytest.mark.stack
@pytest.mark.database
async def test_documents_that_were_being_read_when_the_database_went_away_are_read_by_the_next_attempt(
    prefect_server: PrefectServer, stoppable: Stoppable
) -> None:
    library = stoppable.library
    await look(library.add_source())
    library.fetcher.delay = 1
    reading = asyncio.create_task(read_due())
    await stoppable.be_away_after(f"{SITE}/heron")
    assert await reading == 1
    with library.db.begin() as session:
        assert session.execute(select(Document.state, Document.leased_by)).all() == [("read", None)]


class Failing:
    """What the index is asked, which fails at first."""

    def __init__(self, ask: Callable[[], int], *failures: StageError) -> None:
        self.ask, self.failures = ask, list(failures)

    def __call__(self) -> int:
        if self.failures:
            raise self.failures.pop(0)
        return self.ask()


@pytest.fixture
def library(
    db: Database, home: Path, monkeypatch: pytest.MonkeyPatch, prefect_server: PrefectServer
) -> SmallLibrary:
    small = SmallLibrary(db, home, {})
    monkeypatch.setattr(wiring, "library", lambda: small)
    monkeypatch.setattr("tasks.steps.indexing.GRACE_SECONDS", 0)
    return small


@pytest.mark.stack
@pytest.mark.database
async def test_a_server_that_is_away_is_asked_again(
    library: SmallLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Failing(library.next.count, Transient("it does not answer"), Transient("it is busy"))
    monkeypatch.setattr(library.next, "count", failing)
    await rebuild()
    assert await attempted("rebuild the index", 3)


@pytest.mark.stack
@pytest.mark.database
async def test_a_permanent_failure_is_not_tried_again(
    library: SmallLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library.next, "count", Failing(library.next.count, Permanent("it is gone")))
    with pytest.raises(Permanent):
        await rebuild()
    assert await attempted("rebuild the index", 1)
