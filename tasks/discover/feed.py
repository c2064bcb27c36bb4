"""The jailed parser of feeds: bytes of any feed format, under any declared type, to a title and items."""

import re
from typing import Any

from tasks.discover.entries import LONGEST_TITLE, items_of
from tasks.discover.feed_json import read_json
from tasks.discover.feed_xml import read_xml
from tasks.discover.packed import unpack
from tasks.errors import Permanent

MOST_ITEMS = 5_000
LARGEST = 20_000_000  # bytes, unpacked
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
UTF_7 = re.compile(rb"""<\?xml[^>]*encoding\s*=\s*["']utf-?7["']""", re.IGNORECASE)
ROOT = re.compile(rb"<(?:[\w.-]+:)?(rss|rdf|feed|channel)[\s>]|<(?:html|head|body)[\s>]", re.IGNORECASE)
HTML = re.compile(rb"<(?:!doctype\s+)?html\b", re.IGNORECASE)


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> dict[str, Any]:
    """What the feed at ``url`` (final, after redirects) offers; ``media_type`` is not believed.

    Gives ``{"title": str|None, "items": [{"item_key", "item_hash", "url", "title", "author", "summary",
    "published_at", "full_text"}]}``; ``url`` is absolute http(s), or None for an item without an address.
    At most 5,000 items. Raises Permanent where the bytes are no feed.
    """
    body = unpack(body, "feed", lambda packed: LARGEST)
    if body.removeprefix(BYTE_ORDER_MARK).lstrip()[:1] == b"{":
        title, entries = read_json(body, url, MOST_ITEMS)
    else:
        check_root(body)
        title, entries = read_xml(body, url, charset, MOST_ITEMS)
    return {"title": title[:LONGEST_TITLE] or None, "items": items_of(entries)}


def check_root(body: bytes) -> None:
    """Refuse, before any parsing, what does not begin like a feed."""
    begin = COMMENT.sub(b"", body[:16384].replace(b"\0", b""))  # NULs: UTF-16 and UTF-32
    if not begin.strip():
        raise Permanent("not a feed: the answer is empty")
    if UTF_7.match(begin.lstrip()):
        raise Permanent("the feed is written in UTF-7, which is not read")
    root = ROOT.search(begin)
    if root is None or root[1] is None:
        if HTML.search(begin):
            raise Permanent("not a feed: an HTML page, perhaps a sign-in or an error page")
        raise Permanent("not a feed: neither RSS, Atom nor JSON Feed")
