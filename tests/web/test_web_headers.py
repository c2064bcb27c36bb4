"""Headers that an owner sets for a source: sent to that host, and to nobody else."""

from typing import Any

import pytest

from models.headers import check_headers
from tasks.errors import NeedsCredential, Permanent
from tasks.ports import Validators, Wanted

HTML = b"<p>hello"
OWN = {"Authorization": "Bearer abc", "X-Edition": "morning", "Accept": "application/json"}


async def test_they_are_sent_with_ours(site: Any, door: Any) -> None:
    site.routes["/page"] = (200, HTML, {})
    await door.fetch(site.url("/page"), Wanted.PAGE, Validators(etag='"1"'), OWN)
    robots, page = site.requests
    assert page.headers["authorization"] == "Bearer abc"
    assert page.headers["x-edition"] == "morning"
    assert page.headers["accept"] == "application/json"
    assert page.headers["if-none-match"] == '"1"'
    assert page.headers["user-agent"].startswith("Almanac/")
    assert robots.path == "/robots.txt"
    assert not {"authorization", "x-edition"} & set(robots.headers)


@pytest.mark.parametrize("name", [
    "Host", "HOST", "Connection", "Proxy-Authorization", "proxy-connection", "Keep-Alive", "TE", "Trailer",
    "Transfer-Encoding", "Upgrade", "Content-Length", "Expect", "Accept-Encoding", "User-Agent",
    "If-None-Match", "Range", "Sec-Fetch-Mode",
])
async def test_those_of_the_connection_and_our_own_are_refused(site: Any, door: Any, name: str) -> None:
    with pytest.raises(Permanent, match=f"the header {name} is Almanac's own to set"):
        await door.fetch(site.url("/page"), Wanted.PAGE, headers={name: "x"})
    assert site.connections == 0


@pytest.mark.parametrize(("headers", "said"), [
    ({"X A": "b"}, "a header has a name of letters"),
    ({"": "b"}, "a header has a name of letters"),
    ({"X-A:": "b"}, "a header has a name of letters"),
    ({"X-A": "b\r\nHost: evil"}, "the value of the header X-A must be plain ASCII on one line"),
    ({"X-A": "caf\u00e9"}, "must be plain ASCII on one line"),
    ({"X-A": " b"}, "must be plain ASCII on one line"),
    ({"X-A": ""}, "must be plain ASCII on one line"),
    ({"X-A": "b", "x-a": "c"}, "the header x-a is set twice"),
    ({"X-A": "b" * 9000}, "longer than 8,192 bytes together"),
])
def test_what_is_no_header_is_refused_in_one_sentence(headers: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_headers(headers)


# Where a redirect leads from http://127.0.0.1:PORT, and whether the headers go along.
@pytest.mark.parametrize(("location", "sent"), [
    ("/end", True),
    ("http://127.0.0.1:{port}/end", True),
    ("http://127.0.0.3:{other}/end", False),
    ("http://127.0.0.1:{neighbour}/end", False),
])
async def test_they_stay_behind_on_a_redirect_to_another_host(
    open_site: Any, open_door: Any, location: str, sent: bool
) -> None:
    sites = {"port": await open_site(), "other": await open_site("127.0.0.3"), "neighbour": await open_site()}
    to = location.format(**{name: site.port for name, site in sites.items()})
    sites["port"].routes["/page"] = (302, b"", {"location": to})
    for site in sites.values():
        site.routes["/end"] = (200, HTML, {})
    door = open_door(" ".join(site.pair for site in sites.values()))
    await door.fetch(sites["port"].url("/page"), Wanted.FEED, headers=OWN)
    [end] = [request for site in sites.values() for request in site.requests if request.path == "/end"]
    assert ("authorization" in end.headers, "x-edition" in end.headers) == (sent, sent)
    assert end.headers["user-agent"].startswith("Almanac/")


async def test_they_do_not_come_back_once_left_behind(open_site: Any, open_door: Any) -> None:
    site, other = await open_site(), await open_site("127.0.0.3")
    site.routes = {"/page": (302, b"", {"location": other.url("/back")}), "/end": (200, HTML, {})}
    other.routes = {"/back": (302, b"", {"location": site.url("/end")})}
    await open_door(f"{site.pair} {other.pair}").fetch(site.url("/page"), Wanted.FEED, headers=OWN)
    assert "authorization" not in site.requests[-1].headers


@pytest.mark.parametrize(("start", "to", "may"), [
    ("http://a.example/", "https://a.example/x", True),
    ("https://a.example/", "http://a.example/x", False),
    ("https://a.example/", "https://a.example/x", True),
    ("https://a.example/", "https://www.a.example/", False),
    ("https://a.example/", "https://a.example:8443/", False),
    ("http://a.example:8080/", "https://a.example/", False),
    ("http://a.example/", "http://b.example/", False),
])
def test_who_may_know_what_the_owner_said_to_a_host(start: str, to: str, may: bool) -> None:
    from models.addresses import Address, same_server

    assert same_server(Address.parse(start), Address.parse(to)) is may


async def test_a_wrong_credential_is_said(site: Any, door: Any) -> None:
    site.routes["/page"] = (401, b"", {})
    with pytest.raises(NeedsCredential, match="a login is needed"):
        await door.fetch(site.url("/page"), Wanted.FEED, headers=OWN)
