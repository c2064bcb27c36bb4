"""One server: connected, listed again and again, and connected anew by itself when it is lost."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

import anyio
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)
from pydantic import ValidationError

from tasks.errors import Permanent, StageError, Transient
from tasks.outside.tools.definition import Definition
from tasks.outside.tools.transport import Streams
from tasks.ports import ToolSaid

MOST_PAGES = 20  # of a list of tools
SECONDS_TO_ANSWER = 20.0  # a hello, or a list
SHORTEST_SECRET = 6  # characters: what is shorter is a choice, such as "true"
MASK = "********"
US = Implementation(name="Almanac", version="1")


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds between two lists of what a server offers, and between two attempts while it is away."""

    refresh: float = 300.0
    retry: float = 30.0


class Connection:
    """Implements ports.ToolServer, in the event loop that ``keep`` runs in.

    ``opened`` makes the way to the server; of what it offers only ``wanted`` is looked at. What was given to
    it as ``secrets`` is masked in what it answers.
    """

    def __init__(
        self, name: str, wanted: Iterable[str], opened: Callable[[], AbstractAsyncContextManager[Streams]],
        times: Times | None = None, secrets: Iterable[str] = (),
    ) -> None:
        self.name = name
        self.wanted = tuple(wanted)
        self.why: str | None = "it has not been asked yet"
        self._opened, self._times = opened, times or Times()
        self._secrets = [each for each in secrets if len(each) >= SHORTEST_SECRET]
        self._session: ClientSession | None = None
        self._doubt, self._idle, self._calls = asyncio.Event(), asyncio.Event(), 0
        self._idle.set()

    async def keep(self, seen: Callable[[Mapping[str, Definition | str]], Awaitable[None]]) -> None:
        """Stay connected. ``seen`` is told each definition that it offers, or what is wrong with it."""
        while True:
            began = monotonic()
            try:
                async with self._connected() as session:
                    while True:
                        await self._idle.wait()  # some servers do one thing at a time
                        await seen(await self._list(session))
                        self._session, self.why = session, None
                        self._doubt.clear()
                        with suppress(TimeoutError):
                            async with asyncio.timeout(self._times.refresh):
                                await self._doubt.wait()
            except Exception as error:  # whatever a stranger's server does ends its connection and no more
                self.why = reason_of(error)
            finally:
                self._session = None
            if monotonic() - began < self._times.retry:  # one that had worked is tried at once
                await asyncio.sleep(self._times.retry)

    async def call(self, tool: str, arguments: Mapping[str, Any], caller: str) -> ToolSaid:
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        try:
            with self._in_use() as session:
                # Not by call_tool, which would hold the answer against a schema of the server's own making.
                result = await session.send_request(request, CallToolResult)
        except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
                return ToolSaid(self._without_secrets(error.message), failed=True)
            self.why = "its connection was lost"
            raise Transient(f"{self.name} was lost while it worked; it is connected again") from error
        except (ValidationError, RuntimeError) as error:
            raise Permanent(f"{self.name} gave an answer that is no tool's result") from error
        return ToolSaid(self._without_secrets(text_of(result)), failed=result.is_error)

    @contextmanager
    def _in_use(self) -> Iterator[ClientSession]:
        """The session, for one call; when that does not end well, it is seen whether it is still there."""
        if self._session is None or self.why:
            raise Transient(f"{self.name} is not connected: {self.why}")
        self._calls += 1
        self._idle.clear()
        well = False
        try:
            yield self._session
            well = True
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()
            if not well:
                self._doubt.set()

    def _without_secrets(self, text: str) -> str:
        """Some servers repeat what they were given, in what they say of an error first of all."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[ClientSession]:
        async with self._opened() as (reads, writes), ClientSession(reads, writes, client_info=US) as session:
            async with asyncio.timeout(SECONDS_TO_ANSWER):
                await session.initialize()
            yield session

    async def _list(self, session: ClientSession) -> dict[str, Definition | str]:
        """What it offers of what is wanted; nothing else of its list is looked at."""
        found: dict[str, Definition | str] = {}
        cursor = None
        async with asyncio.timeout(SECONDS_TO_ANSWER):
            for _ in range(MOST_PAGES):
                request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
                page = await session.send_request(request, ListToolsResult)
                found |= {tool.name: defined(tool) for tool in page.tools if tool.name in self.wanted}
                if (cursor := page.next_cursor) is None:
                    break
        return found


def defined(tool: Tool) -> Definition | str:
    try:
        return Definition.of(tool.description, tool.input_schema)
    except ValueError as error:
        return str(error)


def reason_of(error: BaseException) -> str:
    """One sentence without what a server said, which may be a secret that it was given."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case StageError():
            return error.reason
        case TimeoutError():
            return f"it did not answer within {SECONDS_TO_ANSWER:g} seconds"
        case MCPError() if error.code == CONNECTION_CLOSED:
            return "its connection ended"
        case _:
            return f"it does not speak MCP as it should ({type(error).__name__})"


def text_of(result: CallToolResult) -> str:
    """What is text in a result; of the rest, that it was there."""
    parts = []
    for block in result.content:
        match block.type:
            case "text":
                parts.append(block.text)
            case "resource" if text := getattr(block.resource, "text", None):
                parts.append(text)
            case "resource_link":
                parts.append(f"(a link to {block.uri})")
            case kind:
                parts.append(f"(left out: {kind})")
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return "\n".join(parts)
