"""The parts' commands and environments: what is told, to whom, and what is never shown."""

import os
from pathlib import Path

import pytest

from almanac.settings import Settings
from almanac.stack.database import prefect_url
from almanac.stack.part import Part
from almanac.stack.parts import dashboard_part, library_part, postgres_part, prefect_part, wanted_ports
from almanac.stack.postgres import Postgres

SECRET = "s3cret-of-the-database"
URL = f"postgresql+psycopg://almanac:{SECRET}@/almanac?host=/run/almanac"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.fixture
def parts(settings: Settings) -> list[Part]:
    dashboard = dashboard_part(settings)
    assert dashboard
    return [postgres_part(settings, Postgres(settings.home)), prefect_part(settings, URL),
            library_part(settings, URL), dashboard]


def test_no_secret_is_in_a_command_since_every_user_can_read_those(parts: list[Part]) -> None:
    assert not [part.name for part in parts if SECRET in " ".join(part.command)]


def test_only_those_who_need_the_database_are_told_its_password(parts: list[Part]) -> None:
    assert [part.name for part in parts if SECRET in str(part.environment)] == ["prefect", "library"]


def test_the_parts_reach_each_other_without_the_proxy_of_the_environment(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "intranet.example")
    environment = library_part(settings, URL).environment
    assert environment["no_proxy"] == environment["NO_PROXY"]
    assert {"intranet.example", "127.0.0.1", "localhost"} <= set(environment["NO_PROXY"].split(","))


def test_everything_that_prefect_keeps_is_in_the_data_folder(settings: Settings) -> None:
    environment = prefect_part(settings, URL).environment
    kept = [environment["PREFECT_HOME"], environment["PREFECT_SERVER_UI_STATIC_DIRECTORY"]]
    assert all(Path(folder).is_relative_to(settings.home) for folder in kept)


@pytest.mark.parametrize(
    ("ours", "prefects"),
    [
        (URL, f"postgresql+asyncpg://almanac:{SECRET}@/prefect?host=%2Frun%2Falmanac"),
        ("postgresql+psycopg://a:b@db.lan:5433/almanac", "postgresql+asyncpg://a:b@db.lan:5433/prefect"),
        ("postgresql://a:p%40b@db/x?sslmode=require&connect_timeout=5",
         "postgresql+asyncpg://a:p%40b@db/prefect?ssl=require"),
    ],
)
def test_prefect_gets_a_database_of_its_own_on_the_same_server(ours: str, prefects: str) -> None:
    assert prefect_url(ours) == prefects


def test_only_the_ports_that_will_be_used_are_wanted(settings: Settings) -> None:
    def wanted(dashboard: bool = True, prefect: str | None = None) -> list[str]:
        chosen = settings.model_copy(update={"prefect_url": prefect})
        return [port.setting.removeprefix("ALMANAC_") for port in wanted_ports(chosen, dashboard)]

    assert wanted() == ["API_PORT", "PREFECT_PORT", "DASHBOARD_PORT"]
    assert wanted(dashboard=False) == ["API_PORT", "PREFECT_PORT"]
    assert wanted(prefect="http://prefect.lan:4200/api") == ["API_PORT", "DASHBOARD_PORT"]


def test_an_installation_without_a_dashboard_does_without(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("almanac.stack.dashboard.find_spec", lambda name: None)
    assert dashboard_part(settings) is None


def test_no_part_is_given_the_callers_terminal_group(parts: list[Part]) -> None:
    assert all(str(os.getpid()) in part.command for part in parts)  # each is on a leash of this process
