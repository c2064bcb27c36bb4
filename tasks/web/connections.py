"""Connections by server: each has a pool of its own, since a pool looks at all it holds for each request."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpcore

SERVERS = 64  # whose connections are kept


@dataclass(slots=True)
class Shared:
    """The pool of one server, and how many requests are in it."""

    pool: httpcore.AsyncConnectionPool
    users: int = 0


class Connections:
    """The pools of all servers; what was asked longest ago is closed first. Belongs to one event loop."""

    def __init__(self, make: Callable[[], httpcore.AsyncConnectionPool]) -> None:
        self._make = make
        self._servers: OrderedDict[str, Shared] = OrderedDict()

    @asynccontextmanager
    async def to(self, origin: str) -> AsyncIterator[httpcore.AsyncConnectionPool]:
        """The pool for one request to a server and its answer."""
        if origin not in self._servers:
            self._servers[origin] = Shared(self._make())
        shared = self._servers[origin]
        self._servers.move_to_end(origin)
        shared.users += 1
        try:
            yield shared.pool
        finally:
            shared.users -= 1
            await self._close_idle()

    async def _close_idle(self) -> None:
        while len(self._servers) > SERVERS:
            idle = next((origin for origin, shared in self._servers.items() if not shared.users), None)
            if idle is None:
                return
            await self._servers.pop(idle).pool.aclose()

    async def close(self) -> None:
        servers, self._servers = self._servers, OrderedDict()
        for shared in servers.values():
            await shared.pool.aclose()
