"""Runs parts side by side, writes down how they are, and stops them in the reverse order of their start."""

import asyncio
from pathlib import Path
from typing import Any

from almanac.stack.keeper import Keeper, Rhythm, Say
from almanac.stack.part import Part
from almanac.stack.processes import own_identity
from almanac.stack.state import StackState, state_file, write_state


class Supervisor:
    """The parts of one data folder.

    Make it, start parts and stop it in one event loop, whose thread must live as long as the parts: the
    kernel ends them with the thread that started them.
    """

    def __init__(self, home: Path, say: Say, rhythm: Rhythm | None = None) -> None:
        self.state = StackState(own_identity())
        self._home, self._say, self._rhythm = home, say, rhythm or Rhythm()
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keepers: list[Keeper] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._hurry = asyncio.Event()
        self._write()

    async def start(self, *parts: Part) -> None:
        """Start parts at once and return when all are ready. Raises StackError when a required one cannot."""
        keepers = [Keeper(part, self._say, self._write, self._rhythm) for part in parts]
        self._keepers += keepers
        self.state.parts += [keeper.state for keeper in keepers]
        for keeper in keepers:
            task = asyncio.create_task(keeper.run())
            task.add_done_callback(self._notice)
            self._tasks.append(task)
        ready = asyncio.gather(*(keeper.settled for keeper in keepers))
        waited: list[asyncio.Future[Any]] = [ready, self.broken]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if self.broken.done():  # a keeper has failed: nothing may go on unwatched
            self.broken.result()
        ready.result()

    def _notice(self, keeper: "asyncio.Task[None]") -> None:
        if not keeper.cancelled() and (error := keeper.exception()) and not self.broken.done():
            self.broken.set_exception(error)

    def ready(self) -> None:
        """Everything that was asked for has been started."""
        self.state.ready = True
        self._write()

    def hurry(self) -> None:
        """Leave no more time to parts that are being stopped."""
        self._hurry.set()

    async def stop(self) -> None:
        """Stop all parts, the last started first; nothing of them is left when it returns."""
        self.state.stopping = True
        self._write()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for keeper in reversed(self._keepers):
            if how := await keeper.stop(self._hurry):
                self._say(f"{keeper.part.name}: {how}")
            keeper.down()
        state_file(self._home).unlink(missing_ok=True)

    def _write(self) -> None:
        try:
            write_state(self._home, self.state)
        except OSError as error:  # a full disk must not end the supervision
            self._say(f"{state_file(self._home)} cannot be written: {error.strerror}")
