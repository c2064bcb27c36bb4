"""Almanac's own documentation: the files on the shelf, changed when their text is."""

import json

from models.states import PollOutcome
from tasks.discover.documentation import SCHEME
from tasks.discover.offers import Item, Look, Offer
from tasks.ports import Fetcher, Parser, Wanted


async def discover(fetcher: Fetcher, parser: Parser, look: Look) -> Offer:
    """One request to the shelf, conditional like any other."""
    fetched = await fetcher.fetch(look.url, Wanted.ANY, look.validators)
    if fetched.not_modified:
        return Offer(PollOutcome.UNCHANGED, "the same files as before", status=fetched.status)
    return Offer(
        PollOutcome.NEW,
        items=tuple(item_of(**file) for file in json.loads(fetched.body)),
        validators=fetched.validators,
        body_hash=fetched.validators.etag,
        status=fetched.status,
    )


def item_of(name: str, title: str, digest: str) -> Item:
    url = f"{SCHEME}:{name}"
    return Item(url, key=url, item_key=url, item_hash=digest, title=title)
