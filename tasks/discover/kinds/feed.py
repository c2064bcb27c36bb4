"""A feed: one conditional request; only a body that was not seen before is parsed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any

from models.addresses import identity_key, is_route
from models.blocks import digest
from models.states import PollOutcome
from tasks.discover.offers import Item, Look, Offer
from tasks.errors import Permanent, Transient
from tasks.ports import Fetched, Fetcher, Parser, Validators, Wanted

CLOCK_SKEW = timedelta(minutes=10)


async def discover(fetcher: Fetcher, parser: Parser, look: Look) -> Offer:
    """What the feed offers now. What answers, but is no feed, is suspect and says why."""
    fetched = await fetcher.fetch(look.url, Wanted.FEED, look.validators, look.headers)
    return await offer_of(fetched, parser, look)


async def offer_of(fetched: Fetched, parser: Parser, look: Look) -> Offer:
    """The judgement of an answer that is already here."""
    return replace(await judge(fetched, parser, look), moved_to=fetched.moved_to)


async def judge(fetched: Fetched, parser: Parser, look: Look) -> Offer:
    body_hash = sha256(fetched.body).hexdigest()
    if same := unchanged(fetched, look, body_hash):
        return same
    validators = honest(fetched.validators, fetched.fetched_at)
    if not fetched.body.strip():
        return Offer(PollOutcome.SUSPECT, "the answer is empty", status=fetched.status)
    context = {"url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset}
    try:
        told = await parser.parse("feed", fetched.body, context)
    except Permanent as error:
        return Offer(PollOutcome.SUSPECT, error.reason, status=fetched.status)
    placed = [item_of(item, look) for item in told["items"] if item["url"]]
    items = joined(placed)
    left_out = {"repeated": len(placed) - len(items), "without an address": len(told["items"]) - len(placed)}
    return Offer(
        PollOutcome.NEW, ", ".join(f"{number} {why}" for why, number in left_out.items() if number),
        items, sum(left_out.values()), told["title"], validators, body_hash, fetched.status,
        warning=routes_joined(placed, items),
    )


def unchanged(fetched: Fetched, look: Look, body_hash: str) -> Offer | None:
    """The verdict on an answer that is as it was at the last good look; None for one that is to be read."""
    if fetched.not_modified:
        if look.validators == Validators():
            raise Transient("it answered 304 Not Modified to a request without conditions")
        since = f"{look.body_at:%Y-%m-%d %H:%M} UTC" if look.body_at else "the last look"
        return Offer(PollOutcome.UNCHANGED, f"not modified since {since}", status=fetched.status)
    if body_hash != look.body_hash:
        return None
    validators = honest(fetched.validators, fetched.fetched_at)
    return Offer(PollOutcome.UNCHANGED, "the same bytes as before", status=fetched.status,
                 validators=validators, body_hash=body_hash)


def honest(validators: Validators, now: datetime) -> Validators:
    """Without a date from the future, which would be answered 304 whatever changes."""
    try:
        dated = parsedate_to_datetime(validators.last_modified or "")
        lies = dated.timestamp() > (now + CLOCK_SKEW).timestamp()
    except (ValueError, OverflowError):
        lies = False  # not a date that we know: the server's own business
    return Validators(etag=validators.etag) if lies else validators


def item_of(told: dict[str, Any], look: Look) -> Item:
    published = told["published_at"]
    return Item(
        url=told["url"], key=identity_key(told["url"], look.fragment_routes), item_key=told["item_key"],
        item_hash=told["item_hash"], title=told["title"], author=told["author"], summary=told["summary"],
        published_at=datetime.fromisoformat(published) if published else None, full_text=told["full_text"],
    )


def joined(items: list[Item]) -> tuple[Item, ...]:
    """One item for each address, in order; items that share one change it together, in whatever order."""
    together: dict[str, dict[Item, None]] = {}
    for item in items:
        together.setdefault(item.key, {})[item] = None
    return tuple(merged(list(sharing)) for sharing in together.values())


def routes_joined(placed: Sequence[Item], items: Sequence[Item]) -> str:
    """One sentence where pages that only their fragments tell apart became one."""
    if len(placed) == len(items):
        return ""
    routes = len({item.url for item in placed if is_route(item.url)})
    pages = len({item.key for item in items if is_route(item.url)})
    if routes <= pages:
        return ""
    return (f"{routes} addresses that differ after “#/” alone are read as {pages}: with "
            "--fragment-routes, and a browser, each is a page of its own")


def merged(sharing: list[Item]) -> Item:
    if len(sharing) == 1:
        return sharing[0]
    hashes = sorted({str(item.item_hash) for item in sharing})
    first = sharing[0]
    return replace(first, item_key=f"link:{first.key}", item_hash=digest(" ".join(hashes)))
