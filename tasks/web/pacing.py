"""Pacing: one host in turn, many hosts side by side, and never more in flight than the owner allows."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from tasks.errors import Transient

UNPACED = 8  # requests to one host at once, when no delay is asked for
LANES = 1000  # remembered hosts past which idle ones are forgotten


class Lane:
    """The queue of one host. Times are of ``time.monotonic``."""

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.gate = asyncio.Lock()  # one at a time waits for its start
        self.users = 0
        self.next_start = 0.0
        self.paused_until = 0.0

    def is_idle(self, now: float) -> bool:
        return not self.users and now > max(self.next_start, self.paused_until)


class Pacer:
    """Turns at hosts and slots in flight. Belongs to one event loop.

    A host's turn is waited for before a slot is taken, so that a slow host holds up only itself.
    """

    def __init__(self, host_delay: float, in_flight: int) -> None:
        self._host_delay = host_delay
        self._slots = asyncio.Semaphore(in_flight)
        self._lanes: dict[str, Lane] = {}

    @asynccontextmanager
    async def turn(
        self, host: str, crawl_delay: float = 0.0, own: bool = False
    ) -> AsyncIterator[None]:
        """A request to ``host``, the delay after the start of the last one. Raises Transient in a pause.

        A server of the owner's ``own`` is not kept waiting, unless its robots.txt asks for it.
        """
        host_delay = 0.0 if own else self._host_delay
        lane = self._lane(host, host_delay)
        delay = max(host_delay, crawl_delay)
        lane.users += 1
        try:
            async with lane.places:
                async with lane.gate:
                    self.check_pause(host)
                    await asyncio.sleep(lane.next_start - time.monotonic())
                    await self._slots.acquire()
                    lane.next_start = time.monotonic() + delay
                try:
                    self.check_pause(host)
                    yield
                finally:
                    self._slots.release()
        finally:
            lane.users -= 1

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A request that waits for no host: robots.txt, which is asked for once an hour."""
        async with self._slots:
            yield

    def pause(self, host: str, wait: timedelta) -> None:
        """Ask nothing of ``host`` for that long."""
        lane = self._lane(host, self._host_delay)
        lane.paused_until = max(lane.paused_until, time.monotonic() + wait.total_seconds())

    def check_pause(self, host: str) -> None:
        """Raises Transient, with what is left of it, while ``host`` has asked for a pause."""
        lane = self._lanes.get(host)
        left = lane.paused_until - time.monotonic() if lane else 0.0
        if left > 0:
            raise Transient(f"{host} has asked for a pause", timedelta(seconds=left))

    def _lane(self, host: str, host_delay: float) -> Lane:
        if host not in self._lanes:
            if len(self._lanes) >= LANES:
                now = time.monotonic()
                self._lanes = {name: lane for name, lane in self._lanes.items() if not lane.is_idle(now)}
            self._lanes[host] = Lane(1 if host_delay else UNPACED)
        return self._lanes[host]
