"""Pacing: one host in turn, many hosts side by side, and never more in flight than the owner allows."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

from tasks.web.failures import Content, of_content

UNPACED = 8  # requests to one host at once, when no delay is asked for
LANES = 1000  # remembered hosts past which idle ones are forgotten
LONGEST_TURN = 60.0  # seconds that a turn is waited for, before it is left for later


class Lane:
    """The queue of one host. Times are of ``time.monotonic``."""

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.gate = asyncio.Lock()  # one at a time waits for its start
        self.users = 0
        self.next_start = 0.0

    def leave(self) -> None:
        self.users -= 1

    def is_idle(self, now: float) -> bool:
        return not self.users and now > self.next_start


class Pacer:
    """Turns at hosts and slots in flight. Belongs to one event loop.

    A host's turn is waited for before a slot is taken, so that a slow host holds up only itself. ``check``
    raises for a host that may not be asked now; it is called again when a turn has come.
    """

    def __init__(
        self, host_delay: float, in_flight: int, check: Callable[[str], None] = lambda host: None
    ) -> None:
        self._host_delay = host_delay
        self._slots = asyncio.Semaphore(in_flight)
        self._check = check
        self._lanes: dict[str, Lane] = {}

    @asynccontextmanager
    async def turn(
        self, host: str, crawl_delay: float = 0.0, own: bool = False
    ) -> AsyncIterator[None]:
        """A request to ``host``, the delay after the start of the last one.

        Raises what ``check`` raises, and Postponed when the turn does not come in a minute: who waits here
        holds up the batch it belongs to. A server of the owner's ``own`` is not kept waiting, unless its
        robots.txt asks for it.
        """
        host_delay = 0.0 if own else self._host_delay
        lane = self._lane(host, host_delay)
        async with AsyncExitStack() as turn:
            lane.users += 1
            turn.callback(lane.leave)
            try:
                async with asyncio.timeout(LONGEST_TURN):
                    await turn.enter_async_context(lane.places)
                    await self._start(lane, host, max(host_delay, crawl_delay))
            except TimeoutError as error:
                more = LONGEST_TURN * random.random()  # noqa: S311 - no secret
                again = timedelta(seconds=LONGEST_TURN + more)
                raise of_content(Content.TURN_FAR_OFF, retry_after=again, host=host) from error
            turn.callback(self._slots.release)
            self._check(host)
            yield

    async def _start(self, lane: Lane, host: str, delay: float) -> None:
        """Wait for the delay and a slot; the slot is the caller's to give back."""
        async with lane.gate:
            self._check(host)
            await asyncio.sleep(lane.next_start - time.monotonic())
            await self._slots.acquire()
            lane.next_start = time.monotonic() + delay

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A request that waits for no host: robots.txt, which is asked for once an hour."""
        async with self._slots:
            yield

    def _lane(self, host: str, host_delay: float) -> Lane:
        if host not in self._lanes:
            if len(self._lanes) >= LANES:
                now = time.monotonic()
                self._lanes = {name: lane for name, lane in self._lanes.items() if not lane.is_idle(now)}
            self._lanes[host] = Lane(1 if host_delay else UNPACED)
        return self._lanes[host]
