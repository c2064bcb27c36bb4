"""EPUB to blocks: its chapters in their order, each read like any HTML; nothing is written to a disk."""

from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from docling.datamodel.base_models import InputFormat
from lxml import etree

from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract import office

CONTAINER = "META-INF/container.xml"
WRITTEN = {"application/xhtml+xml", "text/html"}
BROKEN = "the book is broken: its list of chapters cannot be read"


def convert(path: Path, media_type: str) -> Extracted:
    """Raises Permanent for a book that is broken or has no text."""
    try:
        with ZipFile(path) as book:
            blocks = [block for name in chapters(book)
                      for block in office.read(book.read(name), InputFormat.HTML)]
    except (BadZipFile, KeyError, RuntimeError, etree.XMLSyntaxError) as error:
        raise Permanent(BROKEN) from error
    return office.extracted(blocks)


def chapters(book: ZipFile) -> Iterator[str]:
    """The names of its chapters, as its package's spine orders them."""
    package_name = first(parsed(book, CONTAINER), "rootfile").get("full-path") or ""
    package = parsed(book, package_name)
    items = {item.get("id"): item for item in package.iter("{*}item")}
    for reference in package.iter("{*}itemref"):
        item = items[reference.get("idref")]
        if item.get("media-type") in WRITTEN:
            yield normpath(join(dirname(package_name), unquote(item.get("href") or "")))


def parsed(book: ZipFile, name: str) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(book.read(name), parser)


def first(tree: etree._Element, name: str) -> etree._Element:
    found = next(tree.iter(f"{{*}}{name}"), None)
    if found is None:
        raise Permanent(BROKEN)
    return found
