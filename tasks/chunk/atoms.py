"""Atoms: stretches of a version that no border cuts. Sentences, rows, lines, whole lists and code blocks."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from models.blocks import BlockKind, Placed
from tasks.chunk.page import Page, Path, Span

BY_LINE = frozenset({BlockKind.CODE, BlockKind.TABLE})
KEPT_WHOLE = BY_LINE | {BlockKind.LIST_ITEM}
LINE_END = re.compile(r"\n+")
SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？]+[」』”’）]*|\n+")  # noqa: RUF001 - CJK marks
SOFT_BORDERS = ["\n", "; ", ", ", " ", ""]
INSIDE, BLOCK, HEADING = range(3)  # how good a border is before an atom


@dataclass(frozen=True, slots=True)
class Atom:
    """A stretch that no border cuts."""

    start: int
    end: int
    weight: int
    path: Path  # the headings it stands under
    border: int = INSIDE
    top: bool = False  # begins a section that is never joined to the one before
    prose: bool = False
    header: str = ""  # of its table, when that is not in its own text


def atomise(page: Page) -> list[Atom]:
    """Every block as atoms. Headings are part of the atom that follows them."""
    groups = [(group, [span for i in group for span in spans(page.placed[i])])
              for group in grouped(page.placed)]
    page.meter.learn(page.text[start:end] for _, found in groups for start, end in found)
    atoms: list[Atom] = []
    headings: list[Atom] = []  # with nothing below them yet
    for group, found in groups:
        if not found:
            continue
        if page.placed[group[0]].block.kind is not BlockKind.HEADING:
            atoms += section(page, headings, group, found)
            headings = []
            continue
        new = heading_atoms(page, group[0], found, below=bool(atoms))
        if headings and new[0].top and not headings[0].top:  # they end the section before
            atoms, headings = atoms + headings, []
        headings += new
    return [*atoms, *(replace(heading, top=False) for heading in headings)]


def grouped(placed: Sequence[Placed]) -> list[list[int]]:
    """The blocks' positions: the items of a list together, every other block alone."""
    groups: list[list[int]] = []
    for position, (before, this) in enumerate(pairwise([None, *placed])):
        if before and this and before.block.kind is this.block.kind is BlockKind.LIST_ITEM:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def spans(placed: Placed) -> Iterator[Span]:
    """The smallest stretches of a block: sentences, or lines (with their indents) where lines matter."""
    text, kind = placed.block.text, placed.block.kind
    borders = (LINE_END if kind in BY_LINE else SENTENCE_END).finditer(text)
    ends = [] if kind is BlockKind.HEADING else [match.end() for match in borders]
    for start, end in pairwise([0, *ends, len(text)]):
        yield from trimmed(text[start:end], placed.start + start, keep_indent=kind in BY_LINE)


def trimmed(stretch: str, start: int, keep_indent: bool = False) -> Iterator[Span]:
    """Where the words of ``stretch`` are, if it has any; it begins at ``start``."""
    if stretch.strip():
        indent = 0 if keep_indent else len(stretch) - len(stretch.lstrip())
        yield start + indent, start + len(stretch.rstrip())


def fitting(page: Page, found: Iterable[Span], room: int) -> Iterator[tuple[Span, int]]:
    """The stretches with their weights, cut where one weighs more than ``room``."""
    for span in found:
        weight = page.weigh(span)
        if weight <= room:
            yield span, weight
        else:
            yield from ((part, page.weigh(part)) for part in shorten(page, span, room))


def shorten(page: Page, span: Span, room: int) -> Iterator[Span]:
    """A stretch that is too large for a piece, cut at the best places there are."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # 0.6 s that few versions need

    splitter = RecursiveCharacterTextSplitter(
        SOFT_BORDERS, keep_separator="end", strip_whitespace=False, chunk_size=max(room, 1), chunk_overlap=0,
        length_function=page.meter)
    start = span[0]
    for part in splitter.split_text(page.text[slice(*span)]):
        yield from trimmed(part, start)
        start += len(part)


def heading_atoms(page: Page, position: int, found: Iterable[Span], below: bool) -> list[Atom]:
    """A heading: one atom, unless it is longer than headings are."""
    top = below and page.placed[position].block.level <= page.top
    atoms = [Atom(*span, weight, page.paths[position], HEADING)
             for span, weight in fitting(page, found, page.target // 2)]
    return [replace(atoms[0], top=top), *atoms[1:]]


def section(page: Page, headings: Sequence[Atom], group: Sequence[int], found: list[Span]) -> list[Atom]:
    """The atoms of a block, or of a whole list, and of the headings directly above it."""
    path = page.paths[group[0]]
    lead = sum(heading.weight + page.meter.join for heading in headings)
    if not 0 < lead <= page.limit:  # none, or more than a piece can carry in front
        return [*headings, *body(page, page.room(path, found[0][0]), group, found)]
    start = headings[0].start
    first, *others = body(page, page.room(path, start) - lead, group, found)
    first = replace(first, start=start, weight=lead + first.weight, border=HEADING, top=headings[0].top)
    return [first, *others]


def body(page: Page, room: int, group: Sequence[int], found: list[Span]) -> list[Atom]:
    """The atoms of a block or a list, none heavier than ``room``."""
    block, path, join = page.placed[group[0]].block, page.paths[group[0]], page.meter.join
    whole = sum(page.weigh(span) + join for span in found) - join
    if block.kind in KEPT_WHOLE and whole <= room:
        return [Atom(found[0][0], found[-1][1], whole, path, BLOCK)]
    header = ""
    if 0 < block.header_rows < len(found):
        header = page.meter.clip(page.text[found[0][0] : found[block.header_rows - 1][1]], page.limit)
        found = [(found[0][0], found[block.header_rows][1]), *found[block.header_rows + 1 :]]
        room -= page.meter(header) + join
    starts = {found[0][0], *(page.placed[i].start for i in group)}
    return [
        Atom(start, end, weight, path, BLOCK if start in starts else INSIDE, prose=block.kind not in BY_LINE,
             header=header if start > found[0][0] else "")
        for (start, end), weight in fitting(page, found, room)
    ]
