"""The scanner: clamd, over INSTREAM. Only its exact word that a stream is clean lets the stream pass."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tasks.errors import Away, Rejected

PIECE = 64 * 1024
LENGTH = 4  # bytes before each piece, most significant first; a length of 0 ends the stream
CLEAN = b"stream: OK\0"
LONGEST_REPLY = 4096


class Clamd:
    """Implements ``ports.Scanner``; ``address`` is ``host:port`` or the path of a socket."""

    def __init__(self, address: str, seconds: float = 120.0) -> None:
        self._address, self._seconds = address, seconds

    async def scan(self, path: Path) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                reply = await self._ask(path)
        except TimeoutError as error:
            raise Away(f"the scanner gave no verdict within {self._seconds:g} s: nothing was kept, try again "
                       "later") from error
        except OSError as error:
            raise Away("the scanner of ALMANAC_CLAMD does not answer: nothing was kept, try again when it "
                       "runs") from error
        if reply != CLEAN:
            raise verdict(reply)

    async def _ask(self, path: Path) -> bytes:
        """What it replies; nothing when it hangs up without a word."""
        async with self._connection() as (reader, writer):
            reply = asyncio.create_task(reader.read(LONGEST_REPLY))
            with suppress(ConnectionError):  # it may have said why before it hung up
                await send(path, writer, reply)
            try:
                return await reply
            except ConnectionError:
                return b""

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        host, _, port = self._address.rpartition(":")
        if port.isdigit():
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        else:
            reader, writer = await asyncio.open_unix_connection(self._address)
        try:
            yield reader, writer
        finally:
            writer.close()


async def send(path: Path, writer: asyncio.StreamWriter, reply: asyncio.Future[bytes]) -> None:
    """The file in pieces, until it is whole or the scanner has its verdict."""
    writer.write(b"zINSTREAM\0")
    with path.open("rb") as file:
        while (piece := file.read(PIECE)) and not reply.done():
            writer.write(len(piece).to_bytes(LENGTH, "big") + piece)
            await writer.drain()
            await asyncio.sleep(0)  # for what it may have to say
    writer.write(bytes(LENGTH))
    await writer.drain()


def verdict(reply: bytes) -> Rejected | Away:
    """What any reply but the clean one means: it found something, or would not look, or broke off."""
    words = reply.rstrip(b"\0\n").decode(errors="replace").removeprefix("stream: ")
    if words.endswith(" FOUND"):
        return Rejected([f"the scanner found {words.removesuffix(' FOUND')} in it: nothing was kept"])
    if words:
        return Rejected([f"the scanner would not look at it ({words}): nothing was kept"])
    return Away("the scanner broke off without a verdict: nothing was kept, try again later")
