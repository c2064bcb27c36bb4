"""Keeps one part running: starts it, waits until it is ready, and starts it again when it ends."""

import asyncio
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass

from almanac.stack.errors import StackError
from almanac.stack.logs import size
from almanac.stack.part import CANNOT_GO_ON, Part, how_it_ended, spawn
from almanac.stack.processes import identity_of, signal_group
from almanac.stack.state import PartState, Phase, now

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often a keeper looks and how long it waits, in seconds."""

    look: float = 0.1
    first_wait: float = 0.5  # before the first restart; doubled for each next one
    longest_wait: float = 30.0
    healthy: float = 60.0  # ready for this long, and the waits begin anew
    tries: int = 3  # ends before it was ever ready, and its start has failed
    quiet: float = 60.0  # not ready for this long, and that is said


class Keeper:
    """One part and its process. ``run`` is its life, ``settled`` the outcome of its first start."""

    def __init__(self, part: Part, say: Say, changed: Callable[[], None], rhythm: Rhythm) -> None:
        self.part, self._say, self._changed, self._rhythm = part, say, changed, rhythm
        self.state = PartState(part.name, str(part.log), part.port)
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._process: Process | None = None
        self._ready_at: float | None = None
        self._failures = 0  # ends before it was ever ready
        self._hopeless = False  # it ended for a reason that another start does not change

    async def run(self) -> None:
        """Start the part again and again; returns only when a required part cannot be started."""
        wait = self._rhythm.first_wait
        while True:
            problem = await self._live_once()
            self._process = None
            self.state.problem = problem
            self._become(Phase.RESTARTING)
            if self._gave_up(problem):
                return
            if self._was_healthy():
                wait = self._rhythm.first_wait
            self._say(f"{self.part.name} {problem}; starting it again in {wait:g} s")
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._rhythm.longest_wait)
            self.state.restarts += 1

    async def _live_once(self) -> str:
        """One process from its start to its end: how it ended."""
        began, self._ready_at = time.monotonic(), None
        self._become(Phase.STARTING)
        offset = size(self.part.log)
        try:
            await asyncio.to_thread(self.part.prepare)
            process = await self._spawn()
        except (OSError, StackError) as error:
            self._hopeless = isinstance(error, StackError)
            return f"could not be started: {error}"
        self._become(Phase.STARTING)
        try:
            ready = await self._until_ready(process, began)
        except StackError as error:
            await self.stop()
            return f"was stopped: {error}"
        if ready:
            self._ready_at = time.monotonic()
            self._become(Phase.RUNNING)
            self._say(f"{self.part.name}: ready after {self._ready_at - began:.1f} s")
            if not self.settled.done():
                self.settled.set_result(None)
        elif process.returncode is None:
            await self.stop()
            return f"was not ready after {self.part.patience:g} s"
        status = await process.wait()
        signal_group(process.pid, signal.SIGKILL)  # its children
        self._hopeless = status == CANNOT_GO_ON
        return f"ended ({how_it_ended(self.part, status, offset)})"

    async def _spawn(self) -> Process:
        """Start the process; a cancellation meanwhile does not lose sight of it."""
        spawning = asyncio.ensure_future(spawn(self.part))
        try:
            return await asyncio.shield(spawning)
        finally:
            self._process = await spawning

    async def _until_ready(self, process: Process, began: float) -> bool:
        told = False
        while process.returncode is None and (waited := time.monotonic() - began) < self.part.patience:
            if await asyncio.to_thread(self.part.ready):
                return process.returncode is None
            if waited > self._rhythm.quiet and not told:
                told = True
                self._say(f"{self.part.name}: not ready after {waited:.0f} s, and has up to "
                          f"{self.part.patience:g} s (see {self.part.log})")
            await asyncio.sleep(self._rhythm.look)
        return False

    def _was_healthy(self) -> bool:
        return self._ready_at is not None and time.monotonic() - self._ready_at > self._rhythm.healthy

    def _gave_up(self, problem: str) -> bool:
        """Whether the first start of a required part has failed for good."""
        if self.settled.done():
            return False
        self._failures += 1
        if self._failures < self._rhythm.tries and not (self._hopeless and self.part.required):
            return False
        sentence = f"{self.part.name} {problem} (see {self.part.log})"
        if self.part.required:
            self.settled.set_exception(StackError(sentence))
            return True
        self._say(f"{sentence}: Almanac goes on without it and keeps trying")
        self.settled.set_result(None)
        return False

    async def stop(self, hurry: asyncio.Event | None = None) -> str | None:
        """Stop the process and its children: how, None when there was none. ``hurry`` ends the grace."""
        process = self._process
        if process is None:
            return None
        if process.returncode is None:
            process.send_signal(self.part.stop_signal)
        ended = asyncio.ensure_future(process.wait())
        hurried = asyncio.ensure_future((hurry or asyncio.Event()).wait())
        await asyncio.wait({ended, hurried}, timeout=self.part.grace, return_when=asyncio.FIRST_COMPLETED)
        killed = process.returncode is None
        signal_group(process.pid, signal.SIGKILL)
        hurried.cancel()
        await ended
        self._process = None
        return "killed, since it did not stop" if killed else "stopped"

    def down(self) -> None:
        self._become(Phase.DOWN)

    def _become(self, phase: Phase) -> None:
        self.state.state, self.state.since = phase, now()
        self.state.process = identity_of(self._process.pid) if self._process else None
        self._changed()
