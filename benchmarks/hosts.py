"""A site on forty loopback addresses, for benchmarks of many hosts; it belongs in a process of its own."""

import asyncio
from collections.abc import Awaitable, Callable

HOSTS = 40
NONE = b"HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n"

Answer = Callable[[bytes], Awaitable[bytes]]


async def serve(answer: Answer) -> None:
    """Answer each path as ``answer`` does, and robots.txt with 404, until killed; prints the port."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
                told = await answer(path)
                writer.write(NONE if path == b"/robots.txt" else told)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    first = await asyncio.start_server(talk, "127.0.1.1", 0)
    port = first.sockets[0].getsockname()[1]
    for host in range(2, HOSTS + 1):
        await asyncio.start_server(talk, f"127.0.1.{host}", port)
    print(port, flush=True)
    await asyncio.Event().wait()


def address(port: int, number: int, path: str) -> str:
    """That path of the host whose turn it is."""
    return f"http://127.0.1.{1 + number % HOSTS}:{port}/{path}"
