"""Finding out what an address is, before it becomes a source: one request, whose body is the first poll."""

from contextlib import suppress
from typing import Any

from models.extracted import Extracted
from models.states import PollOutcome, SourceKind
from tasks.discover.auto import Found, feeds_of, found_feed, host_of, sitemap_of
from tasks.discover.doubt import GOOD
from tasks.discover.kinds import feed, json_api, listing, page, sitemap
from tasks.discover.offers import Look, Offer
from tasks.discover.wishes import AUTO
from tasks.errors import NeedsBrowser, Permanent, StageError
from tasks.ports import Fetched, Fetcher, Parser, Wanted

WANTED = {AUTO: Wanted.ANY, SourceKind.FEED: Wanted.FEED, SourceKind.SITEMAP: Wanted.FEED,
          SourceKind.PAGE: Wanted.PAGE, SourceKind.LISTING: Wanted.PAGE}


class NeedsMap(Permanent):
    """It is a JSON API: it can be read once its owner says where the items are."""


async def probe(fetcher: Fetcher, parser: Parser, look: Look, kind: str) -> list[Found]:
    """What an address is, looked at as ``kind``; of what ``auto`` finds the best first, the page itself last.

    Raises the StageError that says why it is none.
    """
    if kind == SourceKind.JSON:
        return [await probe_json(fetcher, parser, look)]
    fetched = await fetcher.fetch(look.url, WANTED[kind], None, look.headers)
    if kind in {AUTO, SourceKind.FEED}:
        offer = await feed.offer_of(fetched, parser, look)
        if offer.outcome is PollOutcome.NEW:
            return [found_feed(look.url, offer)]
        if kind == SourceKind.FEED:
            raise refusal(look.url, "feed", offer)
        refuse_broken(look.url, "feed", offer)
        if fetched.media_type.endswith("json"):
            raise NeedsMap(f"{look.url} answers with JSON that is no feed: add it as kind json, with a map "
                            "like --map items=data.posts --map url=link")
    if kind in {AUTO, SourceKind.SITEMAP}:
        offer = await sitemap.offer_of(fetched, fetcher, parser, look)
        if offer.outcome in GOOD:
            return [Found(SourceKind.SITEMAP, look.url, offer.title or host_of(look.url), offer)]
        if kind == SourceKind.SITEMAP or offer.outcome is PollOutcome.FAILED:
            raise refusal(look.url, "sitemap", offer)
        refuse_broken(look.url, "sitemap", offer)
    if kind == AUTO and (found := await offered(fetcher, parser, look, fetched)):
        return found
    if kind == SourceKind.LISTING:
        return [await probe_listing(parser, look, fetched)]
    try:
        return [await probe_page(fetcher, parser, look, fetched)]
    except Permanent as refused:
        if kind == SourceKind.PAGE:
            raise
        with suppress(StageError):
            return [await probe_listing(parser, look, fetched)]
        raise refused from None


def refuse_broken(url: str, what: str, offer: Offer) -> None:
    """What is one, and cannot be read, is not looked at as anything else. Raises Permanent."""
    if offer.reason.startswith(f"the {what} "):
        raise refusal(url, what, offer)


def refusal(url: str, what: str, offer: Offer) -> Permanent:
    why = offer.reason.removeprefix(f"not a {what}: ")
    return Permanent(f"{url} cannot be a {what}: " + why.replace(f"the {what} ", "it ", 1))


async def offered(fetcher: Fetcher, parser: Parser, look: Look, fetched: Fetched) -> list[Found]:
    """What the page offers to be polled."""
    head = await parser.parse("head", fetched.body, context(fetched))
    feeds = await feeds_of(fetcher, parser, look, fetched, head["feeds"])
    return feeds or await sitemap_of(fetcher, parser, look, fetched)


async def probe_page(fetcher: Fetcher, parser: Parser, look: Look, fetched: Fetched) -> Found:
    """The page itself, which may need a browser to be read: that is no reason to refuse it."""
    try:
        title = Extracted.from_json(await parser.parse("page", fetched.body, context(fetched))).title
    except NeedsBrowser:
        title = ""
    offer = await page.discover(fetcher, parser, look)
    return Found(SourceKind.PAGE, look.url, title or host_of(look.url), offer)


async def probe_listing(parser: Parser, look: Look, fetched: Fetched) -> Found:
    """A page that is no article, and lists others."""
    offer = await listing.offer_of(fetched, parser, look)
    if offer.outcome is not PollOutcome.NEW or not offer.items:
        raise refusal(look.url, "listing", offer)
    return Found(SourceKind.LISTING, look.url, offer.title or host_of(look.url), offer)


def context(fetched: Fetched) -> dict[str, Any]:
    return {"url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset}


async def probe_json(fetcher: Fetcher, parser: Parser, look: Look) -> Found:
    """An API cannot be recognised: it is one when its map leads to a list."""
    offer = await json_api.discover(fetcher, parser, look)
    if offer.outcome is not PollOutcome.NEW:
        raise Permanent(f"{look.url} cannot be read with this map: {offer.reason}")
    return Found(SourceKind.JSON, look.url, host_of(look.url), offer)
