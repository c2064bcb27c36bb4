"""A JSON API: one conditional request where it has one page, and two where it has more.

The second is for the last page, which is where an API that lists the oldest first brings what is new.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from models.addresses import Address
from models.states import PollOutcome
from tasks.discover.json_map import PARAMETER
from tasks.discover.kinds.feed import honest, item_of, joined, routes_joined, unchanged
from tasks.discover.offers import Item, Look, Offer
from tasks.errors import Permanent, StageError
from tasks.ports import Fetched, Fetcher, Parser, Validators, Wanted

MOST_PAGES = 10
MOST_ITEMS = 5_000  # of all pages
LINK = ("http://", "https://", "/", "?", "./")
CURSOR_AT = "cursor"  # the query parameter, where the map names none


@dataclass
class Pages:
    """What was read, page by page, and why no further."""

    look: Look
    items: list[Item] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)  # addresses, and digests of bodies
    read: int = 0
    warning: str = ""
    whole: bool = True  # no: a page that is there could not be read
    last: dict[str, Any] = field(default_factory=dict)  # the last page after the first, for the next look

    def take(self, told: dict[str, Any]) -> None:
        self.items += [item_of(item, self.look) for item in told["items"]]
        self.left_out.update(told["rejected"])
        self.read += 1


async def discover(fetcher: Fetcher, parser: Parser, look: Look) -> Offer:
    """What the API offers now. What answers, but not as the map says, is suspect and says why."""
    first = await fetcher.fetch(look.url, Wanted.JSON, look.validators, look.headers)
    body_hash = sha256(first.body).hexdigest()
    if same := unchanged(first, look, body_hash):
        if await last_is_unchanged(fetcher, look):
            return same
        if first.not_modified:
            first = await fetcher.fetch(look.url, Wanted.JSON, None, look.headers)
            body_hash = sha256(first.body).hexdigest()
    pages = Pages(look, seen={look.url, body_hash})
    try:
        told = await read(first, parser, look)
    except Permanent as error:
        return Offer(PollOutcome.SUSPECT, error.reason, status=first.status)
    pages.take(told)
    await read_on(fetcher, parser, look, pages, told["next"])
    return offer_of(pages, first, body_hash)


async def last_is_unchanged(fetcher: Fetcher, look: Look) -> bool:
    """Whether the last page, if there was more than one, is as it was; not if it cannot be told."""
    for url, part in look.parts.items():
        known = Validators(part["etag"], part["last_modified"])
        try:
            fetched = await fetcher.fetch(url, Wanted.JSON, known, look.headers)
        except StageError:
            return False
        if not fetched.not_modified and sha256(fetched.body).hexdigest() != part["body_hash"]:
            return False
    return True


async def read(fetched: Fetched, parser: Parser, look: Look) -> dict[str, Any]:
    return await parser.parse("json", fetched.body, {
        "url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset,
        "mapping": dict(look.map),
    })


async def read_on(fetcher: Fetcher, parser: Parser, look: Look, pages: Pages, after: str | None) -> None:
    """Read the pages after the first, until one names no other or there is a reason to stop."""
    while after:
        try:
            url = next_page(look, after, pages)
        except ValueError as error:
            pages.warning = f"page {pages.read + 1} is not read: {error}"
            return
        try:
            fetched = await fetcher.fetch(url, Wanted.JSON, None, look.headers)
            told = await read(fetched, parser, look)
        except StageError as error:
            pages.warning, pages.whole = f"page {pages.read + 1} could not be read: {error.reason}", False
            return
        body_hash = sha256(fetched.body).hexdigest()
        if body_hash in pages.seen:
            pages.warning = f"page {pages.read + 1} is not read: it is the same as one before it"
            return
        pages.seen |= {url, body_hash}
        pages.take(told)
        told_by = honest(fetched.validators, fetched.fetched_at)
        pages.last = {url: asdict(told_by) | {"body_hash": body_hash}}
        after = told["next"]


def next_page(look: Look, after: str, pages: Pages) -> str:
    """The address of the page that ``after`` names. Raises ValueError where it is not to be read."""
    if pages.read == MOST_PAGES or len(pages.items) >= MOST_ITEMS:
        raise ValueError(f"one poll reads {MOST_PAGES} pages or {MOST_ITEMS:,} items")
    url = address_of(look, after)
    if url in pages.seen:
        raise ValueError(f"“{after[:80]}” leads to a page that was read")
    return url


def address_of(look: Look, after: str) -> str:
    """Where a link leads, which stays on the source's host, or where a cursor does, in the source's query.

    Only a link's path and query are taken, so that no page is asked for less securely than the first.
    Raises ValueError.
    """
    source = Address.parse(look.url)
    if PARAMETER in look.map or not after.startswith(LINK):
        return str(source.at(with_parameter(source, look.map.get(PARAMETER, CURSOR_AT), after)))
    link = source.join(after)
    if link.host != source.host:
        raise ValueError(f"it is on another host, {link.host}")
    return source.origin + link.target


def with_parameter(address: Address, name: str, value: str) -> str:
    """The path and query of ``address`` with one parameter set."""
    query = (address.query or "").split("&")
    kept = [part for part in query if part and part.partition("=")[0] != name]
    said = quote(value, safe="", errors="replace")
    return f"{address.path}?{'&'.join([*kept, f'{name}={said}'])}"


def offer_of(pages: Pages, first: Fetched, body_hash: str) -> Offer:
    items = joined(pages.items)
    left_out = pages.left_out + Counter(repeated=len(pages.items) - len(items))
    reason = ", ".join(f"{number} {why}" for why, number in left_out.items())
    if reason and not items:
        return Offer(PollOutcome.SUSPECT, f"of all that it offers, {reason}", status=first.status)
    warning = "; ".join(filter(None, [pages.warning, routes_joined(pages.items, items)]))
    told = honest(first.validators, first.fetched_at) if pages.whole else Validators()
    return Offer(
        PollOutcome.NEW, reason, items, left_out.total(), validators=told, status=first.status,
        body_hash=body_hash if pages.whole else None, moved_to=first.moved_to,
        warning=warning, partial=not pages.whole, parts=pages.last if pages.whole else {},
    )
