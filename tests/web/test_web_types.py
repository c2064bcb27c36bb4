"""Content types: what is let through for what is wanted, by what is declared and by the bytes."""

import gzip
from functools import partial
from typing import Any

import pytest

from tasks.errors import Permanent
from tasks.ports import Wanted
from tasks.web.media import charset, check_bytes, check_declared, media_type

gzipped = partial(gzip.compress, mtime=0)  # the same bytes every time

HTML = b"<!doctype html><title>x</title>"
RSS = b'<?xml version="1.0"?><rss><channel/></rss>'
XHTML = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
ZIP = b"PK\x03\x04\x14\x00\x00\x00"


def check(wanted: Wanted, declared: str, body: bytes) -> None:
    check_declared(wanted, declared)
    check_bytes(wanted, declared, body)


@pytest.mark.parametrize(("declared", "body"), [
    ("text/html; charset=utf-8", HTML),
    ("TEXT/HTML", HTML),
    ("application/xhtml+xml", XHTML),
    ("text/plain", b"just words"),
    ("text/markdown", b"# Title"),
    ("text/plain", b"ID3 tags, GIF, RIFF and PDF are formats"),
    ("text/x-markdown; charset=utf-8", b"# Title"),
    ("", HTML),
    ("application/octet-stream", HTML),
    ("application/xml", XHTML),
    ("text/xml", XHTML),
    ("text/html", b""),
    ("text/html", "<p>wide".encode("utf-16")),
    ("text/html", "<p>wide".encode("utf-16-le")),
    ("text/html", "<p>wide".encode("utf-16-be")),
    ("text/html", "<p>wide".encode("utf-32-le")),
    ("text/plain; charset=utf-16le", "wide".encode("utf-16-le")),
])
def test_a_page_is_text(declared: str, body: bytes) -> None:
    check(Wanted.PAGE, declared, body)
    check(Wanted.ANY, declared, body)


@pytest.mark.parametrize(("declared", "body", "reason"), [
    ("application/pdf", PDF, "its content type is application/pdf, which is not a page"),
    ("application/json", b"{}", "its content type is application/json, which is not a page"),
    ("image/png", PNG, "its content type is image/png, which is not a page"),
    ("application/rss+xml", RSS, "its content type is application/rss+xml, which is not a page"),
    ("application/pdf", HTML, "its content type is application/pdf, which is not a page"),
    ("text/xml", RSS, "its content type is text/xml and it holds no page"),
    ("text/html", PDF, "it declares text/html but is a PDF"),
    ("text/html", b"\r\n" + PDF, "it declares text/html but is a PDF"),
    ("text/html", PNG, "it declares text/html but is an image"),
    ("text/plain", ZIP, "it declares text/plain but is a zip archive"),
    ("", ZIP, "it is a zip archive"),
    ("text/plain", b"\x01\x02\x00\x03", "it declares text/plain but is binary data"),
    ("text/html", gzipped(HTML), "it declares text/html but is an archive"),
])
def test_what_is_no_page_is_refused_with_what_it_is(declared: str, body: bytes, reason: str) -> None:
    with pytest.raises(Permanent) as refused:
        check(Wanted.PAGE, declared, body)
    assert refused.value.reason == reason


@pytest.mark.parametrize("declared", ["application/rss+xml", "text/html", "text/plain", "", "image/png", "x"])
@pytest.mark.parametrize("body", [RSS, b'{"version": "1.1", "items": []}', gzipped(RSS), HTML])
def test_a_feed_may_come_under_any_type(declared: str, body: bytes) -> None:
    check(Wanted.FEED, declared, body)
    check(Wanted.ANY, declared, body)


@pytest.mark.parametrize(("declared", "body", "reason"), [
    ("image/png", PNG, "it is an image"),
    ("application/pdf", PDF, "it is a PDF"),
    ("application/octet-stream", ZIP, "it is a zip archive"),
    ("audio/mpeg", b"ID3\x03", "it is sound"),
    ("application/rss+xml", PNG, "it declares application/rss+xml but is an image"),
    ("application/feed+json", ZIP, "it declares application/feed+json but is a zip archive"),
])
def test_only_what_declares_to_be_text_is_told_to_be_something_else(
    declared: str, body: bytes, reason: str
) -> None:
    with pytest.raises(Permanent) as refused:
        check(Wanted.FEED, declared, body)
    assert refused.value.reason == reason


@pytest.mark.parametrize("body", [PDF, PNG, ZIP, HTML])
def test_a_file_may_be_anything(body: bytes) -> None:
    check(Wanted.FILE, "application/octet-stream", body)


@pytest.mark.parametrize("body", [PDF, PNG, ZIP, b"\xff\xd8\xff\xe0", b"GIF89a", b"a\x00b"])
@pytest.mark.parametrize("wanted", [wanted for wanted in Wanted if wanted is not Wanted.FILE])
def test_nothing_is_wanted_that_is_binary(body: bytes, wanted: Wanted) -> None:
    with pytest.raises(Permanent, match="it declares text/html but is"):
        check(wanted, "text/html", body)


@pytest.mark.parametrize(("header", "type_", "declared"), [
    ("text/html", "text/html", None),
    (" Text/HTML ;charset=UTF-8", "text/html", "UTF-8"),
    ("text/html; charset='latin1'", "text/html", "latin1"),
    ('text/html;x=y; CharSet = "utf-8" ;z', "text/html", "utf-8"),
    ("text/html, text/html", "text/html", None),
    ("text/html;charset=", "text/html", None),
    ("", "", None),
])
def test_a_content_type_is_taken_apart(header: str, type_: str, declared: str | None) -> None:
    assert (media_type(header), charset(header)) == (type_, declared)


async def test_a_wrong_type_is_refused_before_its_body_is_read(site: Any, door: Any) -> None:
    site.routes["/page"] = b"HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ncontent-length: 100\r\n\r\n"
    with pytest.raises(Permanent, match="video/mp4, which is not a page"):
        await door.fetch(site.url("/page"), Wanted.PAGE)


async def test_wrong_bytes_are_refused_as_soon_as_they_come(site: Any, door: Any) -> None:
    site.routes["/page"] = b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n" + PDF + b" " * 2000
    with pytest.raises(Permanent, match="it is a PDF"):
        await door.fetch(site.url("/page"), Wanted.FEED)


async def test_we_ask_for_what_is_wanted(site: Any, door: Any) -> None:
    site.routes["/page"] = (200, HTML, {})
    for wanted in Wanted:
        await door.fetch(site.url("/page"), wanted)
    asked = [request.headers["accept"] for request in site.requests if request.path == "/page"]
    assert [accept.partition(",")[0] for accept in asked] == [
        "text/html", "application/atom+xml", "application/json", "application/xml", "*/*",
        "application/atom+xml",
    ]
