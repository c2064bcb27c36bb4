"""One fetch from its address to its answer: policy, robots.txt, turn, request, redirects, verdict."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from time import monotonic

from models.addresses import Address, same_server
from models.headers import check_headers
from tasks.errors import Permanent, Transient, Unsafe
from tasks.ports import Fetched, Validators, Wanted
from tasks.web.client import Answer, Client
from tasks.web.failures import Content, TooManyRedirects, UnsafeRedirect, of_content, of_status
from tasks.web.media import ACCEPT, charset, media_type
from tasks.web.pacing import Pacer
from tasks.web.pauses import Pauses
from tasks.web.policy import Policy
from tasks.web.redirects import Journey, follow
from tasks.web.robots import MAX_BYTES, Robots
from tasks.web.statuses import GOOD, http_date

NAMED_BY_ITS_OWNER = {Wanted.FEED, Wanted.JSON}  # not found by a robot: robots.txt has no say in them


class Fetching:
    """The work of the door. Belongs to one event loop."""

    def __init__(
        self, policy: Policy, client: Client, pacer: Pacer, pauses: Pauses, timeout: float, max_bytes: int
    ) -> None:
        self._policy = policy
        self._client = client
        self._pacer = pacer
        self._pauses = pauses
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._robots = Robots(self._read_robots, slow=pauses.slow)

    async def fetch(
        self, url: str, wanted: Wanted, validators: Validators, own: Mapping[str, str]
    ) -> Fetched:
        try:
            start = Address.parse(url)
        except ValueError as error:
            raise Unsafe(str(error)) from error
        try:
            own = check_headers(own)
        except ValueError as error:
            raise Permanent(str(error)) from error
        await self._pauses.recall()
        asking = {"accept": ACCEPT[wanted], **conditions(validators, datetime.now(UTC))}
        deadline = Deadline(self._timeout)

        async def ask(address: Address) -> Answer:
            nonlocal own
            own = own if same_server(start, address) else {}
            answer = await self._ask(address, wanted, {**asking, **own}, deadline)
            if answer.status == 304 and not is_conditional(asking):
                answer = await self._ask(address, wanted, {**asking, **own}, deadline)
            return answer

        journey = await follow(start, ask)
        answer = journey.answer
        unchanged = answer.status == 304 and is_conditional(asking)
        if answer.status not in GOOD and not unchanged:
            raise of_status(answer.status, answer.headers, datetime.now(UTC))
        return fetched(url, journey, validators if unchanged else Validators())

    async def admit(self, url: str) -> None:
        """Wait for a turn at the server of ``url`` as one request there would, without making it.

        Raises Unsafe, Postponed, Transient, and Permanent where robots.txt refuses.
        """
        address = Address.parse(url)
        await self._pauses.recall()
        async with self._admitted(address, Wanted.PAGE):
            pass

    async def _ask(
        self, address: Address, wanted: Wanted, headers: Mapping[str, str], deadline: "Deadline"
    ) -> Answer:
        async with self._admitted(address, wanted):
            async with deadline.running():
                answer = await self._client.get(address, headers, self._max_bytes, wanted)
            await self._pauses.heed(address.netloc, answer.status, answer.headers)
        return answer

    @asynccontextmanager
    async def _admitted(self, address: Address, wanted: Wanted) -> AsyncIterator[None]:
        """The turn of a request that policy, pauses and robots.txt let through. Raises StageErrors."""
        self._policy.check_host(address.host, address.port)
        self._pauses.check(address.netloc)
        delay = 0.0 if wanted in NAMED_BY_ITS_OWNER else await self._robots.check(address)
        own = self._policy.is_owners(address.host, address.port)
        async with self._pacer.turn(address.netloc, delay, own):
            yield

    async def _read_robots(self, address: Address) -> bytes:
        """The bytes of a robots.txt, none where there is no file. Raises Transient (RFC 9309 §2.3.1)."""
        deadline = Deadline(self._timeout)

        async def ask(address: Address) -> Answer:
            self._pauses.check(address.netloc)
            async with self._pacer.slot(), deadline.running():
                answer = await self._client.get(address, {"accept": "text/plain,*/*"}, MAX_BYTES)
            await self._pauses.heed(address.netloc, answer.status, answer.headers, robots=True)
            return answer

        try:
            answer = (await follow(address, ask)).answer
            if answer.status >= 500:
                raise of_status(answer.status, answer.headers, datetime.now(UTC))
        except TooManyRedirects:
            return b""
        except (UnsafeRedirect, Permanent) as error:  # no verdict on the page that is asked about
            raise Transient(error.reason) from error
        return answer.body


def fetched(url: str, journey: Journey, known: Validators) -> Fetched:
    """The end of a journey as a port's value; ``known`` validators hold where the answer names none."""
    answer = journey.answer
    content_type = answer.headers.get("content-type", "")
    return Fetched(
        url=url,
        final_url=str(journey.address),
        status=answer.status,
        body=answer.body,
        media_type=media_type(content_type),
        charset=charset(content_type),
        validators=Validators(
            answer.headers.get("etag", known.etag), answer.headers.get("last-modified", known.last_modified)
        ),
        fetched_at=datetime.now(UTC),
        headers=answer.headers,
        moved_to=str(journey.moved_to) if journey.moved_to else None,
    )


class Deadline:
    """The seconds that one fetch may spend asking; waiting for a turn costs none of them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = self._left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Spends them. Raises Transient when none are left."""
        start = monotonic()
        try:
            async with asyncio.timeout(self._left):
                yield
        except TimeoutError as error:
            raise of_content(Content.TOO_LATE, seconds=self._seconds) from error
        finally:
            self._left -= monotonic() - start


def conditions(validators: Validators, now: datetime) -> dict[str, str]:
    """The headers that make a request conditional, each exactly as it was received.

    A Last-Modified in the future would be answered 304 for ever, so it is not sent back.
    """
    headers = {}
    if validators.etag:
        headers["if-none-match"] = validators.etag
    if validators.last_modified:
        date = http_date(validators.last_modified)
        if not date or date <= now:
            headers["if-modified-since"] = validators.last_modified
    return headers


def is_conditional(headers: Mapping[str, str]) -> bool:
    return "if-none-match" in headers or "if-modified-since" in headers
