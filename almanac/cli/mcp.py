"""``almanac mcp``: the MCP server on stdin and stdout, for an assistant on this machine."""

import logging
from asyncio import to_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from almanac.client import Client, ClientError, Json, connect
from almanac.mcp_server.desk import STATUS, Refusal
from almanac.settings import settings
from models.states import ToolState


class Outside:
    """The library that runs on this data folder. Implements ``mcp_server.desk.Desk``."""

    caller = "stdio"

    def __init__(self, client: Client) -> None:
        self._client = client

    async def search(self, query: str, previous: str | None, k: int, budget_tokens: int | None) -> Json:
        found: Json = await self._ask(
            self._client.retrieve, query, previous=previous, k=k, budget_tokens=budget_tokens)
        return found

    async def document(self, document_id: str) -> Json:
        found: Json = await self._ask(self._client.document, document_id)
        return found

    async def keep(self, handed: Json) -> Json:
        done: Json = await self._ask(self._client.keep, **handed)
        return done

    async def sources(self) -> list[Json]:
        return list(await self._ask(self._client.sources))

    async def status(self) -> Json:
        shown = await self._ask(self._client.system)
        return {name: shown[name] for name in STATUS}

    async def tools(self) -> list[Json]:
        listed = await self._ask(self._client.tools)
        return [{"name": tool["name"], **tool["pinned"]} for server in listed for tool in server["tools"]
                if tool["state"] == ToolState.OFFERED]

    async def use_tool(self, name: str, arguments: Json) -> Json:
        said: Json = await self._ask(self._client.use_tool, name, arguments)
        return said

    async def _ask(self, method: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        with told():
            return await to_thread(method, *arguments, **more)


@contextmanager
def told() -> Iterator[None]:
    """What the library refuses, or that it is not there, is told as it is."""
    try:
        yield
    except ClientError as error:
        raise Refusal(error.detail) from error


def mcp() -> None:
    """Serve assistants on stdin and stdout (MCP), with the library that runs on this data folder."""
    from almanac.mcp_server.server import make_server  # brings FastMCP, which other commands need not pay

    desk = Outside(connect())

    async def open_desk() -> Outside:
        return desk

    logging.disable()  # stderr is shown to whoever connects, and stdout is the protocol
    make_server(open_desk, settings()).run(transport="stdio", show_banner=False)
