"""``--detach``: the work goes on in the background, and the caller waits until it is ready."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

READY = b"ready"


def in_background(work: Callable[[Callable[[], None]], int], log: Path) -> int:
    """Run ``work`` in a child with a session of its own; the exit status.

    ``work`` gets a function to call when it is ready. Until then the child speaks on the caller's terminal;
    from then on to ``log``, and the caller returns 0. In the child this returns what ``work`` returns.
    """
    occupy_standard_handles()
    listen, speak = os.pipe()
    say_what_was_said()
    child = os.fork()
    if child:
        os.close(speak)
        return wait_for(child, listen)
    os.close(listen)
    os.setsid()
    return work(lambda: let_go(speak, log))


def occupy_standard_handles() -> None:
    """Let stdin, stdout and stderr lead somewhere: no file of ours may get the place of a closed one."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)


def say_what_was_said() -> None:
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError):  # the caller's reader has gone
            stream.flush()


def wait_for(child: int, listen: int) -> int:
    """Wait until the child is ready (0) or has ended (its status). Ctrl-C, however often, stops it."""
    try:
        if os.read(listen, len(READY)) == READY:
            return 0
        return abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))  # negative: a signal
    except KeyboardInterrupt:
        while not ended(child):
            pass
        raise


def ended(child: int) -> bool:
    """Tell the child to stop and wait until it has; False when Ctrl-C came meanwhile."""
    os.kill(child, signal.SIGTERM)  # a second one leaves it no more time
    try:
        os.waitpid(child, 0)
    except KeyboardInterrupt:
        return False
    return True


def let_go(speak: int, log: Path) -> None:
    """Leave the caller's terminal and tell it so."""
    say_what_was_said()
    nothing = os.open(os.devnull, os.O_RDWR)
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for handle, standard in ((nothing, 0), (nothing, 1), (written, 2)):
        os.dup2(handle, standard)
    os.close(nothing)
    os.close(written)
    with contextlib.suppress(BrokenPipeError):  # the caller did not wait
        os.write(speak, READY)
    os.close(speak)
