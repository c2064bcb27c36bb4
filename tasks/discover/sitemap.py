"""The jailed parser of sitemaps (sitemaps.org): XML of any namespace or none, text, feeds; gzipped or not."""

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape, unescape
from io import BytesIO
from typing import Any

from lxml import etree

from models.addresses import resolve_link
from tasks.discover import feed
from tasks.discover.entries import LONGEST_TITLE, whole_address
from tasks.discover.feed_xml import DOCTYPE, plain_charset
from tasks.discover.lastmod import canonical, moment
from tasks.discover.packed import unpack
from tasks.discover.plain import UNSTORABLE, title_text
from tasks.errors import Permanent

MOST_PAGES = 50_000  # of one file, as the protocol has it
MOST_TEXT = 10_000_000  # characters of all their addresses
LARGEST = 50_000_000  # bytes, unpacked, as the protocol has it
UNSUSPICIOUS, HIGHEST_RATIO = 1_000_000, 200  # of gzip: up to so many bytes, then so many times its own size
BEGIN = 16_384

ROOT = re.compile(
    r"<(?:[\w.-]+:)?(?:(urlset|sitemapindex|url|sitemap)|(rss|rdf|feed|channel)|html|head|body)[\s/>]",
    re.IGNORECASE)
CLOSED = re.compile(
    r"</(?:[\w.-]+:)?(?:urlset|sitemapindex)\s*>|<(?:[\w.-]+:)?\w+[^<>]*/>\s*\Z", re.IGNORECASE)
ENTRY_END = re.compile(r"</(?:[\w.-]+:)?(?:url|sitemap)\s*>", re.IGNORECASE)
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
DECLARATION = re.compile(r"<\?xml\b[^<>]*\?>", re.IGNORECASE)
DECLARED = re.compile(rb"""\A\s*<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)""", re.IGNORECASE)
AMPERSAND = re.compile(r"&(#?\w+;)?")
OF_XML = {"amp;", "lt;", "gt;", "quot;", "apos;"}
MEDIA = re.compile("image|video", re.IGNORECASE)  # namespaces whose addresses are of no page
ROBOTS = re.compile(r"^\s*(?:user-agent|disallow|allow)\s*:", re.IGNORECASE | re.MULTILINE)

Told = dict[str, Any]


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> Told:
    """What the sitemap at ``url`` (final, after redirects) lists; ``media_type`` is not believed.

    Gives ``{"title", "items", "sitemaps": [[address, lastmod]], "dropped": entries without an address,
    "past": entries past the limits, "cut_off": bool}``. An item is ``{"url", "lastmod", "title",
    "published_at"}``, or that of ``feed.parse`` where a feed is offered as a sitemap; ``lastmod`` is
    ``lastmod.canonical``. Raises Permanent where the bytes are no sitemap.
    """
    body = unpack(body, "sitemap", most)
    text = UNSTORABLE.sub("", decoded(body, charset)).lstrip("\ufeff \t\r\n")
    if not text:
        raise Permanent("not a sitemap: the answer is empty")
    if text[0] == "{":
        return of_feed(body, url, media_type, charset)
    if text[0] != "<":
        return read_text(text)
    root = ROOT.search(COMMENT.sub("", text[:BEGIN]))
    if root is None:
        raise Permanent("not a sitemap: neither a list of addresses nor a feed")
    if root[2]:
        return of_feed(body, url, media_type, charset)
    if not root[1]:
        raise Permanent("not a sitemap: an HTML page, perhaps a sign-in or an error page")
    return read_xml(text, url)


def most(packed: int) -> int:
    """How many bytes a sitemap of so many packed ones may have."""
    return max(UNSUSPICIOUS, min(LARGEST, HIGHEST_RATIO * packed))


def decoded(body: bytes, charset: str | None) -> str:
    """Addresses are ASCII in any of them, so nothing is lost by a wrong guess but the letters of a title."""
    declared = DECLARED.match(body)
    for name in (plain_charset(body), declared and declared[1].decode(), charset):
        try:
            if name:
                return body.decode(name, errors="replace")
        except (LookupError, ValueError):
            continue
    return body.decode("cp1252", errors="replace")


def answer(items: list[Told], **more: Any) -> Told:
    nothing: Told = {"title": None, "sitemaps": [], "dropped": 0, "past": 0, "cut_off": False}
    return nothing | {"items": items} | more


def of_feed(body: bytes, url: str, media_type: str, charset: str | None) -> Told:
    told = feed.parse(body, url, media_type, charset)
    items = [item for item in told["items"] if item["url"]]
    return answer(items, title=told["title"], dropped=len(told["items"]) - len(items))


def read_text(text: str) -> Told:
    """One address a line; a few lines may be something else."""
    if ROBOTS.search(text[:BEGIN]):
        raise Permanent("not a sitemap but a robots.txt: give the address that it names after “Sitemap:”")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    addresses = list(filter(None, map(whole_address, lines[:MOST_PAGES])))
    if 2 * len(addresses) < len(lines[:MOST_PAGES]) or not addresses:
        raise Permanent("not a sitemap: text, but no list of addresses")
    items = [page_of(address) for address in within_room(addresses)]
    dropped = len(lines[:MOST_PAGES]) - len(addresses)
    return answer(items, dropped=dropped, past=len(lines) - len(items) - dropped)


def page_of(url: str, lastmod: str = "", title: str = "", published: str = "") -> Told:
    date = moment(published)
    date = moment(published) if published else None
    return {
        "url": url, "lastmod": canonical(lastmod) or canonical(published),
        "title": (title and title_text(title)[:LONGEST_TITLE]) or None,
        "published_at": date and date.isoformat(),
    }


def within_room(addresses: list[str]) -> Iterator[str]:
    room = MOST_TEXT
    for address in addresses:
        room -= len(address)
        if room < 0:
            return
        yield address


def read_xml(text: str, url: str) -> Told:
    """Every entry that is whole, wherever it stands; one that is cut off is none."""
    if "<!ENTITY" in text[:BEGIN]:
        raise Permanent("the sitemap declares entities, which are not read")
    cut_off = not CLOSED.search(text, max(0, len(text) - BEGIN))
    ends = [end.end() for end in ENTRY_END.finditer(text)]
    if cut_off and not ends:
        raise Permanent("the sitemap is cut off before its first entry ends")
    told = answer([], cut_off=cut_off)
    pages, room = told["items"], MOST_TEXT
    for kind, href, said in entries(sound(text[: ends[-1] if ends else 0])):
        address = resolved(url, href)
        if address is None:
            told["dropped"] += 1
        elif len(pages) + len(told["sitemaps"]) >= MOST_PAGES or len(address) > room:
            told["past"] += 1
        elif kind == "url":
            pages.append(page_of(address, **said))
        else:
            told["sitemaps"].append([address, canonical(said["lastmod"])])
        room -= len(address or "")
    return told


def sound(text: str) -> bytes:
    """Well-formed XML, as far as ampersands, document types and roots go."""
    text = DECLARATION.sub("", CDATA.sub(lambda found: escape(found[1]), text))
    text = AMPERSAND.sub(forgiven, text)
    body = DOCTYPE.sub(rb"\1", text.encode(errors="replace"), count=1)
    return b"<files>" + body + b"</files>"


def forgiven(ampersand: re.Match[str]) -> str:
    """HTML's entities as the characters they are; an ampersand that begins none, as itself."""
    if ampersand[1] in OF_XML:
        return ampersand[0]
    return escape(unescape(ampersand[0])) if ampersand[1] else "&amp;"


def entries(body: bytes) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Each address with the kind of its entry, "url" or "sitemap", and what is said of it."""
    walk = etree.iterparse(
        BytesIO(body), events=("end",), recover=True, resolve_entities=False, no_network=True,
        load_dtd=False, huge_tree=True, remove_comments=True, remove_pis=True)
    for _, element in walk:
        _, kind = named(element.tag)
        if kind in {"url", "sitemap"}:
            for href in texts(element, "loc"):
                yield kind, href, said_of(element)
            element.clear()


@lru_cache(maxsize=1000)
def named(tag: str) -> tuple[str, str]:
    """Namespace, or the prefix of one that is not declared, and name."""
    name = tag.rpartition("}")[2].rpartition(":")[2]
    return tag.removesuffix(name), name.lower()


def texts(element: etree._Element, name: str) -> Iterator[str]:
    """What its own children of that name say, those for images and videos left out."""
    for child in element:
        space, its_name = named(child.tag)
        if its_name == name and not MEDIA.search(space):
            yield ("".join(child.itertext()) if len(child) else child.text or "").strip()


def said_of(element: etree._Element) -> dict[str, str]:
    """lastmod, and what the news extension tells."""
    said = {"lastmod": next(texts(element, "lastmod"), "")}
    for news in element:
        if named(news.tag)[1] == "news":
            said["title"] = next(texts(news, "title"), "")
            said["published"] = next(texts(news, "publication_date"), "")
    return said


def resolved(url: str, href: str) -> str | None:
    """The address of an entry; escaped twice and written without a scheme it is still meant."""
    href = href.replace("&amp;", "&")
    host = url.partition("//")[2].partition("/")[0]
    if href.lower().startswith((f"{host}/", f"www.{host}/")):
        href = f"//{href}"
    return whole_address(href) or resolve_link(url, href)  # the first is quicker, and mostly enough
