"""PDF to blocks: lines as PDFium finds them, headings by their size, paragraphs by the gaps between lines."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pypdfium2 as pdfium

from models.blocks import Block, BlockKind, text_of
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.language import language_of
from tasks.extract.text import one_line

MOST_PAGES = 5_000
MOST_CHARACTERS = 5_000_000
LARGER = 1.12  # than the body's letters: a heading
LONGEST_HEADING = 200
WIDE = 1.35  # times the usual distance of two lines: a new paragraph
REPEATED = 0.6  # of the pages have a line at their edge: a running title
FEW_PAGES = 3
EDGE = 2  # lines at the top and bottom of a page, where running titles are
LEAST = 20  # letters in the whole file: fewer are no text layer
GARBLED = 0.2  # of the letters say nothing
STRANGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
NUMBER = re.compile(r"\d+")
PASSWORD = 4  # FPDF_ERR_PASSWORD


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    size: float  # height of its letters, in points
    bottom: float


def convert(path: Path, media_type: str) -> Extracted:
    """Raises Permanent: locked, broken, too large, without a text layer, or one that is garbled."""
    document = open_pdf(path)
    try:
        if len(document) > MOST_PAGES:
            raise Permanent(f"the PDF has more than {MOST_PAGES:,} pages")
        pages = list(read_pages(document))
        title = one_line(document.get_metadata_value("Title"))
        author = one_line(document.get_metadata_value("Author"))
    finally:
        document.close()
    check("".join(line.text for page in pages for line in page))
    blocks = tuple(blocks_of(without_running_titles(pages)))
    return Extracted(blocks, title, "pdfium", author=author or None, language=language_of(text_of(blocks)))


def open_pdf(path: Path) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == PASSWORD:
            raise Permanent("the PDF is locked with a password") from error
        raise Permanent("the PDF is broken: no reader could open it") from error


def check(text: str) -> None:
    if sum(map(str.isalnum, text)) < LEAST and len(STRANGE.findall(text)) < LEAST:
        raise Permanent("the PDF has no text layer: its pages are pictures")
    if len(STRANGE.findall(text)) > GARBLED * len(text):
        raise Permanent("the PDF's text layer is garbled: its fonts do not say which letters they show")


def read_pages(document: pdfium.PdfDocument) -> Iterator[list[Line]]:
    total = 0
    for number in range(len(document)):
        page = document[number]
        try:
            text_page = page.get_textpage()
            lines = list(lines_of(text_page))
            text_page.close()
        except pdfium.PdfiumError as error:
            raise Permanent(f"page {number + 1} of the PDF is broken") from error
        finally:
            page.close()
        total += sum(len(line.text) for line in lines)
        if total > MOST_CHARACTERS:
            raise Permanent(f"the PDF has more than {MOST_CHARACTERS:,} characters")
        yield lines


def lines_of(page: pdfium.PdfTextPage) -> Iterator[Line]:
    """The lines of a page; the height of one is that of the letter in its middle."""
    start = 0
    for raw in page.get_text_range(errors="replace").split("\r\n"):
        if text := one_line(raw):
            middle = start + len(raw) // 2
            letters = [at for at in range(middle, start + len(raw)) if not raw[at - start].isspace()]
            _, bottom, _, top = page.get_charbox((letters or [start])[0], loose=True)
            yield Line(text, round(2 * abs(top - bottom)) / 2, bottom)
        start += len(raw) + 2


def without_running_titles(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Page numbers, and what stands at the top or bottom of most pages."""
    def shape(line: Line) -> str:
        return NUMBER.sub("#", line.text)

    edges = Counter(shape(line) for page in pages for line in {*page[:EDGE], *page[-EDGE:]})
    least = max(FEW_PAGES, REPEATED * len(pages))
    repeated = {text for text, count in edges.items() if count >= least}
    return [
        [line for place, line in enumerate(page)
         if shape(line) not in repeated or EDGE <= place < len(page) - EDGE]
        for page in pages
    ]


def blocks_of(pages: Sequence[list[Line]]) -> Iterator[Block]:
    sizes = Counter[float]()
    for page in pages:
        for line in page:
            sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    levels = {size: min(6, rank) for rank, size in enumerate(heading_sizes(pages, body), 1)}
    for page in pages:
        for group in groups(page):
            text = joined(line.text for line in group)
            level = levels.get(group[0].size)
            if level and len(text) <= LONGEST_HEADING:
                yield Block(BlockKind.HEADING, text, level=level)
            else:
                yield Block(BlockKind.PARAGRAPH, text)


def heading_sizes(pages: Iterable[list[Line]], body: float) -> list[float]:
    larger = {line.size for page in pages for line in page if line.size > LARGER * body}
    return sorted(larger, reverse=True)


def groups(page: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines that belong together: of one size, and no wider apart than lines of that size usually are."""
    distances = [one.bottom - other.bottom for one, other in pairwise(page)
                 if one.size == other.size and one.bottom > other.bottom]
    usual = Counter(round(distance, 1) for distance in distances).most_common(1)
    widest = WIDE * usual[0][0] if usual else 0.0
    group: list[Line] = []
    for line in page:
        together = group and line.size == group[-1].size and 0 < group[-1].bottom - line.bottom <= max(
            widest, WIDE * line.size)
        if group and not together:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def joined(lines: Iterable[str]) -> str:
    """One paragraph; a word that was parted at the end of a line is whole again."""
    text = ""
    for line in lines:
        if text.endswith("\ufffe") or (text.endswith(("-", "\u2010")) and line[:1].islower()):
            text = text[:-1] + line  # the first is PDFium's own mark of a hyphen at a line's end
        else:
            text = f"{text} {line}" if text else line
    return text
