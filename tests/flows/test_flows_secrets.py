"""No secret is in anything that Prefect keeps: parameters, results, logs, artifacts, states, events."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter
from prefecture import rows_with
from small_library import SmallLibrary
from workbench import PrefectServer, until

from almanac import wiring
from almanac.stack.postgres import Postgres
from models.session import Database
from tasks import curate, steps

pytestmark = [pytest.mark.stack, pytest.mark.database]

PASSWORD, HEADER = "correct-horse-battery", "tok_TESTONLY_9f3a"


@flow
async def reading() -> int:
    return await steps.read_documents.with_options(retries=1)(10, None)


async def test_a_database_that_cannot_be_reached_tells_nobody_its_password(
    prefect_server: PrefectServer, postgres: Postgres, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Database(f"postgresql+psycopg://almanac:{PASSWORD}@127.0.0.1:1/almanac")
    monkeypatch.setattr(wiring, "library", lambda: SmallLibrary(away, home, {}))
    state = await reading(return_state=True)
    assert state.is_failed()
    run = state.state_details.flow_run_id

    async def logged() -> bool:
        async with get_client() as client:
            logs = await client.read_logs(LogFilter.model_validate({"flow_run_id": {"any_": [str(run)]}}))
        return any("connection" in log.message for log in logs)

    assert await until(logged)
    await asyncio.sleep(2)  # events are written a second later
    assert rows_with(postgres, [PASSWORD]) == []
    assert rows_with(postgres, ["127.0.0.1:1/almanac"]) == []


@flow
async def polling(source_id: UUID) -> int:
    return await steps.poll_sources(10, [source_id])


async def test_a_header_of_a_source_is_in_nothing_that_prefect_keeps(
    prefect_server: PrefectServer, postgres: Postgres, db: Database, home: Path,
    monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    class Broken:
        async def fetch(self, url: str, wanted: object, known: object, headers: dict[str, str]) -> None:
            said.append(headers["authorization"])
            raise RuntimeError(f"the connector was given {headers}")

    library = SmallLibrary(db, home, {})
    source = library.add_source()
    curate.set_headers(db, source, {"Authorization": HEADER})
    monkeypatch.setattr(library, "fetcher", Broken())
    monkeypatch.setattr(wiring, "library", lambda: library)
    assert await polling(source) == 1
    assert said == [HEADER]
    await asyncio.sleep(2)  # events are written a second later
    assert rows_with(postgres, [HEADER]) == []


async def test_the_search_finds_what_is_there(prefect_server: PrefectServer, postgres: Postgres) -> None:
    async with get_client() as client:
        await client.create_flow_from_name("a-flow-that-is-looked-for")
    assert "flow" in {table for table, _ in rows_with(postgres, ["a-flow-that-is-looked-for"])}
