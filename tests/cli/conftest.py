"""The command line against the real API, served on a loopback port."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from household import TOKEN, Household, household_of_its_own
from tool_workshop import workshop

from almanac.cli import main, waiting
from almanac.settings import settings
from almanac.stack.postgres import Postgres
from almanac.stack.processes import own_identity
from almanac.stack.state import PartState, Phase, StackState, write_state
from models.session import Database

__all__ = ["workshop"]


@dataclass(frozen=True)
class Said:
    """What a command ended with."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class CommandLine:
    """``almanac`` in this process."""

    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Said:
        settings.cache_clear()
        status = main(list(words))
        told = self.capture.readouterr()
        return Said(status, told.out, told.err)

    def json(self, *words: str) -> Any:
        """The one document that ``--json`` prints."""
        said = self(*words, "--json")
        assert (said.status, said.err) == (0, "")
        return json.loads(said.out)


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
def runs_here() -> Callable[..., None]:
    """``runs_here(home, port)``: written down, as the supervisor does, that the stack of ``home`` runs.

    Its API is on ``port``; without one its library has not been started yet.
    """

    def write(home: Path, port: int | None = None) -> None:
        (home / "run").mkdir(exist_ok=True)
        library = PartState("library", "library.log", port, Phase.RUNNING, own_identity())
        write_state(home, StackState(own_identity(), ready=True, parts=[library] if port else []))

    return write


@contextmanager
def serve(household: Household) -> Iterator[int]:
    """The port that a household's API listens on."""
    server = uvicorn.Server(uvicorn.Config(household.app, "127.0.0.1", 0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield int(server.servers[0].sockets[0].getsockname()[1])
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def served(household: Household) -> Iterator[int]:
    with serve(household) as port:
        yield port


@pytest.fixture(scope="module")
def shared_served(shared: Household) -> Iterator[int]:
    with serve(shared) as port:
        yield port


@pytest.fixture
def alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[CommandLine]:
    """The command on a data folder where nothing runs."""
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("ALMANAC_HOME", str(home))
    monkeypatch.setenv("ALMANAC_API_PORT", "1")
    monkeypatch.chdir(home)
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_LOOKS", 0.02)
    yield CommandLine(capsys)
    settings.cache_clear()


@pytest.fixture
def almanac(
    alone: CommandLine, served: int, home: Path, runs_here: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """The command on the household."""
    monkeypatch.setenv("ALMANAC_API_PORT", str(served))
    (home / "token").write_text(f"{TOKEN}\n")
    runs_here(home, served)
    return alone
