"""Fixtures that every room may use: a real PostgreSQL, and a migrated database of its own for each test."""

import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from almanac.stack.postgres import SETTINGS, Postgres, stop
from models.sealing import KeyRing
from models.session import Database

RING = KeyRing([bytes(32)])  # the master key of these databases

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for minutes begins first, so that it waits beside the others."""
    items.sort(key=lambda item: "test_kills" not in item.path.name)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """The embedded PostgreSQL with a migrated template database named ``template_almanac``."""
    hasty = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}  # nobody keeps this one
    server = Postgres(tmp_path_factory.mktemp("pg"), SETTINGS | hasty)
    process = server.start()
    try:
        server.ensure_database("template_almanac")
        template = Database(server.url("template_almanac"))
        template.migrate()
        template.close()
        yield server
    finally:
        stop(process)


@pytest.fixture
def db(postgres: Postgres) -> Iterator[Database]:
    """An empty, migrated database that nothing else uses."""
    name = f"t_{uuid4().hex}"
    postgres.ensure_database(name, template="template_almanac")
    database = Database(postgres.url(name), pool_size=3, keys=lambda: RING)
    yield database
    database.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty data folder."""
    return tmp_path / "home"
