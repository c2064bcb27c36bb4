"""The guard proxy passes pages on, judges every connection when it is made, and is nobody else's proxy."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from tasks.errors import Permanent, StageError
from tasks.web import guard_proxy
from tasks.web.dialling import GuardedBackend
from tasks.web.guard_proxy import GuardProxy
from tasks.web.policy import Policy


@pytest.fixture
async def proxy(site: Any) -> AsyncIterator[GuardProxy]:
    """One that may reach ``site`` and nothing else of this machine; ``ask`` talks to it."""
    proxy = GuardProxy(GuardedBackend(Policy(site.pair)))
    async with proxy.open() as url:
        proxy.url = url  # type: ignore[attr-defined]
        yield proxy


async def ask(proxy: Any, said: bytes, then: bytes = b"") -> bytes:
    """All that comes back for ``said``, and ``then`` once there was an answer."""
    at = urlsplit(proxy.url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    writer.write(said)
    answer = b""
    if then:
        answer = await reader.readuntil(b"\r\n\r\n")
        writer.write(then)
    with suppress(ConnectionError):
        async with asyncio.timeout(5):
            answer += await reader.read()
    writer.close()
    return answer


def request(url: str, *fields: str) -> bytes:
    return "\r\n".join([f"GET {url} HTTP/1.1", "Host: elsewhere.example", *fields, "", ""]).encode()


async def test_a_page_is_passed_on_without_what_was_for_the_proxy(proxy: GuardProxy, site: Any) -> None:
    site.routes["/a?b=1"] = (200, b"<p>hello", {"connection": "close"})
    answer = await ask(proxy, request(site.url("/a?b=1"), "Accept: text/html", "Proxy-Connection: keep-alive",
                                      "Proxy-Authorization: Basic eA==", "Upgrade: websocket"))
    assert answer.endswith(b"<p>hello")
    assert site.requests[0].headers == {"host": site.pair, "accept": "text/html", "connection": "close"}


@pytest.mark.parametrize(("host", "why"), [
    ("127.0.0.2", "loopback (RFC 1122) is not public"),
    ("2130706434", "loopback (RFC 1122) is not public"),
    ("[::ffff:127.0.0.2]", "loopback (RFC 1122) is not public"),
])
@pytest.mark.parametrize("tunnel", [False, True])
async def test_a_forbidden_address_is_refused_and_the_reason_kept(
    proxy: GuardProxy, site: Any, host: str, why: str, tunnel: bool
) -> None:
    at = f"{host}:{site.port}"
    said = f"CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n".encode() if tunnel else request(f"http://{at}/")
    assert (await ask(proxy, said)).startswith(b"HTTP/1.1 403 ")
    [refused] = proxy.refused.values()
    assert why in refused.reason


async def test_a_tunnel_carries_tls_and_nothing_else() -> None:
    heard = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))
        writer.write(heard[-1].upper())
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    pair = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    connect = f"CONNECT {pair} HTTP/1.1\r\n\r\n".encode()
    established = b"HTTP/1.1 200 Connection established\r\n\r\n"
    proxy = GuardProxy(GuardedBackend(Policy(pair)))
    async with server, proxy.open() as proxy.url:  # type: ignore[attr-defined]
        assert await ask(proxy, connect, then=b"GET / HTTP/1.1\r\n\r\n") == established
        assert await ask(proxy, connect, then=b"\x16hello") == established + b"\x16HELLO"
    assert set(heard) <= {b"", b"\x16hello"}


@pytest.mark.parametrize("said", [
    b"GET / HTTP/1.1\r\n\r\n", b"GET https://a.example/ HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n",
    b"GET http://me:pw@a.example/ HTTP/1.1\r\n\r\n", b"CONNECT a.example:99999 HTTP/1.1\r\n\r\n",
    b"GET ftp://a.example/ HTTP/1.1\r\n\r\n", b"GET file:///etc/passwd HTTP/1.1\r\n\r\n",
])
async def test_what_is_no_request_for_the_web_is_refused(proxy: GuardProxy, said: bytes) -> None:
    assert (await ask(proxy, said)).startswith(b"HTTP/1.1 400 ")


async def test_a_service_that_does_not_answer_is_no_refusal(proxy: GuardProxy, site: Any) -> None:
    closed = GuardProxy(GuardedBackend(Policy("127.0.0.3")))
    async with closed.open() as closed.url:  # type: ignore[attr-defined]
        answer = await ask(closed, request(f"http://127.0.0.3:{site.port}/"))
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert closed.refused == {}


async def test_others_than_the_browser_are_not_served(site: Any) -> None:
    foreign = GuardProxy(GuardedBackend(Policy(site.pair)), clients=["127.0.0.9"])
    async with foreign.open() as foreign.url:  # type: ignore[attr-defined]
        assert await ask(foreign, request(site.url("/"))) == b""
    assert site.connections == 0


async def overrun(proxy: GuardProxy, site: Any, times: int) -> StageError | None:
    for _ in range(times):
        await ask(proxy, request(site.url("/")))
    return proxy.overrun


async def test_a_visit_has_a_limit_of_requests_and_of_bytes(
    proxy: GuardProxy, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.routes["/"] = (200, b"x" * 600_000, {"connection": "close"})
    monkeypatch.setattr(guard_proxy, "MOST_REQUESTS", 3)
    monkeypatch.setattr(guard_proxy, "MOST_BYTES", 1_000_000)
    assert await overrun(proxy, site, 1) is None
    much = await overrun(proxy, site, 1)
    assert isinstance(much, Permanent)
    assert much.reason == "its scripts load more than 1 MB"
    many = await overrun(proxy, site, 2)
    assert many
    assert many.reason == "its scripts ask for more than 3 others"
    assert len(site.requests) == 3


async def test_closing_ends_what_is_under_way(site: Any) -> None:
    async def hang(request: Any, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    site.routes["/"] = hang
    proxy = GuardProxy(GuardedBackend(Policy(site.pair)))
    async with asyncio.timeout(5):
        async with proxy.open() as proxy.url:  # type: ignore[attr-defined]
            asking = asyncio.create_task(ask(proxy, request(site.url("/"))))
            await asyncio.sleep(0.2)
        assert await asking == b""
