"""A page's markup: read within limits, without what nobody sees."""

import re
import sys
from dataclasses import dataclass

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from models.extracted import Hidden
from tasks.errors import Permanent
from tasks.extract.hidden import take_out
from tasks.extract.structure import put_in_order
from tasks.extract.text import one_line, without_controls

LARGEST = 3_000_000  # bytes of markup; scripts and styles do not count
MOST_ELEMENTS = 100_000
SCRIPT = re.compile(rb"<(script|style)\b.*?(?:</\1|\Z)", re.IGNORECASE | re.DOTALL)
REFERENCE = re.compile(r"&#(?:x([0-9a-f]+)|([0-9]+));?", re.IGNORECASE)

UNSEEN = ("style", "template", "svg", "noscript", "iframe", "object")
METADATA = ("application/ld+json", "application/settings+json")  # scripts that say things about the page


@dataclass(frozen=True, slots=True)
class Page:
    """The tree of a page, without what nobody sees, and what was seen of that."""

    tree: HtmlElement
    scripted: bool
    noscript: str  # what it says to browsers without scripts
    hidden: list[Hidden]  # what its styles hide of the tree

    def visible(self) -> str:
        """All text on the page: menus, footers and banners too."""
        body = self.tree.find("body")
        if body is None:
            return ""
        text: str = etree.tostring(body, method="text", encoding="unicode", with_tail=False)
        for script in filter(None, (script.text for script in body.iter("script"))):
            text = text.replace(script, " ")
        return one_line(text)


def read(text: str) -> Page:
    """The page in ``text``. Raises Permanent when it is empty or beyond a limit."""
    body = REFERENCE.sub(_character, without_controls(text)).encode()
    if len(body) > LARGEST and len(SCRIPT.sub(b"", body)) > LARGEST:
        raise Permanent(f"the page has more than {LARGEST // 1_000_000} MB of markup")
    tree = _tree(body)
    if tree.xpath("count(//*)") > MOST_ELEMENTS:
        raise Permanent(f"the page has more than {MOST_ELEMENTS:,} elements")
    noscript = one_line(" ".join(element.text_content() for element in tree.iter("noscript")))
    hidden = take_out(tree)
    scripted = _drop_unseen(tree)
    put_in_order(tree)
    return Page(tree, scripted, noscript, hidden)


def _character(reference: re.Match[str]) -> str:
    """A numeric reference as it stands, but for what HTML reads as windows-1252 and what lxml refuses."""
    digits = (reference[1] or reference[2]).lstrip("0")
    number = int(digits[:8] or "0", 16 if reference[1] else 10)
    if 0x80 <= number < 0xA0:
        return bytes([number]).decode("cp1252", "ignore")
    return reference[0] if number <= sys.maxunicode and without_controls(chr(number)) == chr(number) else ""


def _tree(body: bytes) -> HtmlElement:
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        tree = document_fromstring(body, parser=parser)
    except etree.ParserError as error:
        raise Permanent("there is nothing to read on the page") from error
    if parser.error_log.filter_types([etree.ErrorTypes.ERR_RESOURCE_LIMIT]):
        raise Permanent("the page nests its elements too deep to be read")
    return tree


def _drop_unseen(tree: HtmlElement) -> bool:
    """Take out what a reader never sees, but for metadata; True where there were scripts that run."""
    etree.strip_elements(tree, *UNSEEN, with_tail=False)
    scripts = [script for script in tree.iter("script") if script.get("type") not in METADATA]
    for script in scripts:
        script.drop_tree()
    return bool(scripts)
