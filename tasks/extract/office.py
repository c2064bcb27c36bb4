"""Office files, tables and HTML to blocks, by docling: its typed items become ours."""

import logging
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

from docling.datamodel.base_models import DocumentStream, InputFormat
from docling.document_converter import DocumentConverter
from docling.exceptions import ConversionError
from docling_core.types.doc import (
    CodeItem,
    DocItem,
    DocItemLabel,
    DoclingDocument,
    ListGroup,
    ListItem,
    SectionHeaderItem,
    TableItem,
    TextItem,
    TitleItem,
)

from models.blocks import Block, BlockKind, text_of
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.language import language_of
from tasks.extract.text import code, lines, one_line
from tasks.extract.types import DOCX, ODT, OLE, PPTX, XLSX, type_of

FORMATS = {
    DOCX: InputFormat.DOCX, PPTX: InputFormat.PPTX, XLSX: InputFormat.XLSX, ODT: InputFormat.ODT,
    "text/csv": InputFormat.CSV, "text/html": InputFormat.HTML,
    "application/xhtml+xml": InputFormat.HTML,
}
ENDINGS = {InputFormat.HTML: "html", InputFormat.CSV: "csv"}
LEFT_OUT = {DocItemLabel.PAGE_HEADER, DocItemLabel.PAGE_FOOTER}
DEEPEST = 6

logging.disable()  # nobody reads what is said in the jail


def convert(path: Path, media_type: str) -> Extracted:
    """Raises Permanent for a file that is locked, broken or empty of text."""
    if type_of(path) == OLE:
        raise Permanent("the file is locked with a password")
    return extracted(read(path.read_bytes(), FORMATS[media_type]))


def read(body: bytes, kind: InputFormat) -> list[Block]:
    stream = DocumentStream(name=f"file.{ENDINGS.get(kind, kind.value)}", stream=BytesIO(body))
    try:
        document = DocumentConverter(allowed_formats=[kind]).convert(stream).document
    except ConversionError as error:
        raise Permanent("the file is broken: no reader could open it") from error
    return [block for block in blocks_of(document) if block.text]


def extracted(found: Iterable[Block]) -> Extracted:
    """Raises Permanent where nothing was found."""
    blocks = tuple(found)
    if not blocks:
        raise Permanent("there is no text in the file")
    headings = [block for block in blocks if block.kind is BlockKind.HEADING]
    title = min(headings, key=lambda it: it.level).text if headings else ""
    return Extracted(blocks, title, "docling", language=language_of(text_of(blocks)))


def blocks_of(document: DoclingDocument) -> Iterator[Block]:
    for item, _ in document.iterate_items():
        if isinstance(item, DocItem) and item.label not in LEFT_OUT and (block := block_of(item, document)):
            yield block


def block_of(item: DocItem, document: DoclingDocument) -> Block | None:
    match item:
        case TitleItem():
            return Block(BlockKind.HEADING, one_line(item.text), level=1)
        case SectionHeaderItem():
            return Block(BlockKind.HEADING, one_line(item.text), level=min(item.level + 1, DEEPEST))
        case ListItem():
            return Block(BlockKind.LIST_ITEM, lines(item.text), level=nesting(item, document),
                         ordered=item.enumerated)
        case CodeItem():
            return Block(BlockKind.CODE, code(item.text))
        case TableItem():
            return table_of(item)
        case TextItem():
            return Block(BlockKind.PARAGRAPH, lines(item.text))
    return None


def nesting(item: ListItem, document: DoclingDocument) -> int:
    """How many lists are around it."""
    lists, parent = 0, item.parent
    while parent:
        around = parent.resolve(document)
        lists += isinstance(around, ListGroup)
        parent = around.parent
    return max(1, lists)


def table_of(item: TableItem) -> Block:
    """One line a row; a cell that spans several is said once."""
    rows, header = [], 0
    for number, row in enumerate(item.data.grid):
        cells = [one_line(cell.text) if cell.start_col_offset_idx == column and
                 cell.start_row_offset_idx == number else "" for column, cell in enumerate(row)]
        rows.append(" | ".join(cells).rstrip(" |"))
        if header == number and row and all(cell.column_header for cell in row):
            header += 1
    return Block(BlockKind.TABLE, "\n".join(rows), header_rows=header)
