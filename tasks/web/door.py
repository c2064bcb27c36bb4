"""The one door to the web: every address that somebody else named is fetched through here."""

import asyncio
import ssl
from collections.abc import Mapping
from importlib.metadata import version

from tasks.ports import Fetched, PauseStore, Validators, Wanted
from tasks.web.background import Background
from tasks.web.client import Client
from tasks.web.dialling import GuardedBackend, Resolver
from tasks.web.failures import Content, of_content
from tasks.web.fetching import Fetching
from tasks.web.pacing import Pacer
from tasks.web.pauses import Pauses
from tasks.web.policy import Policy


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
        pauses: PauseStore | None = None,
    ) -> None:
        self._client = Client(GuardedBackend(policy, resolver), user_agent(contact), in_flight, tls)
        resting = Pauses(pauses)
        pacer = Pacer(host_delay, in_flight, resting.check)
        self._work = Fetching(policy, self._client, pacer, resting, timeout, max_bytes)
        # A name that hangs holds a thread until the resolver gives up: there are more of them than fetches.
        self._background = Background("almanac-door", 4 * in_flight, self._client.close)

    async def fetch(
        self, url: str, wanted: Wanted, validators: Validators | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Read ``url``: see ports.Fetcher. Cancelling the caller cancels the fetch."""
        if self._background.closed:
            raise of_content(Content.CLOSED)
        return await self._background.run(
            self._fetch(url, wanted, validators or Validators(), headers or {}))

    async def admit(self, url: str) -> None:
        """Wait until a page at ``url`` may be asked for by another way, as the browser does it.

        Raises Unsafe, Postponed (a pause, others in front), Transient; Permanent where robots.txt refuses.
        """
        if self._background.closed:
            raise of_content(Content.CLOSED)
        await self._background.run(self._work.admit(url))

    async def _fetch(
        self, url: str, wanted: Wanted, validators: Validators, headers: Mapping[str, str]
    ) -> Fetched:
        try:
            return await self._work.fetch(url, wanted, validators, headers)
        except asyncio.CancelledError:
            if self._background.closed:  # nobody asked for this fetch to be cancelled
                raise of_content(Content.CLOSED) from None
            raise

    def close(self) -> None:
        """End every fetch under way and the thread. May be called again."""
        self._background.close()
