"""The supervisor: parts are started, kept running and stopped, whatever they do."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from almanac.stack.errors import StackError
from almanac.stack.part import Part
from almanac.stack.processes import alive
from almanac.stack.state import Phase, read_state, state_file

SECONDS = 5.0
MakePart = Callable[..., Part]
Watched = Any  # the supervisor of conftest.py, which remembers what it said


async def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1].startswith("Z")


async def test_start_returns_when_all_parts_are_ready(supervisor: Watched, part: MakePart) -> None:
    await supervisor.start(part("one", "steady"), part("two", "steady"))
    assert [one.state for one in supervisor.state.parts] == [Phase.RUNNING, Phase.RUNNING]
    assert all(one.process and alive(one.process) for one in supervisor.state.parts)


async def test_a_part_that_is_killed_is_started_again_and_that_is_said(
    supervisor: Watched, part: MakePart
) -> None:
    await supervisor.start(part("one", "steady"))
    killed = supervisor.part("one").process
    assert killed
    os.kill(killed.pid, signal.SIGKILL)
    one = supervisor.part("one")
    await until(lambda: one.restarts == 1 and one.state == Phase.RUNNING)
    assert one.process != killed
    assert "one ended (killed by SIGKILL); starting it again in 0.02 s" in supervisor.said


async def test_the_waits_between_restarts_double_up_to_a_limit(supervisor: Watched, part: MakePart) -> None:
    await supervisor.start(part("one", "crashing", required=False))
    await until(lambda: supervisor.part("one").restarts >= 4)
    waits = [line.rpartition(" in ")[2] for line in supervisor.said if " in " in line]
    assert waits[:4] == ["0.02 s", "0.04 s", "0.05 s", "0.05 s"]


async def test_a_required_part_that_cannot_start_is_an_error_with_its_last_words_and_its_log(
    supervisor: Watched, part: MakePart
) -> None:
    one = part("one", "crashing")
    with pytest.raises(StackError) as raised:
        await supervisor.start(one, part("two", "steady"))
    assert str(raised.value) == f"one ended (exit status 3: nothing works today) (see {one.log})"


async def test_a_required_part_that_says_it_cannot_go_on_is_started_once(
    supervisor: Watched, part: MakePart
) -> None:
    with pytest.raises(StackError, match=r"one ended \(exit status 78: no such index\)"):
        await supervisor.start(part("one", "hopeless"), part("two", "steady"))
    assert supervisor.part("one").restarts == 0


async def test_a_part_that_ran_before_is_started_again_even_if_it_says_that_it_cannot_go_on(
    supervisor: Watched, part: MakePart
) -> None:
    hopeless = part("one", "hopeless later", ready=lambda: True)
    await supervisor.start(hopeless)
    await until(lambda: supervisor.part("one").restarts >= 4)
    assert not supervisor.broken.done()


async def test_what_cannot_be_prepared_for_good_is_not_tried_again(
    supervisor: Watched, part: MakePart
) -> None:
    def prepare() -> None:
        raise StackError("there can be no cluster here")

    with pytest.raises(StackError, match="one could not be started: there can be no cluster here"):
        await supervisor.start(part("one", "steady", prepare=prepare))
    assert supervisor.part("one").restarts == 0


async def test_a_part_that_runs_but_needs_another_start_gets_it_and_that_is_said(
    supervisor: Watched, part: MakePart
) -> None:
    one = part("one", "steady")
    mended: list[bool] = []

    def ready() -> bool:
        if not mended:
            mended.append(True)
            raise StackError("its password is another")
        return one.ready()

    await supervisor.start(replace(one, ready=ready))
    assert "one was stopped: its password is another; starting it again in 0.02 s" in supervisor.said
    assert supervisor.part("one").restarts == 1


async def test_a_part_that_keeps_everybody_waiting_is_said_once(
    supervisor: Watched, part: MakePart
) -> None:
    one = part("one", "silent", patience=0.6)
    with pytest.raises(StackError):
        await supervisor.start(one)
    lines = [line for line in supervisor.said if "not ready after 0 s, and has up to 0.6 s" in line]
    assert len(lines) == 3, "once for each start"
    assert str(one.log) in lines[0]


async def test_a_command_that_is_not_there_is_an_error_that_names_it(
    supervisor: Watched, part: MakePart, tmp_path: Path
) -> None:
    missing = part("one", "steady")
    object.__setattr__(missing, "command", [str(tmp_path / "no-such-program")])
    with pytest.raises(StackError, match="no-such-program"):
        await supervisor.start(missing)


async def test_a_part_that_is_not_required_does_not_hold_up_the_others(
    supervisor: Watched, part: MakePart
) -> None:
    await supervisor.start(part("one", "crashing", required=False), part("two", "steady"))
    assert supervisor.part("two").state == Phase.RUNNING
    assert any("goes on without it" in line for line in supervisor.said)


async def test_a_first_start_that_fails_once_is_tried_again(supervisor: Watched, part: MakePart) -> None:
    await supervisor.start(part("one", "crashing once"))
    one = supervisor.part("one")
    await until(lambda: one.restarts == 1 and one.state == Phase.RUNNING)


async def test_a_part_that_is_never_ready_is_stopped_and_said(supervisor: Watched, part: MakePart) -> None:
    with pytest.raises(StackError, match=r"one was not ready after 0\.1 s"):
        await supervisor.start(part("one", "silent", patience=0.1))
    assert supervisor.part("one").process is None


async def test_parts_stop_in_the_reverse_order_of_their_start(supervisor: Watched, part: MakePart) -> None:
    await supervisor.start(part("one", "steady"))
    await supervisor.start(part("two", "steady"))
    supervisor.said.clear()
    await supervisor.stop()
    assert supervisor.said == ["two: stopped", "one: stopped"]


async def test_nothing_is_left_of_a_stopped_stack_not_even_grandchildren(
    supervisor: Watched, part: MakePart, data_folder: Path, tmp_path: Path
) -> None:
    await supervisor.start(part("one", "parent"))
    await until((tmp_path / "one.ready").read_text)
    grandchild = int((tmp_path / "one.ready").read_text())
    process = supervisor.part("one").process
    assert process
    assert not gone(grandchild)
    await supervisor.stop()
    assert gone(process.pid)
    await until(lambda: gone(grandchild))
    assert not state_file(data_folder).exists()


async def test_a_part_that_ignores_the_stop_signal_is_killed_after_its_grace(
    supervisor: Watched, part: MakePart
) -> None:
    await supervisor.start(part("one", "stubborn", grace=0.1))
    await supervisor.stop()
    assert supervisor.said[-1] == "one: killed, since it did not stop"


async def test_a_second_signal_ends_the_grace(supervisor: Watched, part: MakePart) -> None:
    await supervisor.start(part("one", "stubborn", grace=30.0))
    asyncio.get_running_loop().call_later(0.05, supervisor.hurry)
    began = time.monotonic()
    await supervisor.stop()
    assert time.monotonic() - began < SECONDS


async def test_stop_while_a_part_is_starting_leaves_nothing(supervisor: Watched, part: MakePart) -> None:
    starting = asyncio.create_task(supervisor.start(part("one", "silent")))
    await until(lambda: supervisor.state.parts and supervisor.part("one").process)
    process = supervisor.part("one").process
    starting.cancel()
    await supervisor.stop()
    assert process
    assert gone(process.pid)


async def test_the_state_file_tells_the_parts_while_they_run(
    supervisor: Watched, part: MakePart, data_folder: Path
) -> None:
    await supervisor.start(part("one", "steady", port=4321))
    supervisor.ready()
    told = read_state(data_folder)
    assert told == supervisor.state
    assert told
    assert (told.ready, told.parts[0].port, told.supervisor.pid) == (True, 4321, os.getpid())


async def test_the_state_file_tells_that_the_parts_are_being_stopped(
    supervisor: Watched, part: MakePart, data_folder: Path
) -> None:
    await supervisor.start(part("one", "stubborn"))
    stopping = asyncio.create_task(supervisor.stop())
    await until(lambda: (told := read_state(data_folder)) and told.stopping)
    supervisor.hurry()
    await stopping
    assert read_state(data_folder) is None


async def test_a_keeper_that_fails_unexpectedly_is_noticed(supervisor: Watched, part: MakePart) -> None:
    def broken() -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await supervisor.start(part("one", "steady", ready=broken))


async def test_a_full_disk_does_not_end_the_supervision(
    supervisor: Watched, part: MakePart, data_folder: Path
) -> None:
    state_file(data_folder).with_suffix(".new").mkdir()  # as unwritable as on a full disk
    await supervisor.start(part("one", "steady"))
    assert supervisor.part("one").state == Phase.RUNNING
    assert any("cannot be written" in line for line in supervisor.said)
