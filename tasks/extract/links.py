"""The jailed parser of a page that lists others: which pages its teasers lead to, by which headline."""

from collections.abc import Iterator
from typing import Any

from lxml.html import HtmlElement

from models.addresses import resolve_link
from tasks.errors import Permanent
from tasks.extract.about import LONGEST_TITLE, about, base_of
from tasks.extract.charset import decode
from tasks.extract.listing import HEADINGS, HEADLINE, teasers
from tasks.extract.markup import read
from tasks.extract.prose import words
from tasks.extract.text import one_line
from tasks.extract.verdict import check_answer


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> dict[str, Any]:
    """``{"title": str, "items": [{"url": str, "title": str}]}`` of the page at ``url``, in its order.

    Addresses are absolute and http(s). Raises NeedsBrowser where scripts would make the list, and Permanent
    for a page that lists no others, an error page, a sign-in form.
    """
    page = read(decode(body, charset))
    says = about(page.tree, url)
    check_answer(page, [])
    base = base_of(page.tree, url)
    items = [lead for teaser in outermost(page.tree) if (lead := lead_of(teaser, base))]
    if not items:
        raise Permanent("the page lists no others: no headlines on it lead to pages")
    return {"title": says.title, "items": items}


def outermost(tree: HtmlElement) -> Iterator[HtmlElement]:
    """The teasers that are in no other, in the order of the page; short links side by side are labels."""
    found = set(teasers(tree))
    for element in tree.iter():
        is_label = element.tag == "a" and words(element) <= HEADLINE
        if element in found and not is_label and found.isdisjoint(element.iterancestors()):
            yield element


def lead_of(teaser: HtmlElement, base: str) -> dict[str, str] | None:
    """Where a teaser leads: of the links in it the one of its headline, else the one that says most."""
    headlines = list(teaser.iter(*HEADINGS))
    links = [link for headline in headlines for link in (*headline.iter("a"), *headline.iterancestors("a"))]
    links += sorted(teaser.iter("a"), key=words, reverse=True)
    for link in links:
        if address := resolve_link(base, link.get("href", "")):
            title = one_line((headlines[0] if headlines else link).text_content())
            return {"url": address, "title": title[:LONGEST_TITLE]}
    return None
