"""The jailed parser of a piece of HTML that is nothing but text, such as an item's in its feed."""

from typing import Any

from lxml import etree

from models.blocks import text_of
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.blocks import blocks_of
from tasks.extract.language import language_of

RENDERED = {
    "ul": ("list", "ul"), "ol": ("list", "ol"), "pre": ("code", "pre"),
    **{f"h{level}": ("head", f"h{level}") for level in range(1, 7)},
}
ALIKE = {"li": "item", "blockquote": "quote", "tr": "row", "td": "cell", "th": "cell", "br": "lb"}
AS_THEY_ARE = {"code", "html", "table", "thead", "tbody", "tfoot"}


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> dict[str, Any]:
    """``Extracted`` as JSON, like ``page.parse``, but all of it is text: nothing is taken for a menu.

    ``body`` is UTF-8. Raises Permanent where it says nothing.
    """
    reader = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    tree = etree.fromstring(body, reader) if body.strip() else None
    blocks = tuple(blocks_of(named(tree))) if tree is not None else ()
    if not blocks:
        raise Permanent("there is nothing to read in the feed's text")
    return Extracted(blocks, "", "feed", language=language_of(text_of(blocks))).to_json()


def named(tree: Any) -> Any:
    """The tree with the names that the extractor gives; what is unknown stands for itself as a paragraph."""
    for element in tree.iter():
        if element.tag == "th":
            element.set("role", "head")
        if element.tag in RENDERED:
            element.tag, rend = RENDERED[element.tag]
            element.set("rend", rend)
        elif element.tag not in AS_THEY_ARE:
            element.tag = ALIKE.get(element.tag, "p")
    return tree
