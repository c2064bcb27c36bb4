"""A real Prefect server on the embedded PostgreSQL, and workers on it."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from workbench import PrefectServer, Worker

from almanac.stack.database import ensure_prefect
from almanac.stack.postgres import Postgres

os.environ.setdefault("PREFECT_LOGGING_LEVEL", "WARNING")  # read when a test module imports Prefect


@pytest.fixture(scope="session")
def prefect_server(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """A running server; Prefect in this process speaks to it."""
    ensure_prefect(postgres.url("postgres"))
    server = PrefectServer(tmp_path_factory.mktemp("prefect"), postgres.url("postgres"))
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.client_environment.items():
            patch.setenv(name, value)
        from prefect.context import refresh_global_settings_context
        from prefect.logging.handlers import APILogWorker

        refresh_global_settings_context()
        yield server
        APILogWorker.drain_all(timeout=5)  # or it complains at the end that the server has gone
    server.kill()


@pytest.fixture
def worker_on(prefect_server: PrefectServer) -> Iterator[Callable[..., Worker]]:
    """Starts a worker on the given deployments; it is stopped at the end."""
    started: list[Worker] = []

    def start(*specs: dict[str, Any]) -> Worker:
        started.append(Worker(list(specs)))
        return started[-1]

    yield start
    for worker in started:
        worker.thread.stop()
