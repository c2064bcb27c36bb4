"""``almanac down``: stops the running stack, or what a killed one has left behind."""

import contextlib
import os
import signal
import time
from pathlib import Path

from almanac.stack.processes import Identity, alive, end_all
from almanac.stack.state import read_state, running_state, state_file

SECONDS_TO_STOP = 90.0  # more than the graces of all parts together
SECONDS_FOR_PARTS = 15.0


def down(home: Path) -> str:
    """Stop everything and wait until it has; one sentence that says what was done."""
    running = running_state(home)
    if running is None:
        left = stop_leftovers(home)
        return f"Almanac was not running; {left} processes of it were, and are stopped" if left \
            else "Almanac is not running"
    if stop_supervisor(running.supervisor, signal.SIGTERM):
        return "Almanac has stopped"
    stop_supervisor(running.supervisor, signal.SIGKILL)
    stop_leftovers(home)
    return "Almanac did not stop and was killed: what it had stored is safe"


def stop_supervisor(supervisor: Identity, how: signal.Signals) -> bool:
    """Signal it and wait: whether it has gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(supervisor.pid, how)
    until = time.monotonic() + SECONDS_TO_STOP
    while alive(supervisor) and time.monotonic() < until:
        time.sleep(0.1)
    return not alive(supervisor)


def stop_leftovers(home: Path) -> int:
    """Stop the parts that a killed supervisor has left running; how many there were."""
    state = read_state(home)
    stopped = end_all(state.processes(), SECONDS_FOR_PARTS) if state else []
    state_file(home).unlink(missing_ok=True)
    return len(stopped)
