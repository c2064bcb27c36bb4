"""Every way in which a server may answer too much, too slowly or something else ends in a reason."""

import asyncio
import gzip
import zlib
from datetime import timedelta
from typing import Any

import pytest

from tasks.errors import NeedsCredential, Permanent, StageError, Transient
from tasks.ports import Wanted
from tasks.web import client

HTML = b"<!doctype html><html><p>hello</p></html>"
ENDLESS = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n"


async def test_a_page_arrives_as_it_was_sent(site: Any, door: Any) -> None:
    body = "<p>caf\u00e9".encode("latin-1")
    headers = {"content-type": 'Text/HTML; Charset="ISO-8859-1"', "X-A": "b"}
    site.routes["/page?a=b+c%20d&Z"] = (200, body, headers)
    fetched = await door.fetch(site.url("/page?a=b+c%20d&Z#part"), Wanted.PAGE)
    assert (fetched.status, fetched.body, fetched.media_type) == (200, body, "text/html")
    assert fetched.charset == "ISO-8859-1"
    assert fetched.headers["x-a"] == "b"
    assert fetched.url == fetched.final_url == site.url("/page?a=b+c%20d&Z#part")
    assert fetched.moved_to is None
    assert not fetched.not_modified


async def test_we_say_who_we_are_and_send_nothing_else_of_ours(site: Any, open_door: Any) -> None:
    site.routes["/page"] = (200, HTML, {"set-cookie": "id=1"})
    door = open_door(site.pair, contact="https://me.example/bot")
    for _ in range(2):
        fetched = await door.fetch(site.url("/page"), Wanted.PAGE)
    assert "set-cookie" not in fetched.headers
    for request in site.requests:
        assert request.headers["user-agent"].startswith("Almanac/")
        assert request.headers["user-agent"].endswith(" (+https://me.example/bot)")
        assert set(request.headers) == {"host", "user-agent", "accept-encoding", "accept"}


@pytest.mark.parametrize("contact", ["a\r\nX-Evil: 1", "caf\u00e9"])
def test_a_contact_that_cannot_stand_in_a_header_is_refused(contact: str, open_door: Any) -> None:
    with pytest.raises(ValueError, match="plain ASCII"):
        open_door(contact=contact)


@pytest.mark.parametrize(("status", "kind", "reason"), [
    (204, Transient, "the server answered without a page (HTTP 204)"),
    (206, Transient, "the server answered without a page (HTTP 206)"),
    (300, Permanent, "the server answered with a redirect that leads nowhere (HTTP 300)"),
    (302, Permanent, "the server answered with a redirect that leads nowhere (HTTP 302)"),
    (400, Permanent, "refused (HTTP 400)"),
    (401, NeedsCredential, "a login is needed (HTTP 401)"),
    (403, Permanent, "refused (HTTP 403)"),
    (404, Permanent, "not found (HTTP 404)"),
    (408, Transient, "the server gave up waiting (HTTP 408)"),
    (410, Permanent, "gone (HTTP 410)"),
    (418, Permanent, "refused (HTTP 418)"),
    (425, Transient, "the server was not ready (HTTP 425)"),
    (429, Transient, "too many requests (HTTP 429)"),
    (451, Permanent, "withheld for legal reasons (HTTP 451)"),
    (500, Transient, "the server failed (HTTP 500)"),
    (503, Transient, "the server is not available (HTTP 503)"),
    (599, Transient, "the server failed (HTTP 599)"),
    (999, Permanent, "the status means nothing (HTTP 999)"),
])
async def test_each_status_is_a_failure_that_says_what_to_do_next(
    site: Any, door: Any, status: int, kind: type[StageError], reason: str
) -> None:
    site.routes["/page"] = (status, b"<p>secret words" if status != 204 else b"", {})
    with pytest.raises(StageError) as failed:
        await door.fetch(site.url("/page"), Wanted.PAGE)
    assert (type(failed.value), failed.value.reason) == (kind, reason)


async def flood(request: Any, writer: Any) -> None:
    writer.write(ENDLESS)
    while True:
        writer.write(b"<p>more" * 1000)
        await writer.drain()


TOO_LARGE: dict[str, Any] = {
    "one byte too many": (200, b"x" * 20_001, {}),
    "declared": b"HTTP/1.1 200 OK\r\ncontent-length: 80000000\r\n\r\n<p>",
    "endless": flood,
    "gzip bomb": (200, gzip.compress(b"<p>" + b" " * 10_000_000), {"content-encoding": "gzip"}),
    "deflate bomb": (200, zlib.compress(b"<p>" + b" " * 10_000_000), {"content-encoding": "deflate"}),
    "encoded": (200, gzip.compress(b"") * 1001, {"content-encoding": "gzip"}),
}


@pytest.mark.parametrize("kind", TOO_LARGE)
@pytest.mark.parametrize("wanted", list(Wanted))
async def test_what_is_larger_than_the_limit_is_refused(
    site: Any, open_door: Any, kind: str, wanted: Wanted
) -> None:
    site.routes["/page"] = TOO_LARGE[kind]
    with pytest.raises(Permanent, match="it is larger than 20,000 bytes"):
        await open_door(site.pair, max_bytes=20_000).fetch(site.url("/page"), wanted)


async def test_what_is_as_large_as_the_limit_is_read(site: Any, open_door: Any) -> None:
    body = b"x" * 20_000
    site.routes["/page"] = (200, body, {})
    site.routes["/gzip"] = (200, gzip.compress(body), {"content-encoding": "gzip"})
    door = open_door(site.pair, max_bytes=20_000)
    assert (await door.fetch(site.url("/page"), Wanted.PAGE)).body == body
    assert (await door.fetch(site.url("/gzip"), Wanted.PAGE)).body == body


async def drip(request: Any, writer: Any) -> None:
    writer.write(ENDLESS)
    while True:
        writer.write(b"x")
        await asyncio.sleep(0.02)
        await writer.drain()


async def drip_headers(request: Any, writer: Any) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x-a: b\r\n")
        await asyncio.sleep(0.02)
        await writer.drain()


async def never(request: Any, writer: Any) -> None:
    await asyncio.sleep(30)


@pytest.mark.parametrize("route", [drip, drip_headers, never])
async def test_a_fetch_ends_at_its_deadline(site: Any, open_door: Any, route: Any) -> None:
    site.routes["/page"] = route
    with pytest.raises(Transient, match=r"it took longer than 0\.3 seconds"):
        await open_door(site.pair, timeout=0.3).fetch(site.url("/page"), Wanted.FEED)


async def test_the_deadline_covers_all_hops(site: Any, open_door: Any) -> None:
    async def slow(request: Any, writer: Any) -> None:
        await asyncio.sleep(0.2)
        place = int(request.path.strip("/"))
        writer.write(f"HTTP/1.1 302 X\r\nlocation: /{place + 1}\r\ncontent-length: 0\r\n\r\n".encode())

    site.routes = {f"/{place}": slow for place in range(5)}
    with pytest.raises(Transient, match="it took longer than"):
        await open_door(site.pair, timeout=0.5).fetch(site.url("/0"), Wanted.FEED)
    assert len(site.paths) == 3


async def test_a_trickle_is_cut_before_the_deadline(
    site: Any, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PATIENCE", 0.1)
    site.routes["/page"] = drip
    with pytest.raises(Transient, match="it came slower than 1,000 bytes a second"):
        await door.fetch(site.url("/page"), Wanted.FEED)


async def test_silence_is_cut_before_the_deadline(
    site: Any, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "SILENCE", 0.1)
    site.routes["/page"] = never
    with pytest.raises(Transient, match="the server fell silent"):
        await door.fetch(site.url("/page"), Wanted.FEED)


START = b"HTTP/1.1 200 OK\r\n"
BROKEN: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "broke off"),
    "not HTTP": (b"hello\r\n\r\n", "not HTTP"),
    "shorter than declared": (START + b"content-length: 100\r\n\r\n<p>", "broke off"),
    "a chunk too few": (START + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "broke off"),
    "two lengths": (START + b"content-length: 1\r\ncontent-length: 2\r\n\r\n<p>", "not HTTP"),
    "a negative length": (START + b"content-length: -5\r\n\r\n<p>", "not HTTP"),
    "many headers": (START + b"x-a: b\r\n" * 50_000 + b"\r\n", "not HTTP"),
    "a long header": (START + b"x-a: " + b"b" * 400_000 + b"\r\n\r\n", "not HTTP"),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_an_answer_that_is_broken_may_be_whole_later(site: Any, door: Any, kind: str) -> None:
    site.routes["/page"], reason = BROKEN[kind]
    with pytest.raises(Transient, match=reason):
        await door.fetch(site.url("/page"), Wanted.FEED)


async def test_a_connection_that_is_reset_may_hold_later(site: Any, door: Any) -> None:
    async def reset(request: Any, writer: Any) -> None:
        writer.transport.abort()

    site.routes["/page"] = reset
    with pytest.raises(Transient, match="broke"):
        await door.fetch(site.url("/page"), Wanted.FEED)


async def test_a_machine_that_is_not_there_may_come_back(open_site: Any, open_door: Any) -> None:
    with pytest.raises(Transient, match="no connection could be made"):
        await open_door("127.0.0.1:9").fetch("http://127.0.0.1:9/", Wanted.FEED)


async def test_more_than_was_declared_is_not_read(site: Any, door: Any) -> None:
    site.routes["/page"] = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 3\r\n\r\n<p>secret"
    assert (await door.fetch(site.url("/page"), Wanted.PAGE)).body == b"<p>"


async def test_a_failure_whose_body_never_comes_is_still_that_failure(
    site: Any, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stall(request: Any, writer: Any) -> None:
        writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 10\r\n\r\n")
        await asyncio.sleep(30)

    monkeypatch.setattr(client, "DRAIN", 0.1)
    site.routes["/page"] = stall
    with pytest.raises(Permanent, match="not found"):
        await door.fetch(site.url("/page"), Wanted.FEED)


async def test_connections_are_kept_for_the_next_request(site: Any, door: Any) -> None:
    site.routes = {"/a": (200, HTML, {}), "/b": (301, b"moved", {"location": "/a"}), "/c": (404, b"gone", {})}
    await door.fetch(site.url("/b"), Wanted.PAGE)
    with pytest.raises(Permanent):
        await door.fetch(site.url("/c"), Wanted.PAGE)
    await door.fetch(site.url("/a"), Wanted.PAGE)
    assert site.connections == 1


async def test_a_kept_connection_that_the_server_closed_is_replaced(site: Any, door: Any) -> None:
    site.routes["/page"] = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n<p>"  # and closes, saying nothing
    for _ in range(20):
        assert (await door.fetch(site.url("/page"), Wanted.FEED)).body == b"<p>"
    assert site.connections == len(site.requests) == 20


async def test_a_new_connection_that_breaks_is_not_tried_again(site: Any, door: Any) -> None:
    site.routes["/page"] = b""
    with pytest.raises(Transient, match="broke off"):
        await door.fetch(site.url("/page"), Wanted.FEED)
    assert len(site.requests) == 1


@pytest.mark.parametrize(("value", "wait"), [
    ("120", timedelta(seconds=120)),
    ("999999", timedelta(days=1)),
    ("-5", None),
    ("soon", None),
    ("0", None),
])
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_wait_that_is_asked_for_is_passed_on(
    site: Any, door: Any, status: int, value: str, wait: timedelta | None
) -> None:
    site.routes["/page"] = (status, b"", {"retry-after": value})
    with pytest.raises(Transient) as failed:
        await door.fetch(site.url("/page"), Wanted.FEED)
    assert failed.value.retry_after == wait
