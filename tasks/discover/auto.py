"""What a page offers to be polled: the feeds that it announces, or that its site has where others have them,
else its site's sitemap. Each is fetched and parsed before it is believed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from models.addresses import resolve_link, without_fragment
from models.headers import headers_for
from models.states import PollOutcome, SourceKind
from tasks.discover.kinds import feed, sitemap
from tasks.discover.offers import Look, Offer
from tasks.errors import StageError
from tasks.ports import Fetched, Fetcher, Parser, Wanted

MOST_ANNOUNCED = 5  # feeds of a page that are tried
WELL_KNOWN = ("/feed", "/rss.xml", "/atom.xml", "/feed.xml", "/index.xml")
FEED_TYPE = re.compile(r"application/(?:rss\+xml|atom\+xml|feed\+json)", re.IGNORECASE)
ROBOTS_READ = 500_000  # bytes, as RFC 9309 §2.5 has it
SITEMAP_LINE = re.compile(rb"^[ \t]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
MOST_SITEMAPS = 3  # of robots.txt that are tried
LINK = re.compile(  # RFC 8288 §3
    r"""<([^<>]*)>((?:\s*;\s*[\w!#$&+.^`|~-]+\s*(?:=\s*(?:"[^"]*"|[^\s",;]*))?)*)""")
PARAMETER = re.compile(r"""([\w!#$&+.^`|~-]+)\s*=\s*(?:"([^"]*)"|([^\s",;]*))""")


@dataclass(frozen=True, slots=True)
class Found:
    """What an address turned out to be, or to lead to."""

    kind: SourceKind
    url: str
    title: str
    offer: Offer

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "url": self.url, "name": self.title, "offered": self.offer.seen}


async def feeds_of(
    fetcher: Fetcher, parser: Parser, look: Look, fetched: Fetched, announced: Iterable[str]
) -> list[Found]:
    """The feeds of the page ``fetched``, the best first.

    Of a site's front page that announces none, the well-known addresses are tried until one is a feed.
    """
    named = map(without_fragment, [*in_header(fetched), *announced])
    tried = list(dict.fromkeys(url for url in named if url != look.url))[:MOST_ANNOUNCED]
    found = [it for url in tried if (it := await verified(fetcher, parser, look, url, Wanted.FEED))]
    for url in () if found else well_known(fetched.final_url):
        if url not in tried and (it := await verified(fetcher, parser, look, url, Wanted.ANY)):
            return [it]
    return sorted(found, key=lambda it: (not it.offer.items, "comments" in it.url.lower()))


def in_header(fetched: Fetched) -> Iterator[str]:
    """The feeds that a Link header announces."""
    for target, rest in LINK.findall(fetched.headers.get("link", "")):
        said = {name.lower(): quoted or bare for name, quoted, bare in PARAMETER.findall(rest)}
        is_feed = "alternate" in said.get("rel", "").lower().split() and FEED_TYPE.match(said.get("type", ""))
        if is_feed and (url := resolve_link(fetched.final_url, target)):
            yield url


async def sitemap_of(fetcher: Fetcher, parser: Parser, look: Look, fetched: Fetched) -> list[Found]:
    """The sitemap of a site whose front page was ``fetched``, where robots.txt says or where most are."""
    if not (front := front_of(fetched.final_url)):
        return []
    for url in dict.fromkeys([*await in_robots(fetcher, front), f"{front}/sitemap.xml"]):
        headers = headers_for(url, look.headers, look.url)
        try:
            answer = await fetcher.fetch(url, Wanted.SITEMAP, None, headers)
            offer = await sitemap.offer_of(answer, fetcher, parser, replace(look, url=url, headers=headers))
        except StageError:
            continue
        if offer.outcome is PollOutcome.NEW and offer.items:
            return [Found(SourceKind.SITEMAP, url, offer.title or host_of(url), offer)]
    return []


async def in_robots(fetcher: Fetcher, front: str) -> list[str]:
    """The first sitemaps that the site's robots.txt names."""
    try:
        body = (await fetcher.fetch(f"{front}/robots.txt", Wanted.ANY)).body[:ROBOTS_READ]
    except StageError:
        return []
    named = (resolve_link(front, line.decode("utf-8", "replace")) for line in SITEMAP_LINE.findall(body))
    return [url for url in named if url][:MOST_SITEMAPS]


def well_known(url: str) -> list[str]:
    """Where the feed of a site may be, if ``url`` is its front page: elsewhere such a feed is another's."""
    front = front_of(url)
    return [front + path for path in WELL_KNOWN] if front else []


def front_of(url: str) -> str | None:
    """The site whose front page ``url`` is, without a slash at its end."""
    address = urlsplit(url)
    return None if address.path != "/" or address.query else f"{address.scheme}://{address.netloc}"


async def verified(
    fetcher: Fetcher, parser: Parser, look: Look, url: str, wanted: Wanted
) -> Found | None:
    """What ``url`` is, if it is a feed. One that nobody named is asked for as ANY: robots.txt is obeyed."""
    try:
        fetched = await fetcher.fetch(url, wanted, None, headers_for(url, look.headers, look.url))
        offer = await feed.offer_of(fetched, parser, Look(url))
    except StageError:
        return None
    return found_feed(url, offer) if offer.outcome is PollOutcome.NEW else None


def found_feed(url: str, offer: Offer) -> Found:
    return Found(SourceKind.FEED, url, offer.title or host_of(url), offer)


def host_of(url: str) -> str:
    return urlsplit(url).hostname or url
