"""robots.txt: what a site asks crawlers not to read, by RFC 9309."""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

from protego import Protego

from models.addresses import Address
from tasks.errors import Transient
from tasks.web.failures import Content, of_content

PRODUCT = "almanac"  # the token that robots.txt files name us by
MAX_BYTES = 500 * 1024  # §2.5: what is parsed at least, and here at most
MAX_DELAY = 60.0  # seconds
FRESH = 3600.0
GRACE = 24 * 3600.0  # the last good copy counts this long when a new one cannot be had
RETRY = 60.0  # after a failure
SITES = 2000  # remembered

KEYS = {
    "user-agent": ("user-agent", "useragent", "user agent"),
    "allow": ("allow",),
    "disallow": ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    "crawl-delay": ("crawl-delay", "crawldelay", "crawl delay"),
}
SPELLINGS = {spelling: key for key, spellings in KEYS.items() for spelling in spellings}
VERBATIM = "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~"  # what quote() leaves as it is, beside letters and digits
LINE = re.compile(r"(user[ -]?agent|crawl[ -]?delay|[a-z]+)[ \t]*(?::|[ \t])[ \t]*(.*)", re.IGNORECASE)
TOKEN = re.compile(r"\*(?=\s|$)|[A-Za-z_-]+")
NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(slots=True)
class Rules:
    """What one site's file says to one agent."""

    crawl_delay: float = 0.0  # seconds, capped
    asked_delay: float = 0.0  # seconds, as the file says
    paths: Protego = field(default_factory=lambda: Protego.parse(""))

    @classmethod
    def parse(cls, body: bytes, agent: str = PRODUCT) -> "Rules":
        """Read a file of any bytes.

        Groups are chosen here and paths matched by Protego, which finds agents by substring and lets unknown
        lines split a group. Groups of one agent are merged; without one, those of ``*`` count.
        """
        agent = agent.lower()
        groups = _groups(_readable(body).decode("utf-8-sig", errors="replace"), agent)
        lines = groups.get(agent, groups.get("*", []))
        delays = [NUMBER.match(value) for key, value in lines if key == "crawl-delay"]
        asked = max((float(delay[0]) for delay in delays if delay), default=0.0)
        rules = "\n".join(f"{key}: {value}" for key, value in lines if key != "crawl-delay")
        return cls(
            crawl_delay=min(asked, MAX_DELAY),
            asked_delay=asked,
            paths=Protego.parse(f"user-agent: *\n{rules}"),
        )

    def allows(self, address: Address) -> bool:
        return bool(self.paths.can_fetch(f"{address.origin}{address.target}", "*"))


def _readable(body: bytes) -> bytes:
    """What of a file counts, to the end of a line: half a rule may refuse the whole site."""
    if len(body) < MAX_BYTES:
        return body
    start = body[:MAX_BYTES]
    return start[: max(start.rfind(b"\n"), start.rfind(b"\r")) + 1]


def _groups(text: str, agent: str) -> dict[str, list[tuple[str, str]]]:
    """The lines, as (key, value), of ``agent`` and of ``*``. Only a rule ends a list of agents (§2.2.1)."""
    groups: dict[str, list[tuple[str, str]]] = {}
    named: set[str] = set()
    listing = True
    for key, value in _lines(text):
        if key != "user-agent":
            listing = listing and key == "crawl-delay"
            for name in named:
                groups[name].append((key, value))
            continue
        named = named if listing else set()
        listing = True
        if value in {agent, "*"}:
            named.add(value)
            groups.setdefault(value, [])
    return groups


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in re.split(r"\r\n|\r|\n", text):
        found = LINE.match(line.partition("#")[0].strip())
        key = found and SPELLINGS.get(found[1].lower())
        if not found or not key:
            continue
        value = found[2]
        if key == "user-agent":
            token = TOKEN.match(value)
            if token:
                yield key, token[0].lower()
        elif value:
            yield key, quote(value, safe=VERBATIM)


@dataclass(slots=True)
class Site:
    """What is remembered of one origin. Times are of the clock."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: Rules | None = None
    read_at: float = 0.0
    retry_at: float = 0.0
    trouble: str = ""


class Robots:
    """The rules of every site, an hour old at most. Belongs to one event loop.

    ``read`` fetches an address of robots.txt: its bytes (none where the site has no file or answers 4xx), or
    Transient. ``slow`` is told when a host asks for more seconds than it is given: host, asked, kept.
    """

    def __init__(
        self, read: Callable[[Address], Awaitable[bytes]], clock: Callable[[], float] = time.monotonic,
        slow: Callable[[str, float, float], Awaitable[None]] | None = None,
    ) -> None:
        self._read = read
        self._slow = slow
        self._clock = clock
        self._sites: OrderedDict[str, Site] = OrderedDict()

    async def check(self, address: Address) -> float:
        """The crawl delay of the site, in seconds. Raises Permanent when it refuses ``address``.

        Raises Transient when its file is unavailable and no copy of the last day is at hand.
        """
        site = self._site(address.origin)
        async with site.lock:
            rules = await self._rules(site, address)
        if not rules.allows(address):
            raise of_content(Content.ROBOTS_REFUSE, host=address.netloc)
        return rules.crawl_delay

    async def _rules(self, site: Site, address: Address) -> Rules:
        now = self._clock()
        if site.rules and now < site.read_at + FRESH:
            return site.rules
        if now >= site.retry_at:
            try:
                body = await self._read(address.at("/robots.txt"))
            except Transient as error:
                site.retry_at, site.trouble = self._clock() + RETRY, error.reason
            else:
                site.rules = await asyncio.to_thread(Rules.parse, body)
                site.read_at = self._clock()
                if self._slow and site.rules.asked_delay > site.rules.crawl_delay:
                    await self._slow(address.netloc, site.rules.asked_delay, site.rules.crawl_delay)
                return site.rules
        if site.rules and now < site.read_at + GRACE:
            return site.rules
        raise of_content(Content.ROBOTS_UNAVAILABLE, why=site.trouble)

    def _site(self, origin: str) -> Site:
        site = self._sites.setdefault(origin, Site())
        self._sites.move_to_end(origin)
        if len(self._sites) > SITES:
            self._sites.popitem(last=False)
        return site
