"""The API as its callers see it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from household import TOKEN, Household, household_of_its_own

from almanac.stack.postgres import Postgres
from models.session import Database


@pytest.fixture(scope="module")
def shared(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """A library for tests that change nothing."""
    with household_of_its_own(postgres, tmp_path_factory.mktemp("shared")) as house:
        yield house


@pytest.fixture
def household(db: Database, home: Path) -> Iterator[Household]:
    """A library of the test's own."""
    house = Household(db, home)
    yield house
    house.runs.join()


@pytest.fixture
async def api(household: Household) -> AsyncIterator[httpx.AsyncClient]:
    """The owner, speaking to the API."""
    transport = httpx.ASGITransport(household.app, raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers={"Authorization": f"Bearer {TOKEN}"}
    ) as client:
        yield client
