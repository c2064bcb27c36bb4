"""OPML 2.0, the list of subscriptions that feed readers exchange: read in the jail, and written."""

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape, unescape
from typing import Any

from lxml import etree

from tasks.discover.feed_xml import DOCTYPE
from tasks.discover.plain import one_line
from tasks.discover.sitemap import decoded
from tasks.errors import Permanent

OURS = "urn:almanac:source"  # the namespace of what OPML has no word for
MOST_OUTLINES = 10_000
LONGEST_TEXT = 4_096
AMPERSAND = re.compile(r"&(?:(#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|\w{1,32});)?")
OF_XML = {"amp", "lt", "gt", "quot", "apos"}
DECLARATION = re.compile(r"\A\s*<\?xml\b[^<>]*\?>", re.IGNORECASE)
PAGES = {"link", "page"}  # types of outlines whose url is an address to read

Told = dict[str, Any]


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> Told:
    """The subscriptions in ``body``: ``{"entries": [entry], "refused": [[name, why]]}``.

    An entry is ``{"url", "name", "tags", "own"}``: the names of the folders around it, outermost first, and
    of its ``category``; ``own`` are the attributes that ``write`` adds. Raises Permanent for what is no OPML.
    """
    root = tree(body)
    outlines = [it for it in root.iter() if isinstance(it.tag, str) and local(it.tag) == "outline"]
    entries: list[Told] = []
    refused = []
    for outline in outlines[:MOST_OUTLINES]:
        said = {local(name): one_line(value)[:LONGEST_TEXT] for name, value in outline.attrib.items()
                if not name.startswith(f"{{{OURS}}}")}
        if address := address_of(said):
            entries.append(entry_of(outline, said, address))
        elif len(outline) == 0 and said.keys() & {"type", "htmlurl", "url"}:
            refused.append([name_of(said) or "an entry", "it names no feed (xmlUrl)"])
    if len(outlines) > MOST_OUTLINES:
        refused.append(["the rest", f"a file may hold {MOST_OUTLINES:,} entries"])
    return {"entries": entries, "refused": refused}


def tree(body: bytes) -> Any:
    """The root, of XML that is mended where readers write it wrong: bare ampersands, entities of HTML."""
    text = DECLARATION.sub("", decoded(body, None).lstrip("\ufeff"))
    mended = AMPERSAND.sub(reference, DOCTYPE.sub(rb"\1", text.encode(errors="replace"), count=1).decode())
    reader = etree.XMLParser(recover=True, resolve_entities=False, load_dtd=False, no_network=True,
                             huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(mended.strip().encode(), reader)
    except etree.XMLSyntaxError as error:
        raise Permanent("not an OPML file: it is no XML") from error
    if root is None or local(root.tag) != "opml":
        raise Permanent("not an OPML file: export the subscriptions of your feed reader as OPML")
    return root


def reference(found: re.Match[str]) -> str:
    """What XML knows stays; what only HTML knows becomes its character; every other ampersand is one."""
    name = found[1]
    if name and (name in OF_XML or name.startswith("#")):
        return found[0]
    return escape(unescape(found[0])) if name else "&amp;"


def local(name: str) -> str:
    return name.rpartition("}")[2].lower()


def name_of(said: Mapping[str, str]) -> str:
    return said.get("title") or said.get("text") or ""


def address_of(said: Mapping[str, str]) -> str | None:
    """The feed of an outline, or the page of a link; a link to another OPML file is not followed."""
    is_page = said.get("type", "").lower() in PAGES
    return said.get("xmlurl") or (said.get("url") if is_page else None) or None


def entry_of(outline: Any, said: Mapping[str, str], address: str) -> Told:
    around = [name_of({local(name): one_line(value) for name, value in folder.attrib.items()})
              for folder in outline.iterancestors() if local(folder.tag) == "outline"]
    categories = re.split("[,/]", said.get("category", ""))
    own = {name.rpartition("}")[2]: value for name, value in outline.attrib.items()
           if name.startswith(f"{{{OURS}}}")}
    kind = {} if "xmlurl" in said else {"kind": "page"}
    tags = dict.fromkeys(filter(None, map(str.strip, [*reversed(around), *categories])))
    return {"url": address, "name": name_of(said), "tags": list(tags), "own": kind | own}


def write(entries: Iterable[Told]) -> str:
    """The OPML of ``entries``, which ``parse`` gives back: tags are folders inside each other."""
    root = etree.Element("opml", {"version": "2.0"}, nsmap={"almanac": OURS})
    etree.SubElement(etree.SubElement(root, "head"), "title").text = "Sources of Almanac"
    body = etree.SubElement(root, "body")
    folders: dict[tuple[str, ...], Any] = {(): body}
    for entry in entries:
        for depth in range(1, len(entry["tags"]) + 1):
            path = tuple(entry["tags"][:depth])
            if path not in folders:
                folders[path] = etree.SubElement(folders[path[:-1]], "outline", {"text": path[-1]})
        outline = etree.SubElement(folders[tuple(entry["tags"])], "outline", dict(attributes(entry)))
        for name, value in entry["own"].items():
            outline.set(f"{{{OURS}}}{name}", value)
    text: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return text.decode()


def attributes(entry: Told) -> Iterator[tuple[str, str]]:
    """As feed readers expect them: those that know only feeds leave a link out."""
    is_feed = "kind" not in entry["own"]
    yield "type", "rss" if is_feed else "link"
    yield "text", entry["name"]
    yield "title", entry["name"]
    yield ("xmlUrl" if is_feed else "url"), entry["url"]
