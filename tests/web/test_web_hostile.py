"""A hostile web in one place: over everything it plays, no service that is forbidden is ever connected to.

Each play is a way to make a fetcher go where it may not, or stay for ever. The control runs show that the
same plays would reach the forbidden services, were they allowed.
"""

import asyncio
import gzip
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import brotli
import pytest
from vacancy import free_port

from tasks.errors import StageError, Transient, Unsafe
from tasks.ports import Fetched, Wanted
from tasks.web.door import Door

Reply = tuple[int, bytes, dict[str, str]]
HTML = b"<!doctype html><p>hello"
SECRET = b"<!doctype html><p>secret"
NAME = "site.example"


def has_ipv6() -> bool:
    """Some machines and many containers are without."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


IPV6 = has_ipv6()


@dataclass
class Web:
    """A site that may be read, and services of this machine that may not."""

    site: Any
    forbidden: list[Any]

    @property
    def port(self) -> int:
        return int(self.site.port)

    @property
    def hits(self) -> int:
        return sum(service.connections for service in self.forbidden)


@pytest.fixture
async def web(open_site: Any) -> Web:
    """The services listen at the site's own port, on another loopback address and on IPv6, and beside it."""
    others = ["127.0.0.2", *(["::1"] if IPV6 else [])]
    site = await open_site(port=(port := free_port("127.0.0.1", *others)))
    places = [(others[0], port), ("127.0.0.1", 0), *((ip, port) for ip in others[1:])]
    forbidden = [await open_site(*place) for place in places]
    for service in forbidden:
        service.routes = dict.fromkeys(["/", "/page", "/robots.txt"], (200, SECRET, {}))
    return Web(site, forbidden)


class Names:
    """A resolver whose answers come in turn, the last for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    async def __call__(self, host: str, port: int) -> list[str]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@dataclass
class Play:
    """What the site answers, what names lead to, and where the fetch begins."""

    routes: Mapping[str, Any]
    url: str
    names: Callable[[], Names] = lambda: Names(["127.0.0.1"])


# How the address of a forbidden service may be written.
SPELLINGS = {
    "IPv4": "http://127.0.0.2:{port}/page",
    "decimal": "http://2130706434:{port}/page",
    "octal": "http://0177.0.0.2:{port}/page",
    "hexadecimal": "http://0x7f000002:{port}/page",
    "short": "http://127.2:{port}/page",
    "full-width": "http://\uff11\uff12\uff17.\uff10.\uff10.\uff12:{port}/page",
    "percent-encoded": "http://%31%32%37.0.0.2:{port}/page",
    "a dot at the end": "http://127.0.0.2.:{port}/page",
    "IPv6": "http://[::1]:{port}/page",
    "IPv6 in full": "http://[0:0:0:0:0:0:0:1]:{port}/page",
    "IPv4-mapped": "http://[::ffff:127.0.0.2]:{port}/page",
    "without scheme": "//127.0.0.2:{port}/page",
    "another port": "http://127.0.0.1:{beside}/page",
    "a name": "http://forbidden.example:{port}/page",
}


class Zone(Names):
    """The site's name leads to the site, and every other one to the forbidden service."""

    async def __call__(self, host: str, port: int) -> list[str]:
        return ["127.0.0.1"] if host == NAME else ["127.0.0.2"]


def closing(status: int = 200, body: bytes = b"", **headers: str) -> Reply:
    return status, body, {"connection": "close", **headers}  # the next request connects anew


# Plays that count on robots.txt being asked for, which it is not for a feed.
WITH_ROBOTS = {"rebinding after a redirect", *(f"robots.txt to {spelling}" for spelling in SPELLINGS)}


def redirects(web: Web) -> Iterator[tuple[str, Play]]:
    start = web.site.url("/start")
    for spelling, form in SPELLINGS.items():
        to = form.format(port=web.port, beside=web.forbidden[1].port).encode().decode("latin-1")
        for status in (301, 302, 303, 307, 308):
            yield f"{status} to {spelling}", Play({"/start": closing(status, location=to)}, start, Zone)
        yield f"a chain to {spelling}", Play(
            {"/start": closing(302, location="/next"), "/next": closing(308, location=to)}, start, Zone)
        yield f"robots.txt to {spelling}", Play(
            {"/robots.txt": closing(302, location=to), "/start": closing(body=HTML)}, start, Zone)


def rebinding(web: Web) -> Iterator[tuple[str, Play]]:
    routes = {
        "/robots.txt": closing(404), "/start": closing(302, location="/page"), "/page": closing(body=HTML),
    }
    start = web.site.url("/start", NAME)
    for name, answers in {
        "after robots.txt": (["127.0.0.1"], ["127.0.0.2"]),
        "after a redirect": (["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2"]),
        "to IPv6": (["127.0.0.1"], ["::1"]),
        "to both at once": (["127.0.0.1"], ["127.0.0.2", "::1"]),
    }.items():
        yield f"rebinding {name}", Play(routes, start, partial(Names, *answers))
    for name, first in {
        "the allowed one first": ["127.0.0.1", "127.0.0.2"],
        "the forbidden one first": ["127.0.0.2", "127.0.0.1"],
        "one of IPv6": ["127.0.0.1", "::1"], "one that is mapped": ["127.0.0.1", "::ffff:127.0.0.2"],
    }.items():
        names = partial(Names, first, first[1:] if first[0] == "127.0.0.1" else first)
        yield f"mixed answers, {name}", Play(routes, start, names)


def leading(web: Web) -> dict[str, Play]:
    """The plays that lead to a forbidden service when nothing forbids it."""
    return dict([*redirects(web), *rebinding(web)])


def lures(web: Web) -> dict[str, Play]:
    """Addresses in places that no fetch follows."""
    to = f"http://127.0.0.2:{web.port}/page"
    kinds: dict[str, Reply] = {
        "Refresh": closing(body=HTML, refresh=f"0; url={to}"),
        "Link": closing(body=HTML, link=f"<{to}>; rel=preload, <{to}>; rel=canonical"),
        "Content-Location": closing(body=HTML, **{"content-location": to}),
        "Alt-Svc": closing(body=HTML, **{"alt-svc": f'http/1.1="127.0.0.2:{web.port}"'}),
        "meta refresh": closing(body=HTML + f'<meta http-equiv=refresh content="0;url={to}">'.encode()),
        **{f"{status} with Location": closing(status, location=to)
           for status in (200, 201, 300, 304, 305, 306, 401, 407, 503)},
    }
    plays = {name: Play({"/start": reply}, web.site.url("/start")) for name, reply in kinds.items()}
    early = f"HTTP/1.1 103 X\r\nlink: <{to}>; rel=preload\r\n\r\n{OK.decode()}content-length: 3\r\n\r\n<p>"
    plays["early hints"] = Play({"/start": early.encode()}, web.site.url("/start"))
    sitemap = f"User-agent: *\nSitemap: {to}\nHost: 127.0.0.2:{web.port}".encode()
    plays["in robots.txt"] = Play(
        {"/robots.txt": closing(body=sitemap), "/start": closing(body=HTML)}, web.site.url("/start"))
    return plays


OK = b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


def repeating(head: bytes, piece: bytes, pause: float = 0.0) -> Callable[..., Any]:
    async def play(request: Any, writer: Any) -> None:
        writer.write(head)
        while not writer.transport.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return play


async def reset(request: Any, writer: Any) -> None:
    writer.write(OK + b"content-length: 100000\r\n\r\n" + b"<p>some " * 1000)
    await writer.drain()
    writer.transport.abort()


def bomb(coding: str, encode: Callable[[bytes], bytes]) -> Reply:
    return closing(body=encode(b"<p>" + b" " * 5_000_000), **{"content-encoding": coding})


# Answers that are too much, too slow or untrue: (what the site does, what the failure says).
ASSAULTS: dict[str, tuple[Any, str]] = {
    "a slow drip": (repeating(OK + b"\r\n", b"x", 0.02), "longer than|slower than"),
    "a slow drip of headers": (repeating(b"HTTP/1.1 200 X\r\n", b"x-a: b\r\n", 0.02), "longer than"),
    "an endless body": (repeating(OK + b"\r\n", b"<p>more" * 9000), "larger than"),
    "endless chunks": (repeating(CHUNKED, b"1\r\nx\r\n" * 9000), "larger than|longer than"),
    "endless interim answers": (repeating(b"", b"HTTP/1.1 103 X\r\n\r\n" * 100), "longer than|not HTTP"),
    "endless headers": (repeating(b"HTTP/1.1 200 X\r\n", b"x-a: b\r\n" * 9000), "not HTTP"),
    "an endless header": (repeating(b"HTTP/1.1 200 X\r\nx-a: ", b"b" * 90_000), "not HTTP"),
    "endless trailers": (repeating(CHUNKED + b"1\r\nx\r\n0\r\n", b"x-a: b\r\n" * 9000), "not HTTP"),
    "an endless chunk size": (repeating(CHUNKED, b"0" * 90_000), "not HTTP"),
    "a gzip bomb": (bomb("gzip", gzip.compress), "larger than"),
    "a brotli bomb": (bomb("br", lambda data: brotli.compress(data, quality=1)), "larger than"),
    "a bomb in two layers": (
        bomb("gzip, gzip", lambda data: gzip.compress(gzip.compress(data, 1))), "larger than"),
    "a bomb of many layers": (bomb("gzip, gzip, gzip", gzip.compress), "was not offered"),
    "less than was declared": (OK + b"content-length: 9000\r\n\r\n<p>", "broke off"),
    "more than may be": (OK + b"content-length: 99999999999\r\n\r\n<p>", "larger than"),
    "a length that is none": (OK + b"content-length: -1\r\n\r\n<p>", "not HTTP"),
    "two lengths": (OK + b"content-length: 3\r\ncontent-length: 4\r\n\r\n<p>", "not HTTP"),
    "a length of other digits": (OK + b"content-length: \xb2\r\n\r\n<p>", "not HTTP"),
    "a reset in the body": (reset, "broke"),
    "nothing at all": (b"", "broke off"),
    "no HTTP": (b"\x16\x03\x01\x00\x05hello\r\n\r\n", "not HTTP"),
    "HTTP/0.9": (b"<p>hello", "not HTTP"),
    "a status of no kind": (b"HTTP/1.1 999999 X\r\n\r\n", "not HTTP"),
    "an upgrade": (b"HTTP/1.1 101 X\r\nupgrade: h2c\r\n\r\n", "means nothing|not HTTP"),
    "a redirect to itself": (closing(302, location="/start"), "in a circle"),
    "an image under HTML's name": (closing(body=b"\x89PNG\r\n\x1a\n"), "is an image"),
    "a program under HTML's name": (closing(body=b"\x7fELF\x02\x01\x01"), "is a program"),
}


@pytest.fixture
async def open_strict_door(web: Web, open_door: Any) -> AsyncIterator[Callable[[Any], Door]]:
    """Doors that may reach the site and nothing else of this machine."""
    async with AsyncExitStack() as stack:

        def start(names: Any) -> Door:
            door: Door = open_door(web.site.pair, resolver=names, timeout=1.0, max_bytes=200_000)
            stack.callback(door.close)
            return door

        yield start


async def outcome(door: Door, play: Play, wanted: Wanted) -> Fetched | StageError:
    try:
        return await door.fetch(play.url, wanted)
    except StageError as error:
        return error


@pytest.mark.parametrize("wanted", list(Wanted))
async def test_no_way_leads_to_a_forbidden_service(
    web: Web, open_strict_door: Any, wanted: Wanted
) -> None:
    for name, play in leading(web).items():
        if wanted in {Wanted.FEED, Wanted.JSON} and name in WITH_ROBOTS:
            continue
        web.site.routes = play.routes
        ended = await outcome(open_strict_door(play.names()), play, wanted)
        assert isinstance(ended, Unsafe | Transient), (name, ended)
        assert "is refused: " in ended.reason, name
        assert not any(ip in ended.reason for ip in ("127.0.0.2", "::1")), ended.reason
        assert web.hits == 0, name


async def test_every_way_would_lead_there_were_it_allowed(web: Web, open_door: Any) -> None:
    """The control run: the same plays, and a policy that allows everything."""
    for name, play in leading(web).items():
        if not IPV6 and ("IPv6" in name or "mapped" in name):
            continue
        web.site.routes, before = play.routes, web.hits
        door = open_door("0.0.0.0/0 ::/0", resolver=play.names())
        await outcome(door, play, Wanted.PAGE)
        door.close()
        assert web.hits > before, name


@pytest.mark.parametrize("wanted", list(Wanted))
async def test_an_address_that_is_no_redirect_is_not_followed(
    web: Web, open_door: Any, wanted: Wanted
) -> None:
    """Even where it is allowed."""
    for name, play in lures(web).items():
        web.site.routes = play.routes
        door = open_door("0.0.0.0/0 ::/0")
        await outcome(door, play, wanted)
        door.close()
        assert web.hits == 0, name


@pytest.mark.parametrize("assault", ASSAULTS)
async def test_an_assault_ends_soon_and_says_why(web: Web, open_strict_door: Any, assault: str) -> None:
    web.site.routes = {"/start": ASSAULTS[assault][0], "/robots.txt": closing(404)}
    start = time.monotonic()
    play = Play({}, web.site.url("/start"))
    ended = await outcome(open_strict_door(Names(["127.0.0.1"])), play, Wanted.PAGE)
    assert isinstance(ended, StageError), ended
    assert any(words in ended.reason for words in ASSAULTS[assault][1].split("|")), ended.reason
    assert time.monotonic() - start < 5
    assert web.hits == 0


@pytest.mark.parametrize("assault", ASSAULTS)
async def test_an_assault_by_robots_txt_ends_soon_too(web: Web, open_strict_door: Any, assault: str) -> None:
    web.site.routes = {"/robots.txt": ASSAULTS[assault][0], "/start": closing(body=HTML)}
    start = time.monotonic()
    play = Play({}, web.site.url("/start"))
    ended = await outcome(open_strict_door(Names(["127.0.0.1"])), play, Wanted.PAGE)
    assert isinstance(ended, Fetched | Transient), ended
    assert time.monotonic() - start < 5
    assert web.hits == 0


async def test_a_door_under_all_assaults_at_once_still_reads_the_quiet_page(
    web: Web, open_door: Any
) -> None:
    quiet = web.site
    quiet.routes = {f"/{place}": assault for place, (assault, _) in enumerate(ASSAULTS.values())}
    quiet.routes["/quiet"] = closing(body=HTML)
    door = open_door(quiet.pair, timeout=1.0, max_bytes=200_000, in_flight=64)
    plays = [Play({}, quiet.url(f"/{place}")) for place in range(len(ASSAULTS))]
    reading = [outcome(door, play, Wanted.PAGE) for play in plays]
    ended = await asyncio.gather(*reading, outcome(door, Play({}, quiet.url("/quiet")), Wanted.PAGE))
    assert isinstance(ended[-1], Fetched)
    assert all(isinstance(each, StageError) for each in ended[:-1])
    assert web.hits == 0
