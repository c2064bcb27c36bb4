"""Every curated server, and what of it may be used: what is offered as it was pinned, and nothing else."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy.exc import DBAPIError

from models.session import Database
from models.states import ToolState
from tasks.errors import Transient
from tasks.outside.tools import pins
from tasks.outside.tools.connection import Connection
from tasks.outside.tools.definition import Definition
from tasks.outside.tools.executor import Tool
from tasks.outside.tools.servers import public_name
from tasks.ports import ToolSaid, ToolServer

NOT_OFFERED = "its server does not offer it"

T = TypeVar("T")
Json = dict[str, Any]


class Loop(Protocol):
    """An event loop of its own thread."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T: ...

    def start(self, work: Coroutine[Any, Any, object]) -> None: ...


@dataclass
class Curated:
    """A server, with what it offers of what is wanted, and what that is held to."""

    connection: Connection
    seconds: float
    ask: bool
    used: ToolServer | None = None  # what is called instead of the connection, where something guards it
    found: Mapping[str, Definition | str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.connection.name

    def state(self, tool: str) -> tuple[ToolState, str | None]:
        """Whether a tool may be used, and why not."""
        found = self.found.get(tool)
        if self.connection.why or found is None:
            return ToolState.LACKING, NOT_OFFERED if self.connection.why is None else None
        if isinstance(found, str):
            return ToolState.LACKING, found
        if found.text != self.held.get(tool):
            return ToolState.CHANGED, "its server describes it otherwise than it was accepted"
        return ToolState.OFFERED, None


class Toolbox:
    """Thread-safe; the connections live in ``loop``."""

    def __init__(self, db: Database, servers: Sequence[Curated], loop: Loop | None = None) -> None:
        self._db, self._servers, self._loop = db, servers, loop

    def start(self) -> None:
        """Connect, and stay connected, in the background."""
        for server in self._servers:
            assert self._loop  # noqa: S101 - there is one where there are servers
            self._loop.start(server.connection.keep(partial(self._see, server)))

    async def _see(self, server: Curated, found: Mapping[str, Definition | str]) -> None:
        texts = {tool: one.text for tool, one in found.items() if isinstance(one, Definition)}
        try:
            server.held = await asyncio.to_thread(pins.pinned, self._db, server.name, texts)
        except DBAPIError as error:
            raise Transient("what was accepted of it cannot be read: the database is away") from error
        server.found = found

    def told(self) -> list[Json]:
        """Each server, whether it is connected, and which of its listed tools it offers."""
        return [{
            "server": server.name, "connected": server.connection.why is None, "why": server.connection.why,
            "tools": [self._told(server, tool) for tool in server.connection.wanted],
        } for server in self._servers]

    def tools(self) -> Iterator[Tool]:
        """What may be used now."""
        for server in self._servers:
            for tool in server.connection.wanted:
                found = server.found.get(tool)
                if server.state(tool)[0] is ToolState.OFFERED and isinstance(found, Definition):
                    yield Tool(public_name(server.name, tool), found.description, found.schema,
                               partial(self._run, server, tool), server.seconds, server.ask)

    def accept(self, name: str, fingerprint: str) -> bool:
        """Hold a changed tool to what it is now from now on, if that is what ``fingerprint`` is of."""
        for server in self._servers:
            for tool, found in server.found.items():
                if public_name(server.name, tool) == name and isinstance(found, Definition) \
                        and found.fingerprint == fingerprint:
                    pins.pin(self._db, server.name, tool, found.text)
                    server.held = {**server.held, tool: found.text}
                    return True
        return False

    async def _run(self, server: Curated, tool: str, arguments: Json, caller: str) -> ToolSaid:
        assert self._loop  # noqa: S101 - there is one where there are servers
        return await self._loop.run((server.used or server.connection).call(tool, arguments, caller))

    def _told(self, server: Curated, tool: str) -> Json:
        state, why = server.state(tool)
        found, held = server.found.get(tool), server.held.get(tool)
        return {
            "name": public_name(server.name, tool), "state": state, "why": why,
            "pinned": Definition(held).to_json() if held else None,
            "offered": found.to_json() if isinstance(found, Definition) else None,
        }
