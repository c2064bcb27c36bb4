"""Processes told apart from strangers: a pid comes back when its process has gone, its start does not."""

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

TICK = 0.02  # the kernel counts start times in hundredths of a second


@dataclass(frozen=True, slots=True)
class Identity:
    """A process: its id, and its start in seconds after the machine's, which a set clock does not move."""

    pid: int
    started: float


def own_identity() -> Identity:
    return measured(psutil.Process())


def identity_of(pid: int) -> Identity | None:
    """Who has this pid now; None for nobody, or for one that has ended and waits for its parent to notice."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else measured(process)
    except psutil.Error:
        return None


def measured(process: psutil.Process) -> Identity:
    return Identity(process.pid, round(process.create_time() - psutil.boot_time(), 2))


def alive(process: Identity) -> bool:
    now = identity_of(process.pid)
    return now is not None and abs(now.started - process.started) <= TICK


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signal a process that leads a group of its own and its children, or what is left of them."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def end_all(processes: Iterable[Identity], grace: float) -> list[Identity]:
    """Stop those that are still alive, SIGKILL after ``grace`` seconds; the ones that were stopped."""
    living = [process for process in processes if alive(process)]
    handles = []
    for process in living:
        with contextlib.suppress(psutil.Error):
            handle = psutil.Process(process.pid)
            handle.terminate()
            handles.append(handle)
    _, stubborn = psutil.wait_procs(handles, timeout=grace)
    for handle in stubborn:
        with contextlib.suppress(psutil.Error):
            handle.kill()
    psutil.wait_procs(stubborn, timeout=grace)
    for process in living:
        signal_group(process.pid, signal.SIGKILL)
    return living
