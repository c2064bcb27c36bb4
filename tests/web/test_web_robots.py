"""robots.txt: RFC 9309, on files as sites really write them, behind the same guarded door."""

import asyncio
import gzip
import time
from typing import Any

import pytest

from models.addresses import Address
from tasks.errors import Permanent, Postponed, Transient, Unsafe
from tasks.ports import Wanted
from tasks.web.robots import MAX_BYTES, Robots, Rules

HTML = b"<p>hello"


def allows(robots: str | bytes, path: str, agent: str = "almanac") -> bool:
    body = robots if isinstance(robots, bytes) else robots.encode()
    return Rules.parse(body, agent).allows(Address.parse(f"https://n.example{path}"))


# What a file means: the file, the paths it allows, the paths it refuses.
FILES = {
    "nothing written, nothing refused": ("", "/ /a", ""),
    "no agent, no rule": ("Disallow: /", "/a", ""),
    "all but one folder": ("User-agent: *\nDisallow: /x/", "/ /x /xy /X/a", "/x/ /x/a"),
    "an empty rule refuses nothing": ("User-agent: *\nDisallow:", "/a", ""),
    "our own group beats the common one": (
        "User-agent: *\nDisallow: /\nUser-agent: Almanac\nDisallow: /x", "/a", "/x"),
    "our own empty group too": ("User-agent: *\nDisallow: /\n\nUser-agent: almanac\n", "/a", ""),
    "agents in any case, version and all": ("USER-AGENT: ALMANAC/2.0\nDISALLOW: /x", "/a", "/x"),
    "an agent is a whole token": (
        "User-agent: almanacbot\nUser-agent: alma\nUser-agent: bot\nDisallow: /", "/a", ""),
    "groups of one agent are one": (
        "User-agent: almanac\nDisallow: /x\nUser-agent: b\nDisallow: /\nUser-agent: almanac\nDisallow: /y",
        "/a", "/x /y"),
    "agents share a group": ("User-agent: almanac\nUser-agent: b\nDisallow: /x", "/a", "/x"),
    "a blank line does not end a group": ("User-agent: almanac\n\nDisallow: /x", "/a", "/x"),
    "an unknown line does not end a list of agents": (
        "User-agent: almanac\nNoindex: /\nUser-agent: b\nDisallow: /x", "/a", "/x"),
    "a crawl delay does not end a list of agents": (
        "User-agent: almanac\nCrawl-delay: 1\nUser-agent: b\nDisallow: /x", "/a", "/x"),
    "a sitemap does not end a list of agents": (
        "User-agent: almanac\nSitemap: https://n.example/s\nUser-agent: b\nDisallow: /x", "/a", "/x"),
    "the longest rule wins": (
        "User-agent: *\nDisallow: /x\nAllow: /x/y\nDisallow: /x/y/z", "/x/y", "/x/a /x/y/z"),
    "allow wins a tie": ("User-agent: *\nDisallow: /x\nAllow: /x", "/x", ""),
    "a star is anything": ("User-agent: *\nDisallow: /*.php", "/a /a.PHP", "/a.php /b/a.php?x=1 /a.php5"),
    "a dollar is the end": ("User-agent: *\nDisallow: /*.php$", "/a.php?x=1 /a.php5", "/a.php"),
    "the query counts": ("User-agent: *\nDisallow: /*?print=", "/a", "/a?print=1"),
    "escapes are equal to what they stand for": (
        "User-agent: *\nDisallow: /caf\u00e9\nDisallow: /%7ejoe/", "/a", "/caf%C3%A9 /caf\u00e9 /~joe/"),
    "comments are no rules": ("User-agent: * # all\n# Disallow: /\nDisallow: /x # not y", "/a", "/x"),
    "spaces around": ("  User-agent :  *  \n\tDisallow :\t/x  ", "/a", "/x"),
    "lost colons and common slips": ("User agent *\nDissallow /x\nDisallow /y:z", "/a", "/x /y:z"),
    "robots.txt itself is always allowed": ("User-agent: *\nDisallow: /", "/robots.txt", "/a"),
    "a page instead of a file": ("<!doctype html><p>User-agent: *<p>Disallow: /", "/a", ""),
}


@pytest.mark.parametrize("meaning", FILES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_is_read_as_it_was_meant(meaning: str, newline: str, mark: str) -> None:
    file, allowed, refused = FILES[meaning]
    robots = mark + file.replace("\n", newline)
    assert [path for path in allowed.split() if not allows(robots, path)] == []
    assert [path for path in refused.split() if allows(robots, path)] == []


def test_bytes_that_are_no_text_are_read_past() -> None:
    assert not allows(b"User-agent: *\nDisallow: /\xff\xfe\nDisallow: /x\x00\nDisallow: /y\x85\n", "/y%85")
    assert not allows(b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /y\n", "/y")


def test_the_first_500_kib_count() -> None:
    filling = b"# " + b"x" * 500 * 1024 + b"\n"
    assert not allows(b"User-agent: *\nDisallow: /a\n" + filling, "/a")
    assert allows(b"User-agent: *\n" + filling + b"Disallow: /a\n", "/a")


@pytest.mark.parametrize("newline", [b"\n", b"\r"])
def test_half_a_rule_at_the_limit_refuses_nothing(newline: bytes) -> None:
    start = b"User-agent: *" + newline + b"Disallow: /x" + newline
    filling = b"#" * (MAX_BYTES - len(start) - len(b"Disallow: /") - 1) + newline
    body = start + filling + b"Disallow: /private" + newline
    assert body[:MAX_BYTES].endswith(b"Disallow: /")
    assert allows(body, "/a")
    assert not allows(body, "/x")


@pytest.mark.parametrize(("lines", "delay"), [
    ("User-agent: *\nCrawl-delay: 7", 7.0),
    ("User-agent: *\nCrawl-delay: 1.5s\nDisallow: /x", 1.5),
    ("User-agent: *\nCrawl-delay: 86400", 60.0),
    ("User-agent: *\nCrawl-delay: soon", 0.0),
    ("User-agent: *\nCrawl-delay: -1", 0.0),
    ("User-agent: *\nCrawl-delay: " + "9" * 5000, 60.0),
    ("Crawl-delay: 7\n\nUser-agent: *\nDisallow: /x", 0.0),
    ("User-agent: other\nCrawl-delay: 7\n\nUser-agent: *\nDisallow: /x", 0.0),
    ("User-agent: *\nCrawl-delay: 7\nUser-agent: almanac\nCrawl-delay: 2\nDisallow: /x", 2.0),
])
def test_a_crawl_delay_is_honoured_up_to_a_minute_and_never_refuses(lines: str, delay: float) -> None:
    rules = Rules.parse(lines.encode())
    assert rules.crawl_delay == delay
    assert rules.allows(Address.parse("https://n.example/a"))


HOSTILE = {
    "a long word": b"d" + b"s" * 500_000,
    "a long gap": b"allow" + b" " * 500_000,
    "many agents": b"user-agent: *\n" * 36_000,
    "agents and rules": b"".join(b"user-agent: a%d\n" % n for n in range(15_000)) + b"allow: /\n" * 20_000,
    "many stars": b"user-agent: *\n" + b"disallow: /*a*a*a*a*a*a*a*b\n" * 18_000,
    "a long rule": b"user-agent: *\n" + b"disallow: /" + b"*a" * 250_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_read_in_bounded_time(kind: str) -> None:
    body = HOSTILE[kind]
    start = time.process_time()
    Rules.parse(body).allows(Address.parse("https://n.example/" + "a" * 4000))
    assert time.process_time() - start < 2


async def test_a_page_that_robots_refuses_is_not_asked_for(site: Any, door: Any) -> None:
    site.routes = {"/robots.txt": (200, b"User-agent: *\nDisallow: /x", {}), "/x": (200, HTML, {})}
    for wanted in (Wanted.PAGE, Wanted.ANY):
        with pytest.raises(Permanent) as refused:
            await door.fetch(site.url("/x"), wanted)
        assert refused.value.reason == f"robots.txt of {site.pair} refuses this address"
    assert [request.path for request in site.requests] == ["/robots.txt"]


@pytest.mark.parametrize("wanted", [Wanted.FEED, Wanted.JSON])
async def test_what_its_owner_names_is_polled_and_robots_is_not_asked(
    site: Any, door: Any, wanted: Wanted
) -> None:
    site.routes = {"/robots.txt": (200, b"User-agent: *\nDisallow: /", {}), "/feed": (200, b"<rss/>", {})}
    assert (await door.fetch(site.url("/feed"), wanted)).status == 200
    assert [request.path for request in site.requests] == ["/feed"]


async def test_robots_is_asked_at_every_hop(open_site: Any, open_door: Any) -> None:
    first, second = await open_site(), await open_site()
    first.routes = {"/a": (302, b"", {"location": second.url("/b")})}
    second.routes = {"/robots.txt": (200, b"User-agent: almanac\nDisallow: /b", {}), "/b": (200, HTML, {})}
    with pytest.raises(Permanent, match=f"robots.txt of {second.pair} refuses"):
        await open_door(f"{first.pair} {second.pair}").fetch(first.url("/a"), Wanted.PAGE)
    assert second.paths == []


async def test_robots_is_asked_once_for_many_pages(site: Any, door: Any) -> None:
    site.routes = {f"/{place}": (200, HTML, {}) for place in range(10)}
    await asyncio.gather(*(door.fetch(site.url(f"/{place}"), Wanted.PAGE) for place in range(10)))
    assert [request.path for request in site.requests].count("/robots.txt") == 1


async def test_what_each_status_of_the_file_means(site: Any, open_door: Any) -> None:
    """RFC 9309 §2.3.1: rules with 200, none with 4xx, nothing may be read with 5xx."""
    site.routes["/a"] = (200, HTML, {"connection": "close"})
    unavailable = [*range(500, 512), 520, 599, 600, 999]
    for status in [*range(201, 210), *range(300, 310), *range(400, 452), *unavailable]:
        body = b"" if status in {204, 304} else b"User-agent: *\nDisallow: /"
        site.routes["/robots.txt"] = (status, body, {"connection": "close"})
        door = open_door(site.pair)
        try:
            came: object = (await door.fetch(site.url("/a"), Wanted.PAGE)).body
        except (Permanent, Transient) as error:
            came = error
        door.close()
        if status == 203:
            assert isinstance(came, Permanent), status
        elif status not in unavailable:
            assert came == HTML, status
        else:
            assert isinstance(came, Transient), status
            assert "robots.txt is unavailable" in came.reason


@pytest.mark.parametrize("headers", [
    {"content-encoding": "gzip"}, {"content-encoding": "compress"}, {"content-encoding": "br"},
])
async def test_a_file_that_cannot_be_decoded_is_unavailable_not_a_verdict_on_the_page(
    site: Any, door: Any, headers: dict[str, str]
) -> None:
    site.routes = {"/robots.txt": (200, b"User-agent: *\nDisallow: /", headers), "/a": (200, HTML, {})}
    with pytest.raises(Transient, match=r"robots\.txt is unavailable: the answer is"):
        await door.fetch(site.url("/a"), Wanted.PAGE)


async def test_a_file_may_be_compressed(site: Any, door: Any) -> None:
    rules = gzip.compress(b"User-agent: *\nDisallow: /x")
    site.routes = {"/robots.txt": (200, rules, {"content-encoding": "gzip"}), "/a": (200, HTML, {})}
    await door.fetch(site.url("/a"), Wanted.PAGE)
    with pytest.raises(Permanent, match="refuses"):
        await door.fetch(site.url("/x"), Wanted.PAGE)


async def test_sites_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.web.robots.SITES", 10)
    library = Library()
    for number in range(100):
        await library.robots.check(Address.parse(f"https://n{number}.example/a"))
    assert len(library.robots._sites) == 10


@pytest.mark.parametrize(("route", "reason"), [
    ((500, b"", {}), "the server failed (HTTP 500)"),
    ((503, b"", {}), "the server is not available (HTTP 503)"),
    (b"", "the answer broke off or is not HTTP"),
    ((302, b"", {"location": "http://10.0.0.1/robots.txt"}),
     "a redirect is refused: the address is refused: private (RFC 1918) is not public; "
     "ALMANAC_ALLOWED_NETWORKS can allow it, from the next start of Almanac on"),
])
async def test_while_the_file_is_unavailable_nothing_is_read(
    site: Any, door: Any, route: Any, reason: str
) -> None:
    site.routes = {"/robots.txt": route, "/a": (200, HTML, {})}
    for _ in range(2):
        with pytest.raises(Transient) as failed:
            await door.fetch(site.url("/a"), Wanted.PAGE)
        assert failed.value.reason == f"robots.txt is unavailable: {reason}"
    assert [request.path for request in site.requests] == ["/robots.txt"]  # not hammered either


async def test_a_file_may_redirect_but_not_for_ever(site: Any, door: Any) -> None:
    rules = (200, b"User-agent: *\nDisallow: /x", {})
    site.routes = {"/robots.txt": (301, b"", {"location": "/rules"}), "/rules": rules, "/a": (200, HTML, {})}
    await door.fetch(site.url("/a"), Wanted.PAGE)
    with pytest.raises(Permanent, match="refuses"):
        await door.fetch(site.url("/x"), Wanted.PAGE)


async def test_a_file_that_redirects_to_itself_is_no_file(site: Any, door: Any) -> None:
    site.routes = {"/robots.txt": (301, b"", {"location": "/robots.txt"}), "/a": (200, HTML, {})}
    assert (await door.fetch(site.url("/a"), Wanted.PAGE)).body == HTML


async def test_a_file_past_the_limit_is_cut_not_refused(site: Any, open_door: Any) -> None:
    site.routes = {"/robots.txt": (200, b"User-agent: *\nDisallow: /x\n" + b"# filling\n" * 100_000, {}),
                   "/a": (200, HTML, {})}
    door = open_door(site.pair, max_bytes=20_000)
    await door.fetch(site.url("/a"), Wanted.PAGE)
    with pytest.raises(Permanent, match="refuses"):
        await door.fetch(site.url("/x"), Wanted.PAGE)


class Library:
    """Robots on a clock of its own, and a site that fails when told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.reads = 0
        self.body: bytes | None = b"User-agent: *\nDisallow: /x"
        self.robots = Robots(self.read, lambda: self.now)

    async def read(self, address: Address) -> bytes:
        self.reads += 1
        if self.body is None:
            raise Transient("the server failed")
        return self.body

    async def check(self, path: str) -> None:
        await self.robots.check(Address.parse(f"https://n.example{path}"))


async def test_a_file_is_good_for_an_hour() -> None:
    library = Library()
    for library.now, reads in [(0, 1), (3599, 1), (3601, 2)]:
        await library.check("/a")
        assert library.reads == reads


async def test_the_last_good_file_counts_for_a_day_when_there_is_none() -> None:
    library = Library()
    await library.check("/a")
    library.body, library.now = None, 4000
    with pytest.raises(Permanent):
        await library.check("/x")
    library.now = 4030
    await library.check("/a")
    assert library.reads == 2  # asked again after a minute, not at every page
    library.now = 4070
    await library.check("/a")
    assert library.reads == 3
    library.now = 90_000
    with pytest.raises(Transient, match="is unavailable: the server failed"):
        await library.check("/a")


async def test_files_belong_to_scheme_host_and_port() -> None:
    library = Library()
    for origin in ("https://n.example", "http://n.example", "https://n.example:8443", "https://m.example"):
        await library.robots.check(Address.parse(f"{origin}/a"))
    assert library.reads == 4


class Delays:
    """Keeps what hosts ask for."""

    def __init__(self) -> None:
        self.told: list[tuple[str, float, float]] = []

    def load(self) -> dict[str, Any]:
        return {}

    def save(self, host: str, until: Any) -> None: ...

    def save_delay(self, host: str, asked: float, kept: float) -> None:
        self.told.append((host, asked, kept))


@pytest.mark.parametrize(("asked", "told"), [(86_400, [(86_400.0, 60.0)]), (0.01, [])])
async def test_a_delay_that_is_longer_than_we_keep_is_told_and_kept_up_to_its_bound(
    site: Any, open_door: Any, asked: float, told: list[tuple[float, float]]
) -> None:
    rules = f"User-agent: *\nCrawl-delay: {asked}".encode()
    site.routes = {"/robots.txt": (200, rules, {}), "/a": (200, HTML, {})}
    delays = Delays()
    await open_door(site.pair, pauses=delays).fetch(site.url("/a"), Wanted.PAGE)
    assert delays.told == [(site.pair, *each) for each in told]


async def test_a_browser_is_admitted_as_the_door_itself_would_ask(site: Any, open_door: Any) -> None:
    site.routes = {"/robots.txt": (200, b"User-agent: *\nDisallow: /x", {}),
                   "/busy": (503, b"", {"retry-after": "9"})}
    door = open_door(site.pair)
    await door.admit(site.url("/a"))
    with pytest.raises(Permanent, match="refuses this address"):
        await door.admit(site.url("/x"))
    with pytest.raises(Unsafe):
        await door.admit("http://127.0.0.2/")
    assert site.paths == []  # robots.txt aside
    with pytest.raises(Transient):
        await door.fetch(site.url("/busy"), Wanted.PAGE)
    with pytest.raises(Postponed):
        await door.admit(site.url("/a"))
