"""The guarded network for a library that brings its own HTTP client: the openai SDK, which wants httpx2."""

from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager
from typing import cast

import httpcore
import httpx2

from tasks.web.client import default_tls
from tasks.web.dialling import GuardedBackend
from tasks.web.policy import Policy

TOLD = frozenset({"authorization", "accept", "content-type", "content-length", "host"})  # and nothing of us
USER_AGENT = "Almanac"
MOST = 1_000_000  # bytes of an answer, of an error too
TIMED_OUT = (httpcore.ConnectTimeout, httpcore.ReadTimeout, httpcore.WriteTimeout, httpcore.PoolTimeout)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Each connection is judged by the policy, on the address that is dialled; a refusal is Unsafe.

    What the SDK says of this machine (its system, its versions) is left out, and no answer is inflated: none
    was asked for that is packed. Belongs to one event loop.
    """

    def __init__(self, policy: Policy) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=default_tls(), network_backend=GuardedBackend(policy))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = httpcore.URL(scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port,
                           target=request.url.raw_path)
        headers = [(name, value) for name, value in request.headers.raw if name.decode().lower() in TOLD]
        with translated():
            response = await self._pool.handle_async_request(httpcore.Request(
                request.method, url, headers=[*headers, (b"User-Agent", USER_AGENT.encode())],
                content=await request.aread(), extensions={"timeout": request.extensions.get("timeout", {})}))
        plain = [(name, value) for name, value in response.headers if name.lower() != b"content-encoding"]
        return httpx2.Response(response.status, headers=plain, stream=Body(response))

    async def aclose(self) -> None:
        await self._pool.aclose()


class Body(httpx2.AsyncByteStream):
    """Read on by whoever asks again: the SDK looks for what is left behind the last event."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response, self._left = response, MOST

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with translated():
            async for part in cast(AsyncIterable[bytes], self._response.stream):
                self._left -= len(part)
                if self._left < 0:
                    raise httpx2.TransportError("the answer is too long")
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()


@contextmanager
def translated() -> Iterator[None]:
    """httpcore's failures in the words of httpx2."""
    try:
        yield
    except TIMED_OUT as error:
        raise httpx2.TimeoutException(str(error)) from error
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
        raise httpx2.TransportError(str(error)) from error
