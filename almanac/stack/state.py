"""``run/stack.json``: which processes make up the running stack, and how each of them is."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from almanac.stack.errors import AlreadyRunningError
from almanac.stack.processes import Identity, alive

SECONDS_TO_LET_GO = 5.0  # a killed process holds its lock until the last of its threads has gone


class Phase(StrEnum):
    """How a part is."""

    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"  # it has ended and waits for its next start
    DOWN = "down"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class PartState:
    """A part as ``almanac status`` shows it; ``problem`` says how it last ended."""

    name: str
    log: str
    port: int | None = None
    state: Phase = Phase.DOWN
    process: Identity | None = None
    since: str = field(default_factory=now)
    restarts: int = 0
    problem: str | None = None


@dataclass
class StackState:
    """The supervisor's process and its parts in the order of their start."""

    supervisor: Identity
    since: str = field(default_factory=now)
    ready: bool = False
    stopping: bool = False
    parts: list[PartState] = field(default_factory=list)

    def processes(self) -> list[Identity]:
        return [part.process for part in self.parts if part.process]


def state_file(home: Path) -> Path:
    return home / "run" / "stack.json"


def write_state(home: Path, state: StackState) -> None:
    """Replace the file whole: a reader never sees a half."""
    path = state_file(home)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(asdict(state), indent=1))
    draft.replace(path)


def read_state(home: Path) -> StackState | None:
    """The last state that was written; None when there is none, or none that can be read."""
    try:
        document = json.loads(state_file(home).read_text())
        document["supervisor"] = Identity(**document["supervisor"])
        document["parts"] = [part_state(part) for part in document["parts"]]
        return StackState(**document)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def part_state(document: dict[str, object]) -> PartState:
    process = document.pop("process")
    state = Phase(str(document.pop("state")))
    return PartState(
        **document, state=state, process=Identity(**process) if isinstance(process, dict) else None  # type: ignore[arg-type]  # JSON of ours; a wrong shape is a TypeError that read_state takes
    )


def running_state(home: Path) -> StackState | None:
    """The state of the stack that runs now on this data folder."""
    state = read_state(home)
    return state if state and alive(state.supervisor) else None


@contextmanager
def single_instance(home: Path) -> Iterator[None]:
    """Hold the data folder; the kernel lets go of it however the holder ends. Raises AlreadyRunningError."""
    handle = os.open(home / "run" / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + SECONDS_TO_LET_GO
        while not acquired(handle):
            state = running_state(home)
            if state or time.monotonic() > until:
                pid = f" (pid {state.supervisor.pid})" if state else ""
                raise AlreadyRunningError(f"Almanac is already running{pid}: `almanac status` shows it")
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def acquired(handle: int) -> bool:
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True
