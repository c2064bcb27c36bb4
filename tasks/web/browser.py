"""Pages that scripts make: each is rendered by a browser of its own, which is gone afterwards."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from urllib.parse import urlsplit

from playwright.async_api import Error, Playwright, async_playwright

from models.addresses import Address, is_route, without_fragment
from tasks.errors import StageError, Unsafe
from tasks.ports import Fetched, Validators
from tasks.web.background import Background
from tasks.web.dialling import GuardedBackend, Resolver, look_up
from tasks.web.door import user_agent
from tasks.web.failures import Content, of_content
from tasks.web.guard_proxy import GuardProxy
from tasks.web.policy import Policy
from tasks.web.visit import Limits, Visit

AT_ONCE = 1  # a browser takes 300 MB and both cores of a small machine
LOCAL = "127.0.0.1"

Admit = Callable[[str], Awaitable[None]]
"""Waits until a page may be asked for. Raises StageErrors where it may not."""


class Browser:
    """Implements ports.Renderer. ``where`` is the path of a Chromium, or ``ws://…`` of a Playwright server.

    The page itself is asked for as the door would ask for it: ``admit`` (Door.admit) waits for its turn, and
    is asked again about where its scripts lead, if that is elsewhere: robots.txt has a say in what is read.
    What a page loads for itself (scripts, styles, data, frames) is loaded as by any browser, under the
    address policy and the bounds of the guard proxy: it is read through the page or not at all. One page is
    rendered at a time. Usable from any thread and event loop.
    """

    def __init__(
        self, policy: Policy, where: str, contact: str = "", *, limits: Limits | None = None,
        resolver: Resolver | None = None, at_once: int = AT_ONCE, admit: Admit | None = None,
    ) -> None:
        self._policy = policy
        self._where = where
        self._product = user_agent(contact)
        self._limits = limits or Limits()
        self._resolver = resolver or look_up
        self._admit = admit
        self._room = asyncio.Semaphore(at_once)
        self._starting = asyncio.Lock()
        self._playwright: Playwright | None = None
        self._waiting = 0
        self._background = Background("almanac-browser")

    async def render(self, url: str) -> Fetched:
        """The page at ``url`` as it stands after its scripts have run: see ports.Renderer."""
        if self._background.closed:
            raise of_content(Content.BROWSER_CLOSED)
        return await self._background.run(self._render(url))

    def close(self) -> None:
        """End the browsers under way. May be called again."""
        self._background.close()

    async def _render(self, url: str) -> Fetched:
        try:
            start = Address.parse(url)
        except ValueError as error:
            raise Unsafe(str(error)) from error
        try:
            backend = await network_for(start, self._policy, self._resolver)
            if self._admit:
                await self._admit(str(start))
            async with self._driver() as playwright, self._room:
                return await self._visit(playwright, start, backend)
        except asyncio.CancelledError:
            if self._background.closed:  # nobody asked for this page to be left
                raise of_content(Content.BROWSER_CLOSED) from None
            raise

    @asynccontextmanager
    async def _driver(self) -> AsyncIterator[Playwright]:
        """Playwright's driver, which takes seconds to start: it runs for as long as a page waits for it."""
        self._waiting += 1
        try:
            async with self._starting:
                self._playwright = self._playwright or await async_playwright().start()
            yield self._playwright
        finally:
            self._waiting -= 1
            async with self._starting:
                if self._playwright and not self._waiting:
                    idle, self._playwright = self._playwright, None
                    with suppress(Error):
                        await idle.stop()

    async def _visit(self, playwright: Playwright, start: Address, backend: GuardedBackend) -> Fetched:
        ip, clients = await self._sides()
        proxy = GuardProxy(backend, clients)
        async with proxy.open(ip) as way_out:
            visit = Visit(self._where, way_out, self._product, self._limits)
            try:
                url, html = await visit.read(playwright, str(start))
            except StageError:
                self._check_end(visit.asked or str(start), proxy)
                raise
        for end in (visit.asked, url):
            self._check_end(end, proxy)
        if self._admit and Address.parse(url).at("") != start.at(""):
            await self._admit(url)
        return Fetched(
            url=str(start), final_url=url if is_route(url) else without_fragment(url), status=200,
            body=html.encode(errors="replace"), media_type="text/html", charset="utf-8",
            validators=Validators(), fetched_at=datetime.now(UTC),
        )

    async def _sides(self) -> tuple[str, Sequence[str]]:
        """Our address on the way to the browser, and those from which it may use the proxy."""
        server = urlsplit(self._where)
        if server.scheme not in {"ws", "wss"}:
            return LOCAL, (LOCAL,)
        host, port = server.hostname or "", server.port or 80
        try:
            peers = await look_up(host, port)
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=(peers[0], port))
        except OSError as error:
            raise of_content(Content.NO_BROWSER) from error
        ours: str = transport.get_extra_info("sockname")[0]
        transport.close()
        return ours, peers

    def _check_end(self, url: str, proxy: GuardProxy) -> None:
        """Judge where the page was led, and what it loaded on the way. Raises StageErrors."""
        if proxy.overrun:
            raise proxy.overrun
        try:
            end = Address.parse(url)
            if refusal := proxy.refused.get((end.host, end.port)):
                raise refusal
            self._policy.check_host(end.host, end.port)
        except (ValueError, Unsafe) as error:
            raise of_content(Content.LED_ASTRAY, why=error) from error


async def network_for(start: Address, policy: Policy, resolver: Resolver) -> GuardedBackend:
    """The network of one visit: every name keeps the addresses that it had first.

    What the owner allows beside public addresses is for pages that are the owner's themselves: scripts of a
    public page get no way into those networks. Raises Unsafe, Transient.
    """
    pinned = Pinned(resolver)
    owners = GuardedBackend(policy, pinned)
    await owners.addresses(start.host, start.port)
    public = GuardedBackend(Policy(), pinned)
    try:
        await public.addresses(start.host, start.port)
    except Unsafe:
        return owners
    return public


class Pinned:
    """A resolver that asks once for each name: a name cannot lead elsewhere in the middle of a visit."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._known: dict[tuple[str, int], Sequence[str]] = {}

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        if (host, port) not in self._known:
            self._known[host, port] = await self._resolver(host, port)
        return self._known[host, port]
