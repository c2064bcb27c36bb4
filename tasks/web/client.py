"""One request and its answer over the guarded network, with every limit there is on an answer."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import httpcore

from models.addresses import Address
from tasks.ports import Wanted
from tasks.web.connections import Connections
from tasks.web.dialling import GuardedBackend
from tasks.web.failures import NETWORK, Content, of_content, of_exception
from tasks.web.inflating import OFFERED, Inflater
from tasks.web.media import HEAD, check_bytes, check_declared
from tasks.web.statuses import GOOD

CONNECT = 10.0  # seconds, for all addresses of a name and TLS
SILENCE = 15.0  # seconds between two pieces of an answer
KEEP_ALIVE = 4.0  # seconds; servers close at 5
SLOWEST = 1000  # bytes a second, once an answer has run for PATIENCE
PATIENCE = 10.0  # seconds
SMALL = 16 * 1024  # bytes of a body that is read only to keep the connection
DRAIN = 1.0  # seconds that this may take

BROKEN = (httpcore.ReadError, httpcore.WriteError, httpcore.RemoteProtocolError)


@cache
def default_tls() -> ssl.SSLContext:
    """The system's certificate authorities and certifi's; 30 ms to load."""
    return httpcore.default_ssl_context()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said. Headers have lower-case names; the body is empty unless the status is good."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """GET without redirects, cookies, credentials or proxies. Belongs to one event loop."""

    def __init__(
        self, backend: GuardedBackend, user_agent: str, in_flight: int, tls: ssl.SSLContext | None = None
    ) -> None:
        self._user_agent = user_agent
        self._connections = Connections(lambda: httpcore.AsyncConnectionPool(
            ssl_context=tls or default_tls(),
            max_connections=in_flight,
            max_keepalive_connections=in_flight,
            keepalive_expiry=KEEP_ALIVE,
            http2=True,
            network_backend=backend,
        ))

    async def get(
        self, address: Address, headers: Mapping[str, str], max_bytes: int, wanted: Wanted | None = None
    ) -> Answer:
        """Ask for ``address`` and read the answer.

        The body is held to ``max_bytes`` as it comes and as it inflates, and to what is ``wanted``; with
        nothing wanted it is cut at ``max_bytes`` instead. Raises Unsafe, Transient and Permanent.
        """
        try:
            async with self._connections.to(address.origin) as pool:
                return await self._get(pool, address, headers, max_bytes, wanted)
        except NETWORK as error:
            raise of_exception(error) from error

    async def _get(
        self, pool: httpcore.AsyncConnectionPool, address: Address, headers: Mapping[str, str],
        max_bytes: int, wanted: Wanted | None,
    ) -> Answer:
        response = await self._open(pool, address, headers)
        try:
            received = _joined(response.headers)
            if response.status in GOOD:
                body = await _read(response, received, max_bytes, wanted)
            else:
                body = b""
                await _drain(response, received)
            return Answer(response.status, received, body)
        finally:
            await response.aclose()

    async def _open(
        self, pool: httpcore.AsyncConnectionPool, address: Address, headers: Mapping[str, str]
    ) -> httpcore.Response:
        """The answer up to its body, over a connection that lives.

        A kept connection may turn out to have been closed by the server meanwhile: that is no failure, and
        a GET may be sent again (RFC 9110 §9.2.2), until a new connection has been made for it.
        """
        sent = {
            **headers, "host": address.netloc, "user-agent": self._user_agent, "accept-encoding": OFFERED
        }
        timeouts = {"connect": CONNECT, "read": SILENCE, "write": SILENCE, "pool": SILENCE}
        dialled = False

        async def watch(event: str, _: Mapping[str, object]) -> None:
            nonlocal dialled
            dialled = dialled or event == "connection.connect_tcp.started"

        while True:
            request = httpcore.Request(
                "GET",
                httpcore.URL(
                    scheme=address.scheme, host=address.host, port=address.port, target=address.target
                ),
                headers=[(name, value.encode("latin-1")) for name, value in sent.items()],
                extensions={"timeout": timeouts, "trace": watch},
            )
            try:
                return await pool.handle_async_request(request)
            except BROKEN:
                if dialled:
                    raise
            except ValueError as error:  # a status of HTTP/2 that is no number
                raise httpcore.RemoteProtocolError(str(error)) from error

    async def close(self) -> None:
        await self._connections.close()


def _joined(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Lower-case names, repeated fields joined by commas (RFC 9110 §5.3), cookies dropped."""
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name != "set-cookie":
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


async def _read(
    response: httpcore.Response, headers: Mapping[str, str], max_bytes: int, wanted: Wanted | None
) -> bytes:
    content_type = headers.get("content-type", "")
    if wanted:
        check_declared(wanted, content_type)
        if _declared_length(headers) > max_bytes:
            raise of_content(Content.TOO_LARGE, limit=max_bytes)
    inflater = Inflater(headers.get("content-encoding", ""), max_bytes)
    body = bytearray()
    looked_at = 0
    async for chunk in _paced(response, max_bytes if wanted else None):
        body += inflater.feed(chunk)
        if len(body) > max_bytes:
            if wanted:
                raise of_content(Content.TOO_LARGE, limit=max_bytes)
            return bytes(body[:max_bytes])
        if wanted and looked_at < HEAD < len(body):
            check_bytes(wanted, content_type, bytes(body[:HEAD]))
            looked_at = HEAD
    inflater.finish()
    if wanted and not looked_at:
        check_bytes(wanted, content_type, bytes(body))
    return bytes(body)


async def _paced(response: httpcore.Response, max_bytes: int | None) -> AsyncIterator[bytes]:
    """The body as it comes, refused when it is too much or too slow."""
    start = time.monotonic()
    count = 0
    async for chunk in response.aiter_stream():
        count += len(chunk)
        if max_bytes is not None and count > max_bytes:
            raise of_content(Content.TOO_LARGE, limit=max_bytes)
        elapsed = time.monotonic() - start
        if elapsed > PATIENCE and count < SLOWEST * elapsed:
            raise of_content(Content.TOO_SLOW, least=SLOWEST)
        yield chunk


async def _drain(response: httpcore.Response, headers: Mapping[str, str]) -> None:
    """Read a body that nobody wants when that is cheaper than a new connection."""
    if response.status == 304 or _declared_length(headers, missing=SMALL + 1) <= SMALL:
        with suppress(TimeoutError, *NETWORK):
            async with asyncio.timeout(DRAIN):
                async for _ in response.aiter_stream():
                    pass


def _declared_length(headers: Mapping[str, str], missing: int = 0) -> int:
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else missing
