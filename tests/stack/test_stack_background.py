"""``--detach``: the caller gets its terminal back when the work is ready, and is told when it fails."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from almanac.stack.processes import identity_of

PROGRAM = """
import sys, time
from pathlib import Path
from almanac.stack.background import in_background

folder = Path(sys.argv[2])

def work(ready):
    print("starting", flush=True)
    if sys.argv[1] == "failing":
        print("it failed", file=sys.stderr)
        return 3
    if sys.argv[1] == "reluctant":
        told = []
        def on_signal(number, frame):
            told.append(number)
            (folder / "told").write_text("told")
            if len(told) == 2:
                sys.exit(1)
        __import__("signal").signal(__import__("signal").SIGTERM, on_signal)
    if sys.argv[1] in ("slow", "reluctant"):
        (folder / "pid").write_text(str(__import__("os").getpid()))
        for _ in range(600):
            time.sleep(0.1)
    ready()
    print("nobody hears this", flush=True)
    print("this is for the log", file=sys.stderr, flush=True)
    time.sleep(0.3)
    (folder / "done").write_text("done")
    return 0

sys.exit(in_background(work, folder / "log"))
"""


def run(how: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", PROGRAM, how, str(folder)], capture_output=True, text=True,
                          timeout=20)


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + 10
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return path.read_text()


def test_the_caller_returns_when_the_work_is_ready_and_the_work_goes_on(tmp_path: Path) -> None:
    done = run("working", tmp_path)  # ends only when nobody holds its output open
    assert (done.returncode, done.stdout, done.stderr) == (0, "starting\n", "")
    assert not (tmp_path / "done").exists()
    assert wait_for(tmp_path / "done") == "done"
    assert (tmp_path / "log").read_text() == "this is for the log\n"


def test_work_that_fails_before_it_is_ready_gives_the_caller_its_status(tmp_path: Path) -> None:
    done = run("failing", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "starting\n", "it failed\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_caller_with_closed_streams_is_served_too(tmp_path: Path, closed: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = f"{sys.executable} {program} working {tmp_path} {closed}"
    assert subprocess.run(["sh", "-c", command], timeout=20, capture_output=True).returncode == 0
    assert wait_for(tmp_path / "done") == "done"


def test_a_second_ctrl_c_hurries_the_work_and_leaves_nothing_of_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "reluctant", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as caller:
        worker = int(wait_for(tmp_path / "pid"))
        os.kill(caller.pid, signal.SIGINT)
        wait_for(tmp_path / "told")
        os.kill(caller.pid, signal.SIGINT)
        caller.communicate(timeout=10)
    assert identity_of(worker) is None


def test_ctrl_c_while_waiting_stops_the_work(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "slow", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as caller:
        worker = int(wait_for(tmp_path / "pid"))
        os.kill(caller.pid, signal.SIGINT)
        caller.communicate(timeout=10)
    assert caller.returncode != 0
    assert identity_of(worker) is None
