"""Content types: what is let through for what is wanted, by the declared type and by the bytes."""

import re
from collections.abc import Mapping

from tasks.ports import Wanted
from tasks.web.failures import Content, of_content

HEAD = 1024  # bytes looked at

PAGE_TYPES = frozenset({
    "text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown",
})
UNTYPED = frozenset({"", "*/*", "application/octet-stream", "application/unknown", "unknown/unknown"})
XML_TYPES = frozenset({"text/xml", "application/xml"})

ACCEPT: Mapping[Wanted, str] = {
    Wanted.PAGE: "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.8,*/*;q=0.1",
    Wanted.FEED: "application/atom+xml,application/rss+xml,application/feed+json,"
                 "application/xml;q=0.9,text/xml;q=0.9,*/*;q=0.5",
    Wanted.JSON: "application/json,*/*;q=0.5",
    Wanted.SITEMAP: "application/xml,text/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5",
    Wanted.FILE: "*/*",
    Wanted.ANY: "application/atom+xml,application/rss+xml,application/feed+json,text/html,"
                "application/xhtml+xml,*/*;q=0.5",
}

SIGNATURES: Mapping[bytes, str] = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "a zip archive",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF87a": "an image",
    b"GIF89a": "an image",
    b"\x00\x00\x01\x00": "an image",
    b"OggS\x00": "sound or video",
    b"ID3\x03": "sound",
    b"ID3\x04": "sound",
    b"\x1aE\xdf\xa3": "video",
    b"\xd0\xcf\x11\xe0": "an office document",
    b"7z\xbc\xaf": "an archive",
    b"Rar!\x1a": "an archive",
    b"BZh91AY&": "an archive",
    b"\xfd7zXZ": "an archive",
    b"\x28\xb5\x2f\xfd": "an archive",
    b"\x7fELF": "a program",
    b"wOFF\x00\x01": "a font",
    b"wOF2\x00\x01": "a font",
}
TEXT = re.compile(r"text/|.*\b(?:xml|json)$")  # types that nothing binary has
GZIP = b"\x1f\x8b"
BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
WIDE_TEXT = re.compile(rb"\x00{0,3}<\x00")  # "<" in UTF-16 or UTF-32 without a mark
WIDE_CHARSET = re.compile("utf-?(?:16|32)", re.IGNORECASE)
HTML = re.compile(rb"<(?:!doctype\s+html|(?:\w+:)?html)\b", re.IGNORECASE)
CHARSET = re.compile(r""";\s*charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)


def media_type(content_type: str) -> str:
    """The type in lower case, without parameters; "" where there is none."""
    return re.split("[;,]", content_type, maxsplit=1)[0].strip().lower()


def charset(content_type: str) -> str | None:
    """The declared charset, as written."""
    found = CHARSET.search(content_type)
    return found[1] if found else None


def check_declared(wanted: Wanted, content_type: str) -> None:
    """Refuse a page by its type, before its body is read; feeds come under any. Raises Permanent."""
    declared = media_type(content_type)
    if wanted is Wanted.PAGE and declared not in PAGE_TYPES | UNTYPED | XML_TYPES:
        raise of_content(Content.NO_PAGE_TYPE, declared=declared[:80])


def check_bytes(wanted: Wanted, content_type: str, head: bytes) -> None:
    """Refuse by the first bytes of the body, whatever was declared. Raises Permanent."""
    if wanted is Wanted.FILE:
        return
    declared = media_type(content_type)
    kind = _binary_kind(head, charset(content_type) or "")
    if kind is None and wanted is Wanted.PAGE and head.startswith(GZIP):
        kind = "an archive"
    if kind:
        content = Content.NOT_TEXT if TEXT.match(declared) else Content.BINARY
        raise of_content(content, declared=declared[:80], kind=kind)
    if wanted is Wanted.PAGE and declared in XML_TYPES and not HTML.search(head):
        raise of_content(Content.NO_PAGE_IN_XML, declared=declared)


def _binary_kind(head: bytes, declared_charset: str) -> str | None:
    start = head.lstrip()[:8]
    for signature, kind in SIGNATURES.items():
        if start.startswith(signature) or head.startswith(signature):
            return kind
    wide = head.startswith(BYTE_ORDER_MARKS) or WIDE_TEXT.match(head) or WIDE_CHARSET.match(declared_charset)
    if b"\x00" in head and not wide and not head.startswith(GZIP):
        return "binary data"
    return None
