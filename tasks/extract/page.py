"""The jailed parser of pages: bytes of HTML or plain text to blocks and what the page says of itself."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from lxml.html import HtmlElement
from trafilatura import bare_extraction

from models.blocks import Block, BlockKind, text_of
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.about import about
from tasks.extract.blocks import blocks_of
from tasks.extract.charset import decode
from tasks.extract.hidden import within
from tasks.extract.language import identifier, language_of
from tasks.extract.markup import Page, read
from tasks.extract.text import MOST_CHARACTERS, is_text, one_line, paragraphs
from tasks.extract.verdict import check

extract = partial(
    bare_extraction, include_comments=False, include_tables=True, include_formatting=False,
    output_format="xml",  # which only spares the rendering of a text that nobody reads
)
FEED = re.compile(r"\s*(?:<[?!][^>]*>\s*)*<(?:rss|feed|rdf:rdf)\b", re.IGNORECASE)
MUCH_LOST = 0.15  # of the visible text: below that, precision is asked whether it kept too little
CLEARLY_MORE = 2.0
LONGEST_FIRST_LINE = 120


def prepare() -> None:
    """Load what a page cannot be read without, before the jail closes."""
    identifier()


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> dict[str, Any]:
    """``Extracted`` as JSON for the page at ``url`` (final, after redirects); HTTP declared the other two.

    Raises NeedsBrowser for a page that scripts would make, and Permanent where there is nothing to read: an
    empty page, an error page, a sign-in form, a consent wall, a page beyond the limits.
    """
    text = decode(body, charset)
    if not is_text(text):
        raise Permanent("the bytes are neither HTML nor any other text")
    if FEED.match(text):
        raise Permanent("the address holds a feed, not a page: add it as a source")
    extracted = plain(text) if media_type == "text/plain" else html(text, url)
    return extracted.to_json()


def plain(text: str) -> Extracted:
    """Plain text: paragraphs are parted by blank lines, and a short first line is the title."""
    if len(text) > MOST_CHARACTERS:
        raise Permanent(f"the page has more than {MOST_CHARACTERS:,} characters")
    blocks = tuple(Block(BlockKind.PARAGRAPH, paragraph) for paragraph in paragraphs(text))
    if not blocks:
        raise Permanent("there is nothing to read on the page")
    first = blocks[0].text.partition("\n")[0]
    title = first if len(first) <= LONGEST_FIRST_LINE else ""
    return Extracted(blocks, title, "plain", language=language_of(text))


def html(text: str, url: str) -> Extracted:
    page = read(text)
    says = about(page.tree, url)
    extractor, blocks = article(page, url)
    check(page, [block.text for block in blocks])
    return Extracted(
        blocks, says.title or _first_heading(blocks), extractor, author=says.author,
        published_at=says.published_at, modified_at=says.modified_at,
        language=language_of(text_of(blocks)) or says.language, site_name=says.site_name,
        canonical_url=says.canonical_url, feeds=says.feeds, hidden=within(page.hidden, blocks),
    )


def article(page: Page, url: str) -> tuple[str, tuple[Block, ...]]:
    """The main text, and which mode of trafilatura found it.

    Precision is right most often (F1 on 181 articles .973, balanced .965); where it keeps almost nothing of
    the page, the balanced mode is asked too, and taken when it finds clearly more.
    """
    precise = _blocks(page.tree, partial(extract, favor_precision=True), url)
    kept = len(text_of(precise))
    if kept <= MUCH_LOST * len(page.visible()):
        balanced = _blocks(page.tree, extract, url)
        if len(text_of(balanced)) > CLEARLY_MORE * kept:
            return "trafilatura balanced", balanced
    return "trafilatura precision", precise


def _blocks(tree: HtmlElement, extract: Callable[..., Any], url: str) -> tuple[Block, ...]:
    document = extract(tree, url=url)
    return tuple(blocks_of(document.body)) if document else ()


def _first_heading(blocks: tuple[Block, ...]) -> str:
    return next((one_line(block.text) for block in blocks if block.kind is BlockKind.HEADING), "")
