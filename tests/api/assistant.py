"""An assistant: the official SDK's client, and what tools tell it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from household import TOKEN
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult


@asynccontextmanager
async def over_http(port: int, token: str = TOKEN) -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as client,
        streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=client) as (reads, writes),
        ClientSession(reads, writes) as session,
    ):
        await session.initialize()
        yield session


def said(result: CallToolResult) -> str:
    [content] = result.content
    assert content.type == "text"
    assert "Traceback" not in content.text
    return content.text


async def call(session: ClientSession, name: str, **arguments: Any) -> str:
    result = await session.call_tool(name, arguments)
    assert not result.is_error, said(result)
    return said(result)


async def refused(session: ClientSession, name: str, **arguments: Any) -> str:
    result = await session.call_tool(name, arguments)
    assert result.is_error
    return said(result)
