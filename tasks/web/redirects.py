"""Redirects, followed by hand: each hop is an address like any other, checked again by whoever asks."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from models.addresses import Address
from tasks.errors import Unsafe
from tasks.web.client import Answer
from tasks.web.failures import Content, of_content
from tasks.web.statuses import PERMANENT_REDIRECTS, REDIRECTS

MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Journey:
    """Where an address led, and the last address that only permanent moves led to."""

    answer: Answer
    address: Address
    moved_to: Address | None


async def follow(start: Address, ask: Callable[[Address], Awaitable[Answer]]) -> Journey:
    """Ask for ``start`` and wherever it redirects to. Raises Permanent for a chain without an end."""
    address, moved_to, permanent = start, None, True
    seen = {(address.origin, address.target)}
    for _ in range(MAX_REDIRECTS + 1):
        try:
            answer = await ask(address)
        except Unsafe as error:
            if address is start:
                raise
            raise of_content(Content.REDIRECT_REFUSED, why=error.reason) from error
        if answer.status not in REDIRECTS or "location" not in answer.headers:
            return Journey(answer, address, moved_to)
        address = target(address, answer.headers)
        permanent = permanent and answer.status in PERMANENT_REDIRECTS
        moved_to = address if permanent else moved_to
        if (address.origin, address.target) in seen:
            raise of_content(Content.REDIRECT_CIRCLE)
        seen.add((address.origin, address.target))
    raise of_content(Content.REDIRECT_CHAIN, limit=MAX_REDIRECTS)


def target(address: Address, headers: Mapping[str, str]) -> Address:
    """Where a redirect leads. Raises UnsafeRedirect when that is not an address to fetch."""
    raw = headers["location"].encode("latin-1")
    try:
        location = raw.decode()
    except UnicodeDecodeError:
        location = headers["location"]
    try:
        return address.join(location)
    except ValueError as error:
        raise of_content(Content.REDIRECT_REFUSED, why=error) from error
