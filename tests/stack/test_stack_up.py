"""What ``almanac up`` says before it starts anything, and what it does not wait for without a word."""

import asyncio
import time
from pathlib import Path

import pytest

from almanac.settings import Settings
from almanac.stack import up
from almanac.stack.database import connect
from almanac.stack.errors import StackError
from almanac.stack.up import wait_for_prefect

NOBODY = "http://someone:hunter2@127.0.0.1:1/api"
TROUBLE = ("the Prefect server of ALMANAC_PREFECT_URL (http://********@127.0.0.1:1/api) does not answer: ")


async def test_a_prefect_server_that_does_not_answer_is_said_soon_and_given_up_in_time() -> None:
    said: list[str] = []
    with pytest.raises(StackError) as raised:
        await wait_for_prefect(NOBODY, said.append, quiet=0.1, patience=1.0)
    assert said == [f"{TROUBLE}trying for 1 s"]
    assert str(raised.value) == f"{TROUBLE}correct the setting, or leave it out to have one started here"


async def test_a_prefect_server_that_comes_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, True])
    monkeypatch.setattr(up, "answers", lambda url: next(answers))
    said: list[str] = []
    await wait_for_prefect("http://prefect.lan/api", said.append)
    assert said == []


def test_nothing_is_started_while_the_prefect_server_is_away(
    tmp_path: Path, free_ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(url: str, say: object) -> None:
        await asyncio.sleep(0)
        raise StackError(f"nobody answers at {url}")

    monkeypatch.setattr(up, "wait_for_prefect", away)
    chosen = Settings(home=tmp_path, api_port=free_ports[0], prefect_url="http://127.0.0.1:1/api")
    with pytest.raises(StackError, match="nobody answers"):
        up.up(chosen, False, lambda line: None, lambda: None)
    assert not (tmp_path / "postgres").exists()


@pytest.mark.parametrize("url", [
    "postgresql+psycopg://me:hunter2@127.0.0.1:1/x", "postgresql://me:hunter2@/x?host=/nowhere",
    "postgresql://me:hunter2@127.0.0.1/x?sslmode=maybe",
])
def test_a_database_that_does_not_answer_is_said_soon_without_its_password(url: str) -> None:
    began = time.monotonic()
    with pytest.raises(StackError, match=r"ALMANAC_DATABASE_URL does not answer: \S") as raised:
        connect(url)
    assert "hunter2" not in str(raised.value)
    assert time.monotonic() - began < 5


def test_who_opens_it_to_others_is_told_what_asks_for_no_token() -> None:
    assert up.openness(Settings(host="0.0.0.0")) == (
        "ALMANAC_HOST is 0.0.0.0: whoever reaches this machine can use the Prefect UI without a token")
    assert up.openness(Settings(host="0.0.0.0", prefect_url="http://p/api")) is None
    assert up.openness(Settings()) is None


def test_a_token_that_others_could_read_is_closed_to_them_at_the_start_and_that_is_said(
    tmp_path: Path, free_ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*of: object) -> None: ...

    monkeypatch.setattr(up, "supervise", nothing)
    (tmp_path / "token").write_text("chosen by hand\n")
    (tmp_path / "token").chmod(0o644)
    said: list[str] = []
    api, dashboard, prefect = free_ports
    chosen = Settings(home=tmp_path, api_port=api, dashboard_port=dashboard, prefect_port=prefect)
    up.up(chosen, True, said.append, lambda: None)
    assert said == [f"others could read {tmp_path}/token: now its owner alone can (mode 0600)"]
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert said[0] in (tmp_path / "logs" / "almanac.log").read_text()
