"""Plain text from what a feed says: titles with stray markup and entities, summaries in HTML."""

import re
from html import escape, unescape
from typing import Any

from lxml import etree

from models.styles import hides

Tree = Any  # lxml's element
PARAGRAPH_END = re.compile(r"\n\s*\n")
UNSTORABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
PAIRED = (
    "a|abbr|acronym|b|bdi|bdo|big|blink|center|cite|code|del|dfn|div|em|font|i|ins|kbd|mark|marquee|nobr|p|q|s"
    "|samp|small|span|strike|strong|sub|sup|tt|u|var"
)
ALONE = "br|hr|img|link|wbr"
ATTRIBUTES = r"""(?:\s+[\w:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>]+))*"""
INLINE = re.compile(rf"<(/?)({PAIRED}|{ALONE}){ATTRIBUTES}\s*/?>", re.IGNORECASE)
ENTITY = re.compile(r"&#?\w+;")  # with its semicolon: "?a=1&copy=2" holds none
SCRIPT = re.compile(r"<(script|style)\b[^<>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
LONGEST_TITLE_MARKUP = 5_000
BLOCKS = (
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure",
    "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "ol", "p", "pre", "section", "table",
    "td", "th", "tr", "ul",
)
STRUCTURE = {"body", "code", "pre", *BLOCKS}  # the tags of a full text
LEAST_FULL, MOST_FULL = 400, 200_000  # characters: less is a teaser
HIDDEN = "hidden"
UNSEEN = ("script", "style", "template", "noscript", "iframe", "object")


def one_line(text: str) -> str:
    """``text`` with single blanks and without what PostgreSQL or a terminal cannot hold."""
    return " ".join(UNSTORABLE.sub("", text).split())


def title_text(markup: str) -> str:
    """A title as people read it: known inline tags go, unknown ``<words>`` stay, entities are resolved once.

    A tag goes only when it is closed somewhere in the title: "when to use <b>" is about the tag.
    """
    markup = SCRIPT.sub("", markup[:LONGEST_TITLE_MARKUP])
    closed = {name.lower() for slash, name in INLINE.findall(markup) if slash}

    def without(tag: re.Match[str]) -> str:
        name = tag[2].lower()
        if name in ALONE.split("|"):
            return " "
        return "" if name in closed else tag[0]

    return one_line(ENTITY.sub(lambda entity: unescape(entity[0]), INLINE.sub(without, markup)))


def html_text(markup: str) -> str:
    """What a reader would see of a piece of HTML, on one line."""
    if "<" not in markup:
        return one_line(unescape(markup))
    tree = read(markup)
    for block in tree.iter(*BLOCKS):
        block.text = f" {block.text or ''}"
        block.tail = f" {block.tail or ''}"
    return one_line("".join(tree.itertext()))


def read(markup: str) -> Tree:
    """What a reader would see of a piece of HTML, as a tree."""
    whole = f"<div>{UNSTORABLE.sub('', markup)}</div>".encode()
    reader = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    tree = etree.fromstring(whole, reader)
    for element in tree.iter():
        if element.get("hidden") is not None or hides(element.get("style") or ""):
            element.tag = HIDDEN  # no reader of feeds unfolds anything
    etree.strip_elements(tree, HIDDEN, *UNSEEN, with_tail=False)
    return tree


def html_of(text: str) -> str:
    """Plain text as HTML; blank lines part its paragraphs."""
    parts = filter(str.strip, PARAGRAPH_END.split(text))
    return "".join(f"<p>{escape(part, quote=False)}</p>" for part in parts)


def full_text(*markups: str) -> str | None:
    """The longest of the pieces of HTML, reduced to its structure; None where it is but a teaser.

    No attribute, image, script or comment is left: these are words, and the tags of paragraphs and the like.
    """
    longest = max(markups, key=len, default="")
    if len(longest) < LEAST_FULL:
        return None
    tree = read(longest)
    for element in tree.iter():
        element.attrib.clear()
    etree.strip_tags(tree, *({element.tag for element in tree.iter()} - STRUCTURE))
    if not LEAST_FULL <= len(one_line("".join(tree.itertext()))) <= MOST_FULL:
        return None
    return "".join(etree.tostring(body, encoding="unicode", method="html") for body in tree.iter("body"))
