"""What a page says about itself: title, author, date, language, canonical address, feeds."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from lxml.html import HtmlElement
from trafilatura import extract_metadata

from models.addresses import resolve_link
from tasks.extract.text import one_line

FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json")
PUBLISHED = frozenset({
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished",
    "parsely-pub-date", "dc.date.issued", "dcterms.issued", "citation_publication_date",
})
MODIFIED = frozenset({
    "article:modified_time", "og:article:modified_time", "og:updated_time", "og:modified_time",
    "datemodified", "dc.date.modified", "dcterms.modified", "last-modified",
})
IN_SCRIPT = r'"{}"\s*:\s*"([^"]{{8,40}})"'
YEARS = range(1990, 2200)
LANGUAGE = re.compile(r"([a-z]{2})(?:[-_].*)?", re.IGNORECASE)
MARKUP = re.compile(r"</?(?:a|b|br|code|em|i|mark|small|span|strong|sub|sup|u|wbr)\b[^<>]*>", re.IGNORECASE)
LONGEST_TITLE = 300
# The extensive search takes the year of a copyright notice for a date.
DATE_SEARCH = {"original_date": True, "extensive_search": False}


@dataclass(frozen=True, slots=True)
class About:
    title: str
    author: str | None
    published_at: datetime | None
    modified_at: datetime | None
    site_name: str | None
    language: str | None
    canonical_url: str | None
    feeds: tuple[str, ...]


def about(tree: HtmlElement, url: str) -> About:
    """What the page at ``url`` says of itself; dates in UTC, a future one as it stands."""
    found = extract_metadata(tree, url, dict(DATE_SEARCH))
    base = base_of(tree, url)
    canonical = next(iter(_links(tree, "canonical")), None)
    feeds = [resolve_link(base, link.get("href")) for link in _links(tree, "alternate") if _is_feed(link)]
    return About(
        title=one_line(MARKUP.sub("", found.title or ""))[:LONGEST_TITLE],
        author=one_line(MARKUP.sub("", found.author or ""))[:LONGEST_TITLE] or None,
        published_at=_declared(tree, "datePublished", PUBLISHED) or _instant(found.date or ""),
        modified_at=_declared(tree, "dateModified", MODIFIED),
        site_name=_site_name(found.sitename, found.hostname),
        language=_declared_language(tree),
        canonical_url=None if canonical is None else resolve_link(base, canonical.get("href")),
        feeds=tuple(dict.fromkeys(feed for feed in feeds if feed)),
    )


def _site_name(named: str | None, host: str | None) -> str | None:
    """The name that the page gives its site; its host name is none."""
    return None if named == host else one_line(MARKUP.sub("", named or ""))[:LONGEST_TITLE] or None


def base_of(tree: HtmlElement, url: str) -> str:
    """What the links of the page at ``url`` are resolved against."""
    base = tree.find(".//base[@href]")
    return url if base is None else resolve_link(url, base.get("href")) or url


def _links(tree: HtmlElement, rel: str) -> list[HtmlElement]:
    links = tree.iterfind(".//link[@href]")
    return [link for link in links if rel in link.get("rel", "").lower().split()]


def _is_feed(link: HtmlElement) -> bool:
    return (link.get("type") or "").lower().partition(";")[0].strip() in FEED_TYPES


def _declared_language(tree: HtmlElement) -> str | None:
    found = LANGUAGE.fullmatch((tree.get("lang") or tree.get("xml:lang") or "").strip())
    return found[1].lower() if found else None


def _declared(tree: HtmlElement, item: str, names: frozenset[str]) -> datetime | None:
    """The first instant that the page declares in a way made for it; to the second where it says so."""
    return next(filter(None, map(_instant, _stated(tree, item, names))), None)


def _stated(tree: HtmlElement, item: str, names: frozenset[str]) -> list[str]:
    metas = [
        meta.get("content", "") for meta in tree.iter("meta")
        if (meta.get("property") or meta.get("name") or meta.get("itemprop") or "").lower() in names
    ]
    written = re.compile(IN_SCRIPT.format(item))
    in_scripts = (written.search(script.text or "") for script in tree.iter("script"))
    times = [time.get("datetime", "") for time in tree.iterfind(f".//time[@itemprop='{item}']")]
    return [*metas, *(found[1] for found in in_scripts if found), *times]


def _instant(stated: str) -> datetime | None:
    """A date in ISO 8601, without a zone read as UTC; none for what is no date or an absurd one."""
    try:
        instant = datetime.fromisoformat(stated.strip())
        instant = instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return instant if instant.year in YEARS else None
