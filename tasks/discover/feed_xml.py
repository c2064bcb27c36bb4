"""RSS, RDF and Atom through feedparser, with our own rules for what is an address.

feedparser makes a link of a bare guid and an address of "N/A". Its methods that do are replaced here; it is
pinned, and the tests of these rules run against it.
"""

import re
from calendar import timegm
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from io import BytesIO
from time import struct_time
from typing import Any

import feedparser
from feedparser.mixin import _FeedParserMixin as Reader

from models.addresses import resolve_link
from tasks.discover.entries import EPOCH, Entry, believable, whole_address
from tasks.discover.plain import full_text, html_of, html_text, one_line, title_text
from tasks.errors import Permanent

WIDE = {  # by the byte order mark or the first character; the longer ones first
    b"\xff\xfe\0\0": "utf-32-le", b"\0\0\xfe\xff": "utf-32-be", b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be", b"<\0\0\0": "utf-32-le", b"<\0": "utf-16-le", b"\0<": "utf-16-be",
}
CHARACTER = re.compile(rb"&#(?:x([0-9a-f]{1,20})|([0-9]{1,20}));", re.IGNORECASE)
# A feed needs none of what a document type can declare, and feedparser expands some of it.
DOCTYPE = re.compile(
    rb"(\A(?>\s|\xef\xbb\xbf|<\?.*?\?>|<!--.*?-->)*+)<!DOCTYPE[^\[>]*+(?:\[.*?\]\s*+)?>",
    re.IGNORECASE | re.DOTALL)
ENDED = re.compile(rb"</(?:[\w.-]+:)?(?:rss|rdf|feed|channel)\s*>|/>\s*\Z", re.IGNORECASE)
UNIX_TIME = {10: timedelta(seconds=1), 13: timedelta(milliseconds=1)}  # by the number of its digits

Told = Any  # feedparser's dictionaries


def resolve(reader: Told, href: str) -> str:
    """Against xml:base and the feed's own address; "" for what leads to no page."""
    return resolve_link(reader.baseuri, href) or whole_address(href) or ""


def end_guid(reader: Told) -> None:
    """A guid stays as it is written, and whether it may be a link is noted beside it."""
    reader.pop("id")
    reader._save("guidislink", bool(reader.guidislink))


def start_link(reader: Told, attributes: dict[str, str]) -> None:
    """A link's address is its href or its text; feedparser would prefer an attribute "uri"."""
    attributes.pop("uri", None)
    START_LINK(reader, attributes)


START_LINK = Reader._start_link
Reader._start_link = start_link
Reader.can_be_relative_uri = Reader.can_be_relative_uri - {"id"}
Reader.resolve_uri = resolve
Reader._end_guid = Reader._end_id = end_guid


def read_xml(body: bytes, url: str, charset: str | None, limit: int) -> tuple[str, list[Entry]]:
    """The feed's title and its first ``limit`` entries. Raises Permanent where it is no feed."""
    headers = {"content-location": url, "content-type": media_type(body, charset)}
    body = CHARACTER.sub(drawable, DOCTYPE.sub(rb"\1", body, count=1))
    stream = BytesIO(body)  # never bytes: those it would open as a path
    try:
        feed = feedparser.parse(
            stream, response_headers=headers, resolve_relative_uris=False, sanitize_html=False)
    except Exception as error:  # it has no exceptions of its own: hostile bytes raise whatever they hit
        raise Permanent(f"the feed cannot be read ({type(error).__name__})") from error
    if not feed.version and not feed.entries:
        raise Permanent("the feed breaks off at its beginning")
    if not feed.entries and not ENDED.search(body.replace(b"\0", b"")):  # NULs: UTF-16 and UTF-32
        raise Permanent("the feed breaks off before its first item")
    atom = str(feed.version).startswith("atom")
    inherited = authors(feed.feed) if atom else ""
    entries = [entry_of(entry, atom, inherited) for entry in feed.entries[:limit]]
    return plain_title(feed.feed, atom), entries


def drawable(reference: re.Match[bytes]) -> bytes:
    """A character reference, if there is such a character: half an emoji must not cost the whole feed."""
    number = int(reference[1], 16) if reference[1] else int(reference[2])
    return reference[0] if number < 0xD800 or 0xDFFF < number <= 0x10FFFF else b""


def media_type(body: bytes, charset: str | None) -> str:
    """The content type to read the bytes by: what they plainly are goes before what was declared."""
    charset = plain_charset(body) or charset
    return f"application/xml; charset={charset}" if charset else "application/xml"


def plain_charset(body: bytes) -> str | None:
    """Wide characters by the first of them, UTF-8 by being valid; none where the bytes may be anything."""
    if wide := next((name for first, name in WIDE.items() if body.startswith(first)), None):
        return wide
    if body.isascii():
        return None
    try:
        body.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"


def entry_of(entry: Told, atom: bool, inherited: str) -> Entry:
    told = entry.get("summary_detail") or {"value": entry.get("summary", "")}
    contents = [plain(content, atom) for content in entry.get("content", [])]
    summary = plain(told, atom)
    return Entry(
        guid=one_line(entry.get("id", "")),
        guid_is_link=entry.get("guidislink", True),
        link=link_of(entry),
        title=plain_title(entry, atom),
        author=authors(entry) or inherited,
        summary=summary or next(filter(None, contents), ""),
        text=" ".join([summary, *contents]),
        full_text=full_text(*(marked_up(content, atom) for content in [*entry.get("content", []), told])),
        published_at=published(entry),
        updated=one_line(dict.get(entry, "updated", "")),
    )


def link_of(entry: Told) -> str | None:
    """The page that the item names: never an enclosure, a comment feed or the feed itself."""
    pages = [link.get("href") for link in entry.get("links", []) if link.get("rel") == "alternate"]
    return entry.get("link") or next(filter(None, pages), None)


def plain_title(told: Told, atom: bool) -> str:
    """Atom's plain text is taken at its word; every other title may hold markup, declared or not."""
    detail = told.get("title_detail") or {}
    title = told.get("title") or ""
    if atom and detail.get("type") == "text/plain":
        return one_line(title)
    return title_text(title)


def plain(content: Told, atom: bool) -> str:
    return html_text(marked_up(content, atom))


def marked_up(content: Told, atom: bool) -> str:
    """As HTML; Atom's plain text is taken at its word, and a media type that is no text says nothing here."""
    value = content.get("value") or ""
    return html_of(value) if atom and content.get("type") == "text/plain" else value


def authors(told: Told) -> str:
    names = [author["name"] for author in told.get("authors", []) if author.get("name")]
    return title_text(", ".join(dict.fromkeys(names)) or told.get("author") or "")


def published(entry: Told) -> datetime | None:
    """As the feed says, in UTC; a day without a time is its midnight."""
    for name in ("published", "updated", "created"):
        said = dict.get(entry, name, "").strip()
        with suppress(OverflowError, ValueError):
            return believable(moment(said, dict.get(entry, f"{name}_parsed")))
    return None


def moment(said: str, parsed: struct_time | None) -> datetime:
    """feedparser's reading, but for what it misreads (Unix time) or does not read (no zone: UTC)."""
    if said.isdecimal() and len(said) in UNIX_TIME:
        return EPOCH + UNIX_TIME[len(said)] * int(said)
    if parsed:
        return EPOCH + timedelta(seconds=timegm(parsed))
    date = parsedate_to_datetime(said)
    return date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
