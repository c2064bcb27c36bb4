"""Pages that list others: front pages, sections, archives. What they say is a row of teasers."""

import re
from collections.abc import Iterable

from lxml.html import HtmlElement

from tasks.extract.prose import words

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
BOXES = frozenset({"article", "div", "section", "td"})
TEASERS = BOXES | {"a", "li", "p", "tr"} | set(HEADINGS)
WORD = re.compile(r"\w+")
AROUND = ("nav", "header", "footer", "aside")  # menus, which are on articles too
FEWEST = 3  # alike, side by side
LONGEST = 60  # words of a teaser
HEADLINE = 2  # words
MOSTLY_LINK = 0.8  # of its words
MOSTLY_TEASERS = 0.6  # of the page's text


def is_listing(tree: HtmlElement, paragraphs: list[str]) -> bool:
    """Whether most of the text that was extracted stands in teasers of other pages.

    On 181 articles the highest share was under a fifth.
    """
    teased, around = said_in(teasers(tree)), said_in(tree.iter(*AROUND))
    lines = [plain(line) for paragraph in paragraphs for line in paragraph.split("\n")]
    own = [line for line in lines if line not in around]
    share = sum(len(line) for line in own if line in teased)
    return bool(teased) and share >= MOSTLY_TEASERS * sum(map(len, own))


def said_in(elements: Iterable[HtmlElement]) -> str:
    return "\n".join(plain(element.text_content()) for element in elements)


def plain(text: str) -> str:
    """The words, without what stands between them."""
    return " ".join(WORD.findall(text))


def teasers(tree: HtmlElement) -> list[HtmlElement]:
    """Elements alike and side by side that each lead to another page."""
    found: list[HtmlElement] = []
    for parent in tree.iter():
        if parent.tag in AROUND or next(parent.iterancestors(*AROUND), None) is not None:
            continue
        for tag in {child.tag for child in parent} & TEASERS:
            alike = [child for child in parent.iterchildren(tag) if _is_teaser(child)]
            if len(alike) >= FEWEST:
                found += alike
    return found


def _is_teaser(element: HtmlElement) -> bool:
    """A little text of which most is a link, or that is headed by one, or has a headline and ends in one."""
    text = " ".join(element.text_content().split())
    count = len(text.split())
    if not HEADLINE <= count <= LONGEST:
        return False
    links = [link for link in element.iter("a") if link.get("href", "").strip("# ")]
    linked = [" ".join(link.text_content().split()) for link in links]
    if sum(len(link.split()) for link in linked) >= MOSTLY_LINK * count:
        return True
    headlines = [each for each in element.iter(*HEADINGS) if words(each) >= HEADLINE]
    if any(next(each.iter("a"), None) is not None for each in headlines):
        return True
    if headlines and any(link and text.endswith(link) for link in linked):
        return True
    begins = any(link and text.startswith(link) and len(link.split()) > HEADLINE for link in linked)
    return begins and element.tag in BOXES
