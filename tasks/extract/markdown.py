"""Markdown (CommonMark and tables) to typed blocks: for our own documentation and for pages served as it."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from models.blocks import Block, BlockKind
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.charset import decode
from tasks.extract.language import language_of
from tasks.extract.text import MOST_CHARACTERS, code, lines, one_line, without_controls

FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE
)
READER = MarkdownIt("commonmark").enable("table")


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> dict[str, Any]:
    """``Extracted`` as JSON, like ``page.parse``; the title is the first heading of level 1.

    Raises Permanent for a file that is empty or has more than 3,000,000 characters.
    """
    text = decode(body, charset)
    if len(text) > MOST_CHARACTERS:
        raise Permanent(f"the file has more than {MOST_CHARACTERS:,} characters")
    blocks = blocks_of(text)
    if not blocks:
        raise Permanent("there is nothing to read in the file")
    title = next((block.text for block in blocks if block.kind is BlockKind.HEADING and block.level == 1), "")
    return Extracted(blocks, title, "markdown", language=language_of(text)).to_json()


def blocks_of(markdown: str) -> tuple[Block, ...]:
    """The blocks of a Markdown text, in order; inline markup, HTML tags and front matter are left out."""
    text = without_controls(markdown).replace("\r\n", "\n")
    return tuple(_Reading(READER.parse(FRONT_MATTER.sub("", text))).blocks())


class _Reading:
    """One walk over the tokens, with what encloses the present one."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._lists: list[bool] = []  # the lists around, outermost first; True for an ordered one
        self._quotes = 0
        self._level = 0  # of the heading that is open
        self._new_item = False  # nothing of the present item was said yet
        self._rows: list[list[str]] | None = None  # of the table that is open
        self._header_rows = 0

    def blocks(self) -> Iterator[Block]:
        for token in self._tokens:
            self._enter(token)
            block = self._block(token)
            if block and block.text:
                self._new_item = False
                yield block

    def _enter(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._lists.append(token.type == "ordered_list_open")
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open" | "list_item_close":
                self._new_item = token.nesting > 0
            case "blockquote_open" | "blockquote_close":
                self._quotes += token.nesting
            case "heading_open" | "heading_close":
                self._level = int(token.tag[1]) if token.nesting > 0 else 0
            case "table_open":
                self._rows, self._header_rows = [], 0
            case "tr_open" if self._rows is not None:
                self._rows.append([])
            case "thead_close":
                self._header_rows = len(self._rows or [])

    def _block(self, token: Token) -> Block | None:
        match token.type:
            case "inline" if self._rows is not None:
                self._rows[-1].append(one_line(_plain(token)))
            case "inline":
                return self._said(lines(_plain(token)))
            case "html_block":
                return self._said(lines(unescape(TAG.sub("", token.content))))
            case "fence" | "code_block":
                return Block(BlockKind.CODE, code(token.content))
            case "table_close":
                rows, self._rows = self._rows or [], None
                text = "\n".join(" | ".join(row).rstrip() for row in rows)
                return Block(BlockKind.TABLE, text, header_rows=self._header_rows)
        return None

    def _said(self, text: str) -> Block:
        if self._quotes:
            return Block(BlockKind.QUOTE, text)
        if self._level:
            return Block(BlockKind.HEADING, one_line(text), level=self._level)
        if self._new_item:
            return Block(BlockKind.LIST_ITEM, text, level=len(self._lists), ordered=self._lists[-1])
        return Block(BlockKind.PARAGRAPH, text)


def _plain(token: Token) -> str:
    """The text of an inline token: links by their words, images by their description."""
    text = []
    for child in token.children or []:
        match child.type:
            case "text" | "text_special" | "code_inline":
                text.append(child.content)
            case "softbreak":
                text.append(" ")
            case "hardbreak":
                text.append("\n")
            case "image":
                text.append(_plain(child))
    return "".join(text)
