"""The extractor's tree (head, p, list, item, quote, code, table, row, cell, lb) to typed blocks."""

from collections.abc import Iterator

from lxml.etree import _Element as Element

from models.blocks import Block, BlockKind
from tasks.extract.text import code, lines, one_line

CELL = " | "
UNNAMED_LEVEL = 3  # of a heading that was no h1 to h6, such as a summary


def blocks_of(element: Element, depth: int = 0) -> Iterator[Block]:
    """The blocks of an element that is ``depth`` lists deep, in the order of its text."""
    for piece in _pieces(element):
        if isinstance(piece, str):
            if text := lines(piece):
                yield Block(BlockKind.PARAGRAPH, text)
        elif piece.tag == "head":
            yield from _heading(piece)
        elif piece.tag == "list":
            yield from _items(piece, depth + 1)
        elif piece.tag == "quote":
            yield from map(_quoted, blocks_of(piece, depth))
        elif piece.tag == "code":
            if text := code(_inline(piece)):
                yield Block(BlockKind.CODE, text)
        elif piece.tag == "table":
            yield from _table(piece)
        else:
            yield from blocks_of(piece, depth)


def _pieces(element: Element) -> Iterator[str | Element]:
    """Runs of text, and between them the blocks of an element."""
    run = [element.text or ""]
    for child in element:
        if _is_block(child):
            yield "".join(run)
            yield child
            run = []
        else:
            run.append(_inline(child))
        run.append(child.tail or "")
    yield "".join(run)


def _is_block(element: Element) -> bool:
    if element.tag == "code":  # otherwise it is a word in a sentence
        parent = element.getparent()
        alone = element.get("rend") == "pre" or (parent is not None and parent.tag == "body")
        return alone or "\n" in _inline(element).strip()
    if element.tag in {"head", "p", "list", "quote", "table"}:
        return True
    return any(_is_block(child) for child in element)


def _inline(element: Element) -> str:
    """The text of an element on its own lines where it has any."""
    if element.tag == "lb":
        return "\n"
    text = (element.text or "") + "".join(_inline(child) + (child.tail or "") for child in element)
    return f"\n{text}\n" if element.tag in {"p", "item", "row", "list", "head"} else text


def _heading(element: Element) -> Iterator[Block]:
    rend = element.get("rend") or ""
    if text := one_line(_inline(element)):
        yield Block(BlockKind.HEADING, text, level=int(rend[1]) if rend[1:].isdecimal() else UNNAMED_LEVEL)


def _quoted(block: Block) -> Block:
    said = block.kind in {BlockKind.PARAGRAPH, BlockKind.HEADING}
    return Block(BlockKind.QUOTE, block.text) if said else block


def _items(element: Element, level: int) -> Iterator[Block]:
    """The first text of an item is the item; what follows inside it are blocks of their own."""
    ordered = element.get("rend") == "ol"
    for item in element.iterchildren("item"):
        named = False
        for block in blocks_of(item, level):
            if block.kind is BlockKind.PARAGRAPH and not named:
                block = Block(BlockKind.LIST_ITEM, block.text, level=level, ordered=ordered)
            named = True
            yield block


def _table(element: Element) -> Iterator[Block]:
    rows: list[str] = []
    header_rows = 0
    for row in element.iter("row"):
        cells = [(one_line(_inline(cell)), cell.get("role") == "head") for cell in row.iterchildren("cell")]
        if not any(text for text, _ in cells):
            continue
        if header_rows == len(rows) and all(head for text, head in cells if text):
            header_rows += 1
        rows.append(CELL.join(text for text, _ in cells).rstrip())
    if rows:
        yield Block(BlockKind.TABLE, "\n".join(rows), header_rows=header_rows)
