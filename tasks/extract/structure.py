"""A page's markup, put in order before the text is looked for."""

import re
from collections import Counter

from lxml import etree
from lxml.html import HtmlElement
from trafilatura.xpaths import BODY_XPATH

from tasks.extract.prose import SENTENCE, join_bodies, make_paragraphs, name_lead, words

ROWS_AND_LISTS = frozenset({"table", "thead", "tbody", "tr", "ul", "ol", "dl"})
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
MOST = 0.8
WORD = re.compile(r"\w")
SOURCE_LINE = re.compile(r"[ \t]*\n[ \t\n]*")
TABLE_PARTS = ("caption", "colgroup", "thead", "tbody", "tfoot", "tr", "td", "th")


def put_in_order(tree: HtmlElement) -> None:
    """Change the tree so that the extractor loses neither text nor structure."""
    for pre in list(tree.iter("pre")):  # only <pre><code> keeps its indentation
        for line_break in pre.iter("br"):
            line_break.tail = f"\n{line_break.tail or ''}"
        text = pre.text_content()
        pre.clear(keep_tail=True)
        etree.SubElement(pre, "code").text = text
    _join_lines(tree)
    for sign in [link for heading in tree.iter(*HEADINGS) for link in heading.iter("a")]:
        if not WORD.search(sign.text_content()):  # of a link to the heading itself
            sign.drop_tree()
    for caption in tree.xpath("//table/caption"):  # else it is taken for a header row
        caption.tag = "p"
        caption.getparent().addprevious(caption)
    for table in list(tree.iter("table")):
        parts = list(table.iterdescendants(TABLE_PARTS))
        parts = [part for part in parts if next(part.iterancestors("table")) is table]
        if _is_layout(table, [part.tag for part in parts]):
            for part in [table, *parts]:
                part.tag = "div"
    make_paragraphs(tree)
    body = _body(tree)
    name_lead(tree, body)


def _join_lines(tree: HtmlElement) -> None:
    """Where the source breaks a line nobody sees one, and the extractor would."""
    for element in tree.iter():
        if element.text and element.getparent() is not None and element.getparent().tag != "pre":
            element.text = SOURCE_LINE.sub(" ", element.text)
        if element.tail:
            element.tail = SOURCE_LINE.sub(" ", element.tail)


def _body(tree: HtmlElement) -> HtmlElement | None:
    """The element in which the extractor will look for the text; one is marked where none names itself."""
    found: list[HtmlElement] = next(filter(None, (find(tree) for find in BODY_XPATH)), [])
    if found:
        join_bodies(found[0])
        return found[0]
    if next(tree.iter("article", "main"), None) is not None:
        return None
    innermost = _innermost(tree)
    if innermost is not None:
        join_bodies(innermost)
        article = etree.Element("article")
        article.text, innermost.text = innermost.text, None
        article.extend(list(innermost))
        innermost.append(article)
        return article
    return None


def _innermost(tree: HtmlElement) -> HtmlElement | None:
    """The innermost element with most of the text: without a frame, headings and lists would be lost."""
    counted: Counter[HtmlElement] = Counter()
    for paragraph in tree.iterfind("body//p"):
        count = words(paragraph)
        if count >= SENTENCE:
            counted.update(dict.fromkeys(paragraph.iterancestors(), count))
    enough = MOST * counted[tree]
    holders = [box for box in counted if counted[box] >= enough and box.tag not in ROWS_AND_LISTS]
    return max(holders, key=lambda element: len(list(element.iterancestors())), default=None)


def _is_layout(table: HtmlElement, tags: list[str]) -> bool:
    """A table that only places things: it has no header, and one cell or headings or tables in its cells."""
    if "th" in tags:
        return False
    return tags.count("td") == 1 or next(table.iterdescendants("table", *HEADINGS), None) is not None
