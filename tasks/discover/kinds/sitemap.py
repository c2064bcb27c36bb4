"""A sitemap: one conditional request, and for an index a few more for the files that are new, changed or due.

Nothing is concluded from what a file does not list, so one that fails costs no page anything.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from time import monotonic
from typing import Any

from models.addresses import identity_key
from models.blocks import digest
from models.headers import headers_for
from models.states import PollOutcome
from tasks.discover.kinds import feed
from tasks.discover.offers import Item, Look, Offer
from tasks.discover.sitemap_files import MOST_FILES, Files, Listed, Part, Site, is_robots_txt
from tasks.errors import Permanent, Postponed, StageError, Transient
from tasks.ports import Fetched, Fetcher, Parser, Validators, Wanted

MOST_ASKED = 20  # files of an index in one look
LONGEST = 30.0  # seconds that one look may begin to ask in
MOST_PAGES = 50_000  # of one look
JUST_NOW, SOME = timedelta(minutes=10), 3  # pages
TOLD = 3  # failing files that are named
FIRST = ""  # the name of the source's own file, which may move
ROBOTS = "that is a robots.txt, not a sitemap: give the address that it names after “Sitemap:”"

Told = dict[str, Any]


@dataclass
class Harvest:
    """What a look has found so far."""

    files: Files
    look: Look
    pages: list[Item] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # entries of pages, and why
    unread: int = 0  # entries of files that were never read before
    cut_off: bool = False

    def take(self, told: Told, part: str | None) -> None:
        pages = [replace(item_of(item, self.look), part=part) for item in told["items"]]
        if dates_itself(told["items"], self.files.now):
            pages = [replace(page, item_hash="") for page in pages]
        own = [page for page in pages if self.files.site.has(page.url)]
        self.pages += own
        self.left_out.update({
            "without an address": told["dropped"], "on other sites": len(pages) - len(own),
            "past what is read of one file": told["past"],
        })
        self.cut_off |= told["cut_off"]
        if (more := len(told["sitemaps"]) - MOST_FILES) > 0:
            self.files.skipped[f"past the first {MOST_FILES:,}"] += more


async def discover(fetcher: Fetcher, parser: Parser, look: Look) -> Offer:
    """What the sitemap offers now. What answers, but is no sitemap, is suspect and says why."""
    fetched = await fetcher.fetch(look.url, Wanted.FEED, look.validators, look.headers)
    return await offer_of(fetched, fetcher, parser, look)


async def offer_of(fetched: Fetched, fetcher: Fetcher, parser: Parser, look: Look) -> Offer:
    """The judgement of an answer that is already here, after a look at the files that it names."""
    if is_robots_txt(fetched.final_url):
        return Offer(PollOutcome.SUSPECT, ROBOTS, status=fetched.status)
    known = {url: Part.from_json(told) for url, told in look.parts.items()}
    harvest = Harvest(Files(Site([look.url, fetched.final_url], look.include), known, look.now), look)
    body_hash = sha256(fetched.body).hexdigest()
    if offer := feed.unchanged(fetched, look, body_hash):
        first = known.get(FIRST, Part())
    else:
        try:
            told = await read(fetched, parser)
        except Permanent as error:
            return Offer(PollOutcome.SUSPECT, error.reason, status=fetched.status)
        harvest.take(told, part=None)
        first, offer = Part(sitemaps=pairs(told)), offer_so_far(fetched, told, body_hash)
    if first.sitemaps:
        harvest.files.pass_over(look.url)
        harvest.files.pass_over(fetched.final_url)
        harvest.files.enlist(first.sitemaps, level=2)
        await walk(fetcher, parser, look, harvest)
    return replace(verdict(offer, look, harvest, first), moved_to=fetched.moved_to)


def offer_so_far(fetched: Fetched, told: Told, body_hash: str) -> Offer:
    """Without a memory where the file is cut off: the next look is to have it whole."""
    offer = Offer(PollOutcome.NEW, title=told["title"], status=fetched.status, validators=Validators())
    if told["cut_off"]:
        return offer
    return replace(offer, validators=feed.honest(fetched.validators, fetched.fetched_at), body_hash=body_hash)


async def walk(fetcher: Fetcher, parser: Parser, look: Look, harvest: Harvest) -> None:
    """Ask for the files that it is time for, as far as one look goes."""
    files, until = harvest.files, monotonic() + LONGEST
    for _ in range(MOST_ASKED):
        enough = len(harvest.pages) >= MOST_PAGES or monotonic() > until
        if enough or not (listed := files.next_to_ask(unread=harvest.unread < look.limit)):
            break
        part = files.parts[listed.url]
        try:
            files.parts[listed.url] = await ask(fetcher, parser, look, harvest, listed)
        except Postponed:
            files.skipped["postponed, since their server wants a pause"] += 1
        except StageError as error:
            wait = error.retry_after if isinstance(error, Transient) else None
            files.parts[listed.url] = part.failed(error.reason, wait, look.now)


async def ask(fetcher: Fetcher, parser: Parser, look: Look, harvest: Harvest, listed: Listed) -> Part:
    """Read one file, if it changed; what is to be remembered of it. Raises StageErrors."""
    files, now = harvest.files, look.now.timestamp()
    part = files.parts[listed.url]
    validators = part.validators(look.now)
    own = headers_for(listed.url, look.headers, look.url)
    fetched = await fetcher.fetch(listed.url, Wanted.SITEMAP, validators, own)
    asked = replace(part, lastmod=listed.lastmod, asked_at=now, failures=0, retry_at=0, why="")
    if why := files.leads_back(listed, fetched.final_url):
        files.skipped[why] += 1
        return replace(asked, sitemaps=())
    body_hash = sha256(fetched.body).hexdigest()
    if feed.unchanged(fetched, replace(look, validators=validators, body_hash=part.body_hash), body_hash):
        return asked if fetched.not_modified else replace(asked, body_at=now)
    told = await read(fetched, parser)
    harvest.take(told, listed.url)
    harvest.unread += 0 if part.body_at else len(told["items"])
    files.enlist(pairs(told), listed.level + 1)
    asked = replace(asked, sitemaps=pairs(told))
    if told["cut_off"]:
        return replace(asked, lastmod="", body_hash=None)
    kept = feed.honest(fetched.validators, fetched.fetched_at)
    return replace(asked, etag=kept.etag, last_modified=kept.last_modified, body_hash=body_hash, body_at=now)


async def read(fetched: Fetched, parser: Parser) -> Told:
    context = {"url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset}
    return await parser.parse("sitemap", fetched.body, context)


def pairs(told: Told) -> tuple[tuple[str, str], ...]:
    return tuple((url, lastmod) for url, lastmod in told["sitemaps"][:MOST_FILES])


def item_of(told: Told, look: Look) -> Item:
    """A page is read again when its date changes; one without says nothing of that."""
    if "item_key" in told:  # of a feed that is offered as a sitemap
        return feed.item_of(told, look)
    key = identity_key(told["url"], look.fragment_routes)
    lastmod, published = told["lastmod"], told["published_at"]
    return Item(
        url=told["url"], key=key, item_key=f"link:{key}", item_hash=lastmod and digest(lastmod),
        title=told["title"], published_at=datetime.fromisoformat(published) if published else None,
    )


def dates_itself(items: Sequence[Told], now: datetime) -> bool:
    """Whether a file dates all its pages at the time or the day of being asked: then it tells no changes."""
    dates = [item["lastmod"] for item in items if item.get("lastmod")]
    just_now, today = (now - JUST_NOW).isoformat(), now.replace(hour=0, minute=0, second=0, microsecond=0)
    return len(dates) >= SOME and all(date >= just_now or date == today.isoformat() for date in dates)


def verdict(offer: Offer, look: Look, harvest: Harvest, first: Part) -> Offer:
    """The offer with all that was found, and what is told of it."""
    files = harvest.files
    if not first.sitemaps and offer.outcome is PollOutcome.UNCHANGED:
        return offer
    items = unique(harvest.pages)
    harvest.left_out["repeated"] = len(harvest.pages) - len(items)
    failing = files.failing()
    if files.listed and len(failing) == len(files.listed) and not items:
        return Offer(PollOutcome.FAILED, told_of(files), status=offer.status)
    parts = {url: part.to_json() for url, part in {FIRST: first, **files.parts}.items()}
    warning = "; ".join(filter(None, [
        told_of(files), "it is cut off in the middle" * harvest.cut_off,
        feed.routes_joined(harvest.pages, items)]))
    if first.sitemaps and not files.listed:
        return Offer(PollOutcome.SUSPECT, told_of(files), status=offer.status)
    if first.sitemaps and not items:
        reason = f"nothing new in its {len(files.listed)} sitemaps"
        return replace(offer, outcome=PollOutcome.UNCHANGED, parts=parts,
                       reason="; ".join(filter(None, [reason, warning])))
    left_out = {why: number for why, number in harvest.left_out.items() if number}
    return replace(
        offer, outcome=PollOutcome.NEW, items=items, left_out=sum(left_out.values()), warning=warning,
        reason=", ".join(f"{number} {why}" for why, number in left_out.items()),
        partial=bool(first.sitemaps), parts=parts if first.sitemaps or look.parts else None,
    )


def unique(pages: Iterable[Item]) -> tuple[Item, ...]:
    """Each address once, in order."""
    found: dict[str, Item] = {}
    for page in pages:
        found.setdefault(page.key, page)
    return tuple(found.values())


def told_of(files: Files) -> str:
    """One sentence on the files that were not read."""
    return "; ".join(sentences(files))


def sentences(files: Files) -> Iterator[str]:
    if failing := files.failing():
        named = "; ".join(f"{url}: {why}" for url, why in list(failing.items())[:TOLD])
        yield f"{len(failing)} of {len(files.listed)} sitemaps failed and will be tried again ({named})"
    unread = dict(files.skipped)
    if waiting := files.waiting():
        unread["left for the next poll"] = waiting
    if unread:
        yield "sitemaps not read: " + ", ".join(f"{number} {why}" for why, number in unread.items())
