"""A source as it would be, shown before anything is saved."""

from typing import Any

from tasks.discover.offers import Item, Look
from tasks.discover.probe import probe
from tasks.discover.wishes import NewSource
from tasks.ports import Fetcher, Parser, Wanted

SHOWN = 3


async def preview_source(fetcher: Fetcher, parser: Parser, new: NewSource) -> dict[str, Any]:
    """What adding ``new`` would find. Raises the StageError of a look that failed."""
    look = Look(new.url, headers=new.headers, map=new.map, include=new.include, limit=new.limit,
                fragment_routes=new.fragment_routes)
    return await preview(fetcher, parser, look, new.kind, new.name)


async def sample_json(fetcher: Fetcher, parser: Parser, new: NewSource) -> dict[str, Any]:
    """What a JSON API answers, for somebody who makes a map of it: see ``json_sample``."""
    fetched = await fetcher.fetch(new.url, Wanted.JSON, None, new.headers)
    return await parser.parse("json_sample", fetched.body, {
        "url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset})


async def preview(
    fetcher: Fetcher, parser: Parser, look: Look, kind: str, name: str | None
) -> dict[str, Any]:
    """What is there: its kind, address and name, and its first items as they are read."""
    found, *others = await probe(fetcher, parser, look, kind)
    offer = found.offer
    return {
        "kind": found.kind, "url": found.url, "name": name or found.title, "offered": offer.seen,
        "reason": ", ".join(filter(None, (offer.reason, offer.warning))),
        "items": [shown(item) for item in offer.items[:SHOWN]],
        "others": [other.to_json() for other in others],
    }


def shown(item: Item) -> dict[str, Any]:
    return {
        "url": item.url, "title": item.title, "author": item.author,
        "published_at": item.published_at and item.published_at.isoformat(), "summary": item.summary,
    }
