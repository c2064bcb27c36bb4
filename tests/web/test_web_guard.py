"""Nothing that may not be reached is ever connected to, whichever way its address comes."""

from collections.abc import Callable
from typing import Any

import pytest
from vacancy import free_port

from tasks.errors import StageError, Transient, Unsafe
from tasks.ports import Wanted
from tasks.web.door import Door

Reply = tuple[int, bytes, dict[str, str]]

OPEN, SECRET = "127.0.0.1", "127.0.0.2"  # two machines, as far as addresses go


class Names:
    """A resolver that gives its answers in turn, the last one for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
async def pair(open_site: Any) -> tuple[Any, Any]:
    """A site that may be read and, at the same port of another address, a service that may not."""
    port = free_port(OPEN, SECRET)
    site, secret = await open_site(OPEN, port), await open_site(SECRET, port)
    secret.routes = {path: page(b"<p>secret") for path in ("/", "/page", "/robots.txt")}
    return site, secret


def page(body: bytes = b"", status: int = 200, **headers: str) -> Reply:
    return status, body, {"connection": "close", **headers}  # the next request looks the name up again


def redirect(to: str) -> Reply:
    return page(status=302, location=to)


# Each way leads from the site to the secret service: (routes of the site, resolver, address asked for).
WAYS: dict[str, Callable[[Any], tuple[dict[str, Reply], Names, str]]] = {
    "directly": lambda port: ({}, Names([OPEN]), f"http://{SECRET}:{port}/page"),
    "in decimal": lambda port: ({}, Names([OPEN]), f"http://2130706434:{port}/page"),
    "in IPv6": lambda port: ({}, Names([OPEN]), f"http://[::ffff:{SECRET}]:{port}/page"),
    "by name": lambda port: ({}, Names([SECRET]), f"http://a.example:{port}/page"),
    "by a name with two addresses": lambda port: (
        {"/robots.txt": page(status=404)},
        Names([OPEN, SECRET], [SECRET]), f"http://a.example:{port}/page"),
    "by a name whose first address is refused": lambda port: (
        {}, Names([SECRET, OPEN]), f"http://a.example:{port}/page"),
    "by redirect": lambda port: (
        {"/page": redirect(f"http://{SECRET}:{port}/page")}, Names([OPEN]), f"http://{OPEN}:{port}/page"),
    "by a redirect without scheme": lambda port: (
        {"/page": redirect(f"//{SECRET}:{port}/page")}, Names([OPEN]), f"http://{OPEN}:{port}/page"),
    "by a second redirect": lambda port: (
        {"/page": redirect("/next"), "/next": redirect(f"http://0x7f000002:{port}/page")},
        Names([OPEN]), f"http://{OPEN}:{port}/page"),
    "by robots.txt": lambda port: (
        {"/robots.txt": redirect(f"http://{SECRET}:{port}/robots.txt"), "/page": page(b"<p>x")},
        Names([OPEN]), f"http://{OPEN}:{port}/page"),
    "by rebinding after robots.txt": lambda port: (
        {"/robots.txt": page(status=404)}, Names([OPEN], [SECRET]), f"http://a.example:{port}/page"),
    "by rebinding on a redirect to itself": lambda port: (
        {"/robots.txt": page(status=404), "/first": redirect("/page")},
        Names([OPEN], [OPEN], [SECRET]), f"http://a.example:{port}/first"),
}


@pytest.mark.parametrize("way", WAYS)
async def test_the_secret_service_is_never_connected_to(
    way: str, pair: tuple[Any, Any], open_door: Callable[..., Door]
) -> None:
    site, secret = pair
    site.routes, names, url = WAYS[way](site.port)
    with pytest.raises((Unsafe, Transient)) as refused:
        await open_door(site.pair, resolver=names).fetch(url, Wanted.PAGE)
    assert secret.connections == 0
    assert "loopback (RFC 1122) is not public" in refused.value.reason
    assert SECRET not in refused.value.reason


@pytest.mark.parametrize("way", WAYS)
async def test_each_way_would_lead_there_without_the_policy(
    way: str, pair: tuple[Any, Any], open_door: Callable[..., Door]
) -> None:
    """The control run: the same door, allowed everything, reads the secret service."""
    site, secret = pair
    site.routes, names, url = WAYS[way](site.port)
    try:
        await open_door("0.0.0.0/0 ::/0", resolver=names).fetch(url, Wanted.PAGE)
    except StageError as error:
        pytest.fail(f"{way}: {error.reason}")
    assert secret.connections


@pytest.mark.parametrize("location", [
    "file:///etc/passwd", "ftp://a.example/", "data:text/html,x", "javascript:x", "gopher://a.example/",
    "http:\\\\127.0.0.2\\x", "\\\\127.0.0.2\\x", "http://", "https://me:secret@a.example/",
    "http://a..example/", "http://a.example:99999/",
])
async def test_a_redirect_to_what_is_no_web_address_is_refused(
    location: str, pair: Any, open_door: Any
) -> None:
    site, _ = pair
    site.routes["/page"] = redirect(location)
    with pytest.raises(Unsafe, match="a redirect is refused: "):
        await open_door(site.pair).fetch(site.url("/page"), Wanted.PAGE)


async def test_a_redirect_to_another_port_is_refused(pair: Any, open_door: Any) -> None:
    site, _ = pair
    site.routes["/page"] = redirect("http://a.example:6333/collections")
    names = Names([OPEN])
    with pytest.raises(Unsafe, match="a redirect is refused: the address is refused: loopback"):
        await open_door(site.pair + ", 10.0.0.0/8", resolver=names).fetch(site.url("/page"), Wanted.PAGE)
    with pytest.raises(Unsafe, match="a redirect is refused: port 6333 is refused"):
        await open_door(site.pair, resolver=names).fetch(site.url("/page"), Wanted.PAGE)


@pytest.mark.parametrize(("url", "said"), [
    ("http://localhost/", "without a dot"),
    ("http://169.254.169.254/latest/meta-data/", "cloud metadata"),
    ("http://[::1]/", "loopback"),
    ("http://site.example:8080/", "port 8080"),
    ("ftp://site.example/", "ftp: addresses"),
    ("http://me:pw@site.example/", "user name or password"),
])
@pytest.mark.parametrize("wanted", list(Wanted))
async def test_an_unsafe_address_is_refused_without_a_look_up(
    url: str, said: str, wanted: Wanted, open_door: Any
) -> None:
    names = Names(["1.1.1.1"])
    with pytest.raises(Unsafe, match=said):
        await open_door(resolver=names).fetch(url, wanted)
    assert names.asked == []


async def test_the_address_that_was_checked_is_the_one_that_is_dialled(pair: Any, open_door: Any) -> None:
    site, _ = pair
    site.routes = {"/robots.txt": page(status=404), "/page": page(b"<p>hello")}
    names = Names([OPEN], [OPEN], [SECRET])
    await open_door(site.pair, resolver=names).fetch(site.url("/page", "a.example"), Wanted.PAGE)
    assert names.asked == ["a.example"] * 2  # one look-up a connection: robots.txt and the page


async def test_the_next_address_of_a_name_is_tried_when_one_is_silent(pair: Any, open_door: Any) -> None:
    site, _ = pair
    site.routes["/page"] = page(b"<p>hello")
    names = Names(["127.0.0.3", OPEN])
    door = open_door(f"{site.pair}, 127.0.0.3", resolver=names)
    assert (await door.fetch(site.url("/page", "a.example"), Wanted.FEED)).body == b"<p>hello"


async def test_a_name_without_addresses_may_be_found_later(open_door: Any) -> None:
    async def nobody(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    with pytest.raises(Transient, match="the host name could not be found"):
        await open_door(resolver=nobody).fetch("http://a.example/", Wanted.FEED)
    with pytest.raises(Transient, match="the host name could not be found"):
        await open_door(resolver=Names([])).fetch("http://a.example/", Wanted.FEED)


async def test_proxies_of_the_environment_are_not_asked(
    pair: Any, open_door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, secret = pair
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://{SECRET}:{site.port}")
    site.routes["/page"] = page(b"<p>hello")
    await open_door(site.pair).fetch(site.url("/page"), Wanted.PAGE)
    assert secret.connections == 0
