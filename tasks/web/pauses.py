"""Pauses: how long each host wants to be left alone, remembered over a restart."""

import asyncio
import logging
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from time import monotonic

from tasks.ports import PauseStore
from tasks.web.failures import Content, of_content
from tasks.web.statuses import BUSY, GOOD, LONGEST_WAIT, retry_after

log = logging.getLogger(__name__)

PATIENCE = 3  # answers 429 in a row that ask for no wait, before the host is given one
FIRST_PAUSE = timedelta(minutes=1)  # then; doubled with each further one
LONGEST_PAUSE = timedelta(hours=1)
SPREAD = 0.1  # of what is left of a pause: those who were turned away do not all return at its end
HOSTS = 10_000  # remembered
KNOWN = 30.0  # seconds that what other processes were asked may stay unknown here


class Pauses:
    """The pauses of all hosts. Belongs to one event loop."""

    def __init__(self, store: PauseStore | None = None) -> None:
        self._store = store
        self._until: dict[str, datetime] = {}
        self._refusals: dict[str, int] = {}
        self._lock = asyncio.Lock()
        self._recall_at = 0.0

    async def recall(self) -> None:
        """Learn what was asked for before this process began, and of others since; at once if that failed."""
        if self._store is None or monotonic() < self._recall_at:
            return
        async with self._lock:
            if monotonic() < self._recall_at:
                return
            try:
                known = await asyncio.to_thread(self._store.load)
            except Exception:
                log.exception("The pauses that hosts have asked for could not be read")
                return
            self._recall_at = monotonic() + KNOWN
        for host, until in known.items():
            self._until[host] = max(until, self._until.get(host, until))

    async def heed(
        self, host: str, status: int, headers: Mapping[str, str], robots: bool = False
    ) -> None:
        """Begin the pause that an answer asks for, or that too many refusals of pages stand for."""
        now = datetime.now(UTC)
        wait = retry_after(headers.get("retry-after", ""), now) if status in BUSY else None
        if not robots:
            refusals = self._count_refusals(host, status)
            if refusals >= PATIENCE:
                wait = wait or min(FIRST_PAUSE * 2 ** min(refusals - PATIENCE, 10), LONGEST_PAUSE)
        if wait:
            await self.begin(host, now + wait)

    def _count_refusals(self, host: str, status: int) -> int:
        """Those in a row that this answer ends, itself included; none when it is no refusal."""
        if status == 429:
            self._refusals[host] = self._refusals.get(host, 0) + 1
            return self._refusals[host]
        if status in GOOD or status == 304:
            self._refusals.pop(host, None)
        return 0

    async def begin(self, host: str, until: datetime) -> None:
        """Ask nothing of ``host`` before ``until``."""
        self._forget()
        self._until[host] = until = max(until, self._until.get(host, until))
        if self._store:
            try:
                await asyncio.to_thread(self._store.save, host, until)
            except Exception:
                log.exception("The pause that %s has asked for could not be kept", host)

    def check(self, host: str) -> None:
        """Raises Postponed, with what is left of it and a little more, while ``host`` is in a pause."""
        until = self._until.get(host)
        if until is None:
            return
        left = min(until - datetime.now(UTC), LONGEST_WAIT)
        if left <= timedelta():
            del self._until[host]
            return
        more = left * SPREAD * random.random()  # noqa: S311 - no secret
        raise of_content(Content.PAUSE, retry_after=left + more, host=host, until=until)

    async def slow(self, host: str, asked: float, kept: float) -> None:
        """Let the owner see that a host asks for more seconds between two pages than it is given."""
        if self._store:
            try:
                await asyncio.to_thread(self._store.save_delay, host, asked, kept)
            except Exception:
                log.exception("The delay that %s asks for could not be kept", host)

    def _forget(self) -> None:
        if len(self._until) + len(self._refusals) > HOSTS:
            now = datetime.now(UTC)
            self._until = {host: until for host, until in self._until.items() if until > now}
            self._refusals.clear()
