"""The browser's only way out: a forward proxy that looks names up, judges them and dials (RFC 9110 §7.6)."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpcore
from httpcore import AsyncNetworkStream

from models.addresses import Address
from tasks.errors import StageError, Unsafe
from tasks.web.dialling import GuardedBackend
from tasks.web.failures import Content, of_content

HEAD_BYTES = 64 * 1024
PIECE = 64 * 1024
SECONDS_TO_ASK = 10.0  # until a request's head is there
CONNECT = 10.0  # seconds
SILENCE = 30.0  # seconds in which neither side says anything
MOST_BYTES = 50_000_000  # of one visit, both ways
MOST_REQUESTS = 500  # connections of one visit
TLS_HANDSHAKE = b"\x16"  # RFC 8446 §5.1: how every TLS client begins
FAILURES = (OSError, httpcore.NetworkError, httpcore.TimeoutException)
# What belongs to the connection with us, and what would make a tunnel of one that asks for pages.
OURS = frozenset({
    "connection", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "upgrade",
})


class GuardProxy:
    """The proxy of one visit. Belongs to one event loop.

    Plain HTTP is passed on, one request a connection; a tunnel (CONNECT) carries TLS and nothing else. Every
    connection is made by ``backend``, whose policy decides at that moment.
    """

    def __init__(self, backend: GuardedBackend, clients: Collection[str] = ("127.0.0.1",)) -> None:
        self.refused: dict[tuple[str, int], StageError] = {}  # by host and port
        self.overrun: StageError | None = None
        self._backend = backend
        self._clients = clients
        self._bytes = self._requests = 0
        self._under_way: set[asyncio.Task[None]] = set()

    def renew(self) -> None:
        """Begin another visit with the same browser: nothing is counted yet, and nothing refused."""
        self.refused.clear()
        self.overrun = None
        self._bytes = self._requests = 0

    @asynccontextmanager
    async def open(self, ip: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
        """Serve at ``ip``, to the clients only; gives the address for the browser."""
        server = await asyncio.start_server(self._serve, ip, port, limit=HEAD_BYTES)
        try:
            port = server.sockets[0].getsockname()[1]
            yield f"http://{f'[{ip}]' if ':' in ip else ip}:{port}"
        finally:
            server.close()
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task  # noqa: S101 - a stream's callback runs in one
        self._under_way.add(task)
        self._requests += 1
        try:
            if writer.get_extra_info("peername")[0] not in self._clients:
                return
            if self._requests > MOST_REQUESTS:
                self.overrun = of_content(Content.TOO_MANY_ASKED, limit=MOST_REQUESTS)
                return
            async with AsyncExitStack() as stack:
                await self._answer(reader, writer, stack)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, *FAILURES):
            pass  # one side is gone, or the visit is over: so is the connection
        finally:
            self._under_way.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stack: AsyncExitStack
    ) -> None:
        async with asyncio.timeout(SECONDS_TO_ASK):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        try:
            address, tunnel = asked_for(head)
        except ValueError:
            writer.write(reply("400 Bad Request"))
            return
        try:
            upstream = await self._backend.connect_tcp(address.host, address.port, CONNECT)
        except StageError as error:
            self.refused[address.host, address.port] = error
            writer.write(reply("403 Forbidden" if isinstance(error, Unsafe) else "502 Bad Gateway"))
            return
        except FAILURES:
            writer.write(reply("502 Bad Gateway"))
            return
        stack.push_async_callback(upstream.aclose)
        if tunnel:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            opening = await reader.read(PIECE)
            if not opening.startswith(TLS_HANDSHAKE):
                return
        else:
            opening = passed_on(head, address)
        await upstream.write(opening, SILENCE)
        await self._pump(reader, writer, upstream)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: AsyncNetworkStream
    ) -> None:
        """Carry bytes both ways until either side ends."""

        async def up() -> None:
            while piece := await reader.read(PIECE):
                self._count(piece)
                await upstream.write(piece, SILENCE)

        async def down() -> None:
            while piece := await upstream.read(PIECE, SILENCE):
                self._count(piece)
                writer.write(piece)
                await writer.drain()

        ways = {asyncio.create_task(up()), asyncio.create_task(down())}
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    def _count(self, piece: bytes) -> None:
        self._bytes += len(piece)
        if self._bytes > MOST_BYTES:
            self.overrun = of_content(Content.TOO_MUCH_LOADED, limit=MOST_BYTES // 1_000_000)
            raise ConnectionAbortedError


def asked_for(head: str) -> tuple[Address, bool]:
    """Where a request wants to go, and whether by a tunnel. Raises ValueError for what is no such request."""
    method, target, _ = head.partition("\r\n")[0].split(" ")
    if method == "CONNECT":
        return Address.parse(f"https://{target}/"), True
    address = Address.parse(target)
    if address.scheme != "http":
        raise ValueError("TLS goes through a tunnel")
    return address, False


def passed_on(head: str, address: Address) -> bytes:
    """The request as its server is asked: without what was for us, and with nothing to follow on it."""
    line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
    kept = [field for field in fields if field.partition(":")[0].strip().lower() not in OURS]
    method = line.partition(" ")[0]
    lines = [f"{method} {address.target} HTTP/1.1", f"Host: {address.netloc}", *kept, "Connection: close"]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")


def reply(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode("latin-1")
