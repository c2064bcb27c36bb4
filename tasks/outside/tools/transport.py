"""The two ways to a server, for the official SDK's session: what a server may send is counted on both.

The SDK's own stdio client keeps a line that never ends in memory, and its HTTP client an answer that never
does. The servers are the owner's choice, and are held to this all the same.
"""

import asyncio
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from signal import SIGKILL
from typing import Any

import anyio
import httpx2
import psutil
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from tasks.errors import Permanent, Transient

MOST_BYTES = 4_000_000  # between two questions
PIECE = 64 * 1024
TO_END = 2.0  # seconds after its input has ended, before it is killed
CONNECT = 10.0
SILENCE = 300.0

Streams = tuple[Any, Any]  # what the SDK's session reads from, and what it writes to


class Counted:
    """How much a server has sent since it was last asked something."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._left = most, most

    def renew(self) -> None:
        self._left = self._most

    def count(self, piece: bytes) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise Permanent(f"it sent more than {self._most:,} bytes, and was cut off")


@asynccontextmanager
async def over_stdio(
    command: Sequence[str], env: Mapping[str, str], folder: str | None = None, *, leash: Sequence[str] = ()
) -> AsyncIterator[Streams]:
    """A process of our own that speaks JSON-RPC, a message a line; it and its children end with the block.

    ``leash`` is put before its command. What it says on stderr is not kept: it may be a secret. Raises
    Transient when it cannot be started; when it ends by itself, the block is cancelled by a Transient.
    """
    if shutil.which(command[0]) is None:
        raise Transient(f"there is no program {command[0]} to start")
    try:
        process = await asyncio.create_subprocess_exec(
            *leash, *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=folder, start_new_session=True,
            env=get_default_environment() | dict(env))
    except OSError as error:
        raise Transient(f"its command cannot be started ({error.strerror})") from error
    into, heard = anyio.create_memory_object_stream[Any](0)
    said, out_of = anyio.create_memory_object_stream[SessionMessage](0)
    counted = Counted()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(listen, process, into, counted)
            group.start_soon(speak, process, out_of, counted)
            yield heard, said
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await end(process)


async def listen(process: Process, into: MemoryObjectSendStream[Any], counted: Counted) -> None:
    """Hand on each line that is a message; what else it prints is left out."""
    assert process.stdout  # noqa: S101 - it was asked for
    async with into:
        rest = b""
        while piece := await process.stdout.read(PIECE):
            try:
                counted.count(piece)
            except Permanent:
                process.kill()
                raise
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                with suppress(ValueError):
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    await into.send(SessionMessage(message))
    raise Transient("its process ended")


async def speak(
    process: Process, out_of: MemoryObjectReceiveStream[SessionMessage], counted: Counted
) -> None:
    assert process.stdin  # noqa: S101 - it was asked for
    with suppress(ConnectionError):  # it has ended, which is noticed on its other side
        async for message in out_of:
            counted.renew()
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(f"{line}\n".encode())
            await process.stdin.drain()


async def end(process: Process) -> None:
    """Ask by the end of its input; kill it, and whatever it has started, when it does not."""
    family = relatives(process.pid)
    if process.stdin:
        process.stdin.close()
    await drain(process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, SIGKILL)
    for one in family:  # some make groups of their own
        with suppress(psutil.Error):
            one.kill()
    await drain(process)


async def drain(process: Process) -> None:
    """Wait for its end, not for long: asyncio does not see it while there is something to read."""
    with suppress(TimeoutError):
        async with asyncio.timeout(TO_END):
            while process.stdout and await process.stdout.read(PIECE):
                pass
            await process.wait()


def relatives(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


@asynccontextmanager
async def over_http(url: str, headers: Mapping[str, str]) -> AsyncIterator[Streams]:
    """A server that the owner named, asked directly, each of whose answers is counted."""
    timeout = httpx2.Timeout(CONNECT, read=SILENCE)
    async with (
        httpx2.AsyncClient(headers=dict(headers) | {"Accept-Encoding": "identity"}, timeout=timeout,
                           trust_env=False, transport=CountedTransport()) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


class CountedTransport(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.DecodingError("its answer is encoded, which was not asked for", request=request)
        response.stream = CountedStream(response.stream)
        return response


class CountedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream, self._counted = stream, Counted()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            try:
                self._counted.count(piece)
            except Permanent as error:
                raise httpx2.ReadError(error.reason) from error
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
