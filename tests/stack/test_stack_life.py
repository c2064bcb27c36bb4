"""Single instance, sudden ends and what they leave: the supervisor as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from almanac.stack.down import down, stop_leftovers
from almanac.stack.errors import AlreadyRunningError
from almanac.stack.processes import Identity, alive, end_all, identity_of
from almanac.stack.state import (
    PartState,
    StackState,
    read_state,
    running_state,
    single_instance,
    state_file,
    write_state,
)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
SECONDS = 10.0
STACK = """
import asyncio, signal, sys
from pathlib import Path
from almanac.stack.part import Part
from almanac.stack.postgres import leashed
from almanac.stack.state import single_instance
from almanac.stack.supervisor import Supervisor

home = Path(sys.argv[1])
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"

def part(name):
    command = leashed([sys.executable, "-c", STUBBORN], on_parent_death="SIGKILL")
    return Part(name, command, lambda: True, home / f"{name}.log", grace=0.2)

async def main():
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    supervisor = Supervisor(home, lambda line: None)
    await supervisor.start(part("one"), part("two"))
    supervisor.ready()
    await told.wait()
    await supervisor.stop()

with single_instance(home):
    asyncio.run(main())
"""


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


@pytest.fixture
def stack(data_folder: Path) -> Iterator[StackState]:
    """A running stack of two parts that ignore SIGTERM."""
    process = subprocess.Popen([sys.executable, "-c", STACK, str(data_folder)])
    try:
        until(lambda: (state := read_state(data_folder)) and state.ready)
        state = read_state(data_folder)
        assert state
        yield state
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@LINUX
def test_a_killed_supervisor_takes_its_parts_with_it(stack: StackState) -> None:
    os.kill(stack.supervisor.pid, signal.SIGKILL)
    until(lambda: not any(alive(process) for process in stack.processes()))


def test_down_stops_a_running_stack_and_says_so(stack: StackState, data_folder: Path) -> None:
    assert down(data_folder) == "Almanac has stopped"
    assert not any(alive(process) for process in [stack.supervisor, *stack.processes()])
    assert down(data_folder) == "Almanac is not running"


def test_a_second_supervisor_is_told_of_the_first(stack: StackState, data_folder: Path) -> None:
    with pytest.raises(AlreadyRunningError, match=rf"already running \(pid {stack.supervisor.pid}\)"), \
            single_instance(data_folder):
        pass


@LINUX
def test_the_data_folder_is_free_again_after_a_sudden_end(stack: StackState, data_folder: Path) -> None:
    os.kill(stack.supervisor.pid, signal.SIGKILL)
    until(lambda: not alive(stack.supervisor))
    with single_instance(data_folder):
        assert running_state(data_folder) is None


def left_behind(data_folder: Path, *processes: Identity) -> None:
    """A state file as a killed supervisor leaves it."""
    parts = [PartState(f"part {process.pid}", "log", process=process) for process in processes]
    write_state(data_folder, StackState(Identity(pid=2**22 - 1, started=1.0), parts=parts))


def test_processes_left_behind_are_stopped(data_folder: Path, sleeper: subprocess.Popen[bytes]) -> None:
    identity = identity_of(sleeper.pid)
    assert identity
    left_behind(data_folder, identity)
    assert down(data_folder) == "Almanac was not running; 1 processes of it were, and are stopped"
    assert not alive(identity)
    assert not state_file(data_folder).exists()


def test_a_stranger_with_the_pid_of_a_part_is_left_alone(
    data_folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    identity = identity_of(sleeper.pid)
    assert identity
    left_behind(data_folder, replace(identity, started=identity.started - 1))
    assert stop_leftovers(data_folder) == 0
    assert sleeper.poll() is None


def test_a_process_that_ignores_the_signal_is_killed() -> None:
    stubborn = "trap '' TERM; echo; sleep 60"
    with subprocess.Popen(["sh", "-c", stubborn], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        process.stdout.readline()
        identity = identity_of(process.pid)
        assert identity
        assert end_all([identity], grace=0.1) == [identity]
        assert not alive(identity)


def test_a_process_that_has_ended_but_is_not_yet_buried_is_not_alive() -> None:
    process = subprocess.Popen(["sleep", "60"])
    identity = identity_of(process.pid)
    assert identity
    process.kill()
    until(lambda: not alive(identity))
    process.wait()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"supervisor": 1}', '{"supervisor": {"pid": 1}, "parts": []}']
)
def test_a_state_file_that_cannot_be_read_is_no_state(data_folder: Path, content: str) -> None:
    state_file(data_folder).write_text(content)
    assert read_state(data_folder) is None


@LINUX
def test_a_leash_whose_holder_has_gone_does_not_start_the_command(tmp_path: Path) -> None:
    from almanac.stack.postgres import LEASH

    somebody_else = str(os.getpid() + 1)
    leash = [sys.executable, "-I", str(LEASH), "SIGKILL", somebody_else, "--"]
    done = subprocess.run([*leash, "touch", str(tmp_path / "ran")])
    assert done.returncode == 1
    assert not (tmp_path / "ran").exists()
