"""A part of the stack: one process that a supervisor starts, and how it is known to be ready."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from almanac.stack.logs import last_words, open_log

CANNOT_GO_ON = 78  # the exit status of a part that a restart does not help: EX_CONFIG of sysexits.h


@dataclass(frozen=True, slots=True)
class Part:
    """What to run and how to treat it.

    ``ready`` is asked again and again until it says yes; with a StackError it asks for a new start.
    ``prepare`` runs before each start and may take its time; its StackError says that there can be none.
    A part that is not ``required`` may fail to start without the others being stopped.
    """

    name: str
    command: Sequence[str]
    ready: Callable[[], bool]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)  # added to the supervisor's own
    port: int | None = None
    prepare: Callable[[], None] = lambda: None
    stop_signal: signal.Signals = signal.SIGTERM
    grace: float = 10.0  # seconds between the stop signal and SIGKILL
    patience: float = 300.0  # seconds from a start to ready
    required: bool = True


async def spawn(part: Part) -> Process:
    """Start a part in a session of its own, so that Ctrl-C reaches the supervisor only. Raises OSError."""
    with open_log(part.log) as log:
        return await asyncio.create_subprocess_exec(
            *part.command, env={**os.environ, **part.environment}, stdin=DEVNULL, stdout=log, stderr=STDOUT,
            start_new_session=True,
        )


def how_it_ended(part: Part, status: int, log_offset: int) -> str:
    """``killed by SIGKILL`` or ``exit status 1: `` and the last line of its log since ``log_offset``."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    words = last_words(part.log, log_offset)
    return f"exit status {status}" + (f": {words}" if words else "")
