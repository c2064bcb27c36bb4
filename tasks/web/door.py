"""The one door to the web: every address that somebody else named is fetched through here."""

import asyncio
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from tasks.errors import Transient
from tasks.ports import Fetched, Validators, Wanted
from tasks.web.client import Client
from tasks.web.dialling import GuardedBackend, Resolver
from tasks.web.fetching import Fetching
from tasks.web.pacing import Pacer
from tasks.web.policy import Policy

CLOSED = "the door to the web is closed"


def user_agent(contact: str) -> str:
    """Who we say we are. Raises ValueError for a contact that cannot stand in a header."""
    if not (contact.isascii() and contact.isprintable()):
        raise ValueError("the contact shown to webmasters must be plain ASCII on one line")
    product = f"Almanac/{version('almanac-library')}"
    return f"{product} (+{contact})" if contact else product


class Door:
    """Implements ports.Fetcher. One per process, usable from any thread and event loop.

    Robots.txt is obeyed for pages and for addresses that nobody has looked at yet (PAGE, ANY), at every hop.
    It is not asked about a FEED: the owner named that address to be polled, and feed readers, who fetch what
    a person subscribed to, are no crawlers.
    """

    def __init__(
        self,
        policy: Policy,
        contact: str = "",
        host_delay: float = 1.0,
        in_flight: int = 16,
        timeout: float = 30.0,
        max_bytes: int = 10_000_000,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._client = Client(GuardedBackend(policy, resolver), user_agent(contact), in_flight, tls)
        self._work = Fetching(policy, self._client, Pacer(host_delay, in_flight), timeout, max_bytes)
        self._closing = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        # A name that hangs holds a thread until the resolver gives up: there are more of them than fetches.
        self._loop.set_default_executor(ThreadPoolExecutor(4 * in_flight, "almanac-names"))
        self._thread = threading.Thread(target=self._loop.run_forever, name="almanac-door", daemon=True)
        self._thread.start()

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None) -> Fetched:
        """Read ``url``: see ports.Fetcher. Cancelling the caller cancels the fetch."""
        if self._closed:
            raise Transient(CLOSED)
        work = self._fetch(url, wanted, validators or Validators())
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _fetch(self, url: str, wanted: Wanted, validators: Validators) -> Fetched:
        try:
            return await self._work.fetch(url, wanted, validators)
        except asyncio.CancelledError:
            if self._closed:  # nobody asked for this fetch to be cancelled
                raise Transient(CLOSED) from None
            raise

    def close(self) -> None:
        """End every fetch under way and the thread. May be called again."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            try:
                asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(timeout=10)
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join(timeout=10)
            self._loop.close()

    async def _shut(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()
