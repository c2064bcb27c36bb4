"""A page that lists others: a front page, a section, an archive. What its headlines lead to is read.

It is asked for as a page is, by the rules of robots.txt. Pages on other sites are left out, but for hosts
that its owner names; what lists others again is not followed.
"""

from dataclasses import replace
from hashlib import sha256
from typing import Any

from models.addresses import identity_key
from models.blocks import digest
from models.states import PollOutcome
from tasks.discover.kinds.feed import honest, unchanged
from tasks.discover.kinds.sitemap import unique
from tasks.discover.offers import Item, Look, Offer
from tasks.discover.sitemap_files import Site
from tasks.errors import Permanent
from tasks.ports import Fetched, Fetcher, Parser, Wanted


async def discover(fetcher: Fetcher, parser: Parser, look: Look) -> Offer:
    """What the page lists now. What answers, but lists nothing, is suspect and says why."""
    fetched = await fetcher.fetch(look.url, Wanted.PAGE, look.validators, look.headers)
    return await offer_of(fetched, parser, look)


async def offer_of(fetched: Fetched, parser: Parser, look: Look) -> Offer:
    """The judgement of an answer that is already here."""
    body_hash = sha256(fetched.body).hexdigest()
    if same := unchanged(fetched, look, body_hash):
        return replace(same, moved_to=fetched.moved_to)
    context = {"url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset}
    try:
        told = await parser.parse("links", fetched.body, context)
    except Permanent as error:
        return Offer(PollOutcome.SUSPECT, error.reason, status=fetched.status)
    site = Site([look.url, fetched.final_url], look.include)
    itself = {identity_key(url, look.fragment_routes) for url in (look.url, fetched.final_url)}
    found = unique(item for item in (item_of(each, look) for each in told["items"]) if item.key not in itself)
    own = tuple(item for item in found if site.has(item.url))
    elsewhere = len(found) - len(own)
    return Offer(
        PollOutcome.NEW, f"{elsewhere} on other sites" if elsewhere else "", own, elsewhere, told["title"],
        honest(fetched.validators, fetched.fetched_at), body_hash, fetched.status, moved_to=fetched.moved_to)


def item_of(told: dict[str, Any], look: Look) -> Item:
    """A page is read again when its headline changes."""
    key = identity_key(told["url"], look.fragment_routes)
    return Item(told["url"], key, f"link:{key}", digest(told["title"]), told["title"])
