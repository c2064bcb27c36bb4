"""Fake parts: small programs that are ready when they have written a file, and a supervisor for them."""

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from vacancy import free_port

from almanac.stack.keeper import Rhythm
from almanac.stack.part import Part
from almanac.stack.postgres import leashed
from almanac.stack.state import PartState
from almanac.stack.supervisor import Supervisor

QUICK = Rhythm(look=0.01, first_wait=0.02, longest_wait=0.05, healthy=60, tries=3, quiet=0.2)

PROGRAMS = {
    "steady": "open(ready, 'w').close(); time.sleep(60)",
    "crashing": "print('nothing works today'); sys.exit(3)",
    "hopeless": "print('no such index'); sys.exit(78)",
    "hopeless later": "time.sleep(0.5); print('no such index'); sys.exit(78)",
    "crashing once": "first = not os.path.exists(ready); open(ready, 'w').close(); first or time.sleep(60)",
    "stubborn": "signal.signal(signal.SIGTERM, signal.SIG_IGN); open(ready, 'w').close(); time.sleep(60)",
    "parent": "child = os.fork(); child and open(ready, 'w').write(str(child)); time.sleep(60)",
    "silent": "time.sleep(60)",
}

MakePart = Callable[..., Part]


@pytest.fixture
def part(tmp_path: Path) -> MakePart:
    """``part(name, program, …)``: a part that runs one of PROGRAMS."""

    def make(name: str, program: str, **changes: Any) -> Part:
        ready = tmp_path / f"{name}.ready"
        code = f"import os, signal, sys, time; ready = {str(ready)!r}; {PROGRAMS[program]}"
        command = leashed([sys.executable, "-c", code], on_parent_death="SIGKILL")
        given = {"ready": ready.exists, "log": tmp_path / f"{name}.log", "grace": 5.0} | changes
        return Part(name, command, **given)

    return make


@pytest.fixture(scope="module")
def free_ports() -> list[int]:
    """Three ports that nothing listens on."""
    return [free_port() for _ in range(3)]


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "run").mkdir(parents=True)
    return folder


class Watched(Supervisor):
    """A supervisor that remembers what it said."""

    def __init__(self, home: Path) -> None:
        self.said: list[str] = []
        super().__init__(home, self.said.append, QUICK)

    def part(self, name: str) -> PartState:
        return next(part for part in self.state.parts if part.name == name)


@pytest.fixture
async def supervisor(data_folder: Path) -> AsyncIterator[Watched]:
    running = Watched(data_folder)
    yield running
    running.hurry()
    await running.stop()
