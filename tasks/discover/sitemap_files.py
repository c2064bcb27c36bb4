"""The files of a sitemap: what is known of each, which of them one look asks for, and what is of its site."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from models.addresses import identity_key, without_fragment
from tasks.ports import Validators

DEEPEST = 5  # levels, the first file included
MOST_FILES = 1_000
TRUSTED = timedelta(days=1)  # that a file is as it was since its index gives it the same date
WITHOUT_BODY = timedelta(days=7)  # of "not modified", before one request without conditions
FIRST_RETRY, LAST_RETRY = timedelta(minutes=30), timedelta(days=1)
NAMED_HOST = re.compile(r"https?://([^/:*?\[\]]+)(?::\d+)?/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """One file as the last look left it; times are seconds since 1970, as JSON has them."""

    lastmod: str = ""  # that its index gave when it was last read
    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None
    body_at: float = 0  # when a body last came
    asked_at: float = 0
    failures: int = 0  # in a row
    retry_at: float = 0
    why: str = ""  # it failed
    sitemaps: tuple[tuple[str, str], ...] = ()  # those that it lists, with their dates

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Part":
        return cls(**{**told, "sitemaps": tuple((url, lastmod) for url, lastmod in told["sitemaps"])})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def validators(self, now: datetime) -> Validators:
        fresh = self.body_hash and now.timestamp() - self.body_at < WITHOUT_BODY.total_seconds()
        return Validators(self.etag, self.last_modified) if fresh else Validators()

    def failed(self, why: str, wait: timedelta | None, now: datetime) -> "Part":
        """After one more failure: tried again later and later, never before the other side's ``wait``."""
        doubled: timedelta = min(FIRST_RETRY * 2 ** min(self.failures, 10), LAST_RETRY)
        later = now + min(max(doubled, wait or doubled), LAST_RETRY)
        return replace(self, failures=self.failures + 1, why=why, asked_at=now.timestamp(),
                       retry_at=later.timestamp())


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as its index lists it; the first one is of level 1."""

    url: str
    lastmod: str
    level: int


@dataclass
class Files:
    """The files that an index and the indexes in it list, each once."""

    site: "Site"
    known: Mapping[str, Part]
    now: datetime
    listed: dict[str, Listed] = field(default_factory=dict)  # by address
    parts: dict[str, Part] = field(default_factory=dict)  # for the next look
    skipped: Counter[str] = field(default_factory=Counter)  # and why
    _seen: set[str] = field(default_factory=set)  # keys of the addresses listed
    _asked: set[str] = field(default_factory=set)

    def enlist(self, sitemaps: Iterable[tuple[str, str]], level: int) -> None:
        """Note what an index lists, and what is known of the indexes among them."""
        for url, lastmod in sitemaps:
            url = without_fragment(url)
            if (key := identity_key(url)) in self._seen:
                continue
            if why := self.refused(url, level):
                self.skipped[why] += 1
                continue
            self._seen.add(key)
            self.listed[url] = Listed(url, lastmod, level)
            self.parts[url] = self.known.get(url, Part())
            self.enlist(self.parts[url].sitemaps, level + 1)

    def refused(self, url: str, level: int) -> str | None:
        if is_robots_txt(url):
            return "robots.txt"
        if not self.site.has(url):
            return "on other sites"
        if level > DEEPEST:
            return f"nested deeper than {DEEPEST} levels"
        return f"past the first {MOST_FILES:,}" if len(self.listed) >= MOST_FILES else None

    def pass_over(self, url: str) -> None:
        """Let nothing lead to this address again."""
        self._seen.add(identity_key(url))

    def leads_back(self, listed: Listed, final_url: str) -> str | None:
        """Why what ``listed`` redirects to is not read: each file is read once."""
        if is_robots_txt(final_url):
            return "robots.txt"
        final, own = identity_key(final_url), identity_key(listed.url)
        if final != own and final in self._seen:
            return "leading to another one"
        self._seen.add(final)
        return None

    def next_to_ask(self, unread: bool) -> Listed | None:
        """What is new, changed or to be tried again, the newest first, before the rest in its turn.

        Not ``unread``: only those that were read before.
        """
        due = [it for url, it in self.listed.items() if url not in self._asked and self.is_due(it)
               and (unread or self.parts[url].body_at)]
        news = sorted(filter(self.is_news, due), key=lambda it: it.lastmod, reverse=True)
        rest = sorted((it for it in due if not self.is_news(it)), key=lambda it: self.parts[it.url].asked_at)
        first = next(iter(news + rest), None)
        if first:
            self._asked.add(first.url)
        return first

    def is_news(self, listed: Listed) -> bool:
        part = self.parts[listed.url]
        return not part.asked_at or part.failures > 0 or part.lastmod != listed.lastmod

    def is_due(self, listed: Listed) -> bool:
        part, now = self.parts[listed.url], self.now.timestamp()
        if part.retry_at > now:
            return False
        trusted = listed.lastmod and now - part.asked_at < TRUSTED.total_seconds()
        return self.is_news(listed) or not trusted

    def waiting(self) -> int:
        """How many are due, but were not asked for."""
        return sum(url not in self._asked and self.is_due(it) for url, it in self.listed.items())

    def failing(self) -> dict[str, str]:
        """Why each one that fails does."""
        return {url: part.why for url, part in self.parts.items() if part.failures}


class Site:
    """The hosts whose pages a sitemap may list: its own with their subdomains, and those its owner names."""

    def __init__(self, urls: Iterable[str], include: Iterable[str]) -> None:
        self._own = {bare(host_of(url)) for url in urls}
        self._named = {found[1].lower() for glob in include if (found := NAMED_HOST.match(glob))}

    def has(self, url: str) -> bool:
        host = host_of(url)
        return host in self._named or any(host == own or host.endswith(f".{own}") for own in self._own)


def host_of(url: str) -> str:
    return urlsplit(url).hostname or ""


def bare(host: str) -> str:
    """Without a ``www.`` that is not the whole of the name."""
    rest = host.removeprefix("www.")
    return rest if "." in rest else host


def is_robots_txt(url: str) -> bool:
    return urlsplit(url).path == "/robots.txt"
