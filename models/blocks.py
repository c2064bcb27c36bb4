"""Typed blocks: what a version says, and the one text that positions, hashes and citations refer to."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

SEPARATOR = "\n\n"


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    QUOTE = "quote"
    CODE = "code"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a page.

    ``level`` is 1 to 6 for a heading and the nesting depth, from 1, for a list item; ``ordered`` is for
    list items. A table's text has one line a row with cells parted by `` | ``, and its first
    ``header_rows`` lines are its header.
    """

    kind: BlockKind
    text: str
    level: int = 0
    ordered: bool = False
    header_rows: int = 0

    def to_json(self) -> dict[str, Any]:
        """The block as stored: fields that say nothing are left out."""
        fields = {"level": self.level, "ordered": self.ordered, "header_rows": self.header_rows}
        return {"kind": self.kind.value, "text": self.text} | {k: v for k, v in fields.items() if v}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Block":
        return cls(**stored | {"kind": BlockKind(stored["kind"])})


@dataclass(frozen=True, slots=True)
class Placed:
    """A block with its place in the version's text (``text[start:end]``) and the headings above it."""

    block: Block
    start: int
    end: int
    headings: tuple[str, ...]


def text_of(blocks: Iterable[Block]) -> str:
    """The version's text: what is stored, hashed, cut into chunks and cited."""
    return SEPARATOR.join(block.text for block in blocks)


def place(blocks: Iterable[Block]) -> Iterator[Placed]:
    """Each block with its offsets in ``text_of(blocks)`` and its heading path, outermost first.

    A heading's own path ends with itself.
    """
    start = 0
    path: list[str] = []
    levels: list[int] = []
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            while levels and levels[-1] >= block.level:
                levels.pop()
                path.pop()
            levels.append(block.level)
            path.append(block.text)
        yield Placed(block, start, start + len(block.text), tuple(path))
        start += len(block.text) + len(SEPARATOR)


def digest(text: str) -> str:
    """SHA-256 of the UTF-8 bytes, in hex: the ``content_hash`` of versions and citations."""
    return hashlib.sha256(text.encode()).hexdigest()
