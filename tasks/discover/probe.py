"""Finding out what an address is, before it becomes a source: one request, whose body is the first poll."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from models.addresses import without_fragment
from models.extracted import Extracted
from models.states import PollOutcome, SourceKind
from tasks.discover.kinds import feed, page
from tasks.discover.offers import Look, Offer
from tasks.discover.wishes import AUTO
from tasks.errors import NeedsBrowser, Permanent, StageError
from tasks.ports import Fetched, Fetcher, Parser, Wanted

WANTED = {AUTO: Wanted.ANY, SourceKind.FEED: Wanted.FEED, SourceKind.PAGE: Wanted.PAGE}
MOST_ANNOUNCED = 3  # feeds of a page that are tried


@dataclass(frozen=True, slots=True)
class Found:
    """What an address turned out to be."""

    kind: SourceKind
    url: str
    title: str
    offer: Offer


async def probe(fetcher: Fetcher, parser: Parser, url: str, kind: str) -> Found:
    """Look at ``url`` as ``kind``, or find the kind out. Raises the StageError that says why it is none."""
    fetched = await fetcher.fetch(url, WANTED[kind])
    if kind != SourceKind.PAGE:
        offer = await feed.offer_of(fetched, parser, Look(url))
        if offer.outcome is PollOutcome.NEW:
            return found_feed(url, offer)
        if kind == SourceKind.FEED:
            raise Permanent(f"{url} cannot be a feed: {offer.reason}")
    extracted = await read_page(fetched, parser)
    announced = extracted.feeds if extracted and kind == AUTO else ()
    for feed_url in map(without_fragment, announced[:MOST_ANNOUNCED]):
        if found := await verified(fetcher, parser, feed_url):
            return found
    offer = await page.discover(fetcher, parser, Look(url))
    return Found(SourceKind.PAGE, url, (extracted and extracted.title) or host_of(url), offer)


async def read_page(fetched: Fetched, parser: Parser) -> Extracted | None:
    """What the page says; none where only a browser could tell, which is no reason to refuse it."""
    context = {"url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset}
    try:
        return Extracted.from_json(await parser.parse("page", fetched.body, context))
    except NeedsBrowser:
        return None


async def verified(fetcher: Fetcher, parser: Parser, url: str) -> Found | None:
    """The feed that a page announces, if it is one."""
    try:
        offer = await feed.discover(fetcher, parser, Look(url))
    except StageError:
        return None
    return found_feed(url, offer) if offer.outcome is PollOutcome.NEW else None


def found_feed(url: str, offer: Offer) -> Found:
    return Found(SourceKind.FEED, url, offer.title or host_of(url), offer)


def host_of(url: str) -> str:
    return urlsplit(url).hostname or url
