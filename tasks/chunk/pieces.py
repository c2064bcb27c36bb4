"""Pieces: a version's blocks cut for an embedder, each with its place in the version's text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from models.blocks import Block, place, text_of
from tasks.chunk.atoms import Atom, atomise
from tasks.chunk.packing import Packing
from tasks.chunk.page import Count, Meter, Page

LARGEST = 350  # tokens: longer pieces answer worse, however much an embedder reads
SMALLEST = 16


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a version: its text from ``start`` to ``end``, which has about ``tokens`` tokens.

    ``embedded`` is what the embedder reads: the title, the headings above, the header of a table that began
    before, and ``text``, each on a line of its own.
    """

    position: int
    text: str
    headings: tuple[str, ...]
    start: int
    end: int
    tokens: int
    embedded: str


def cut(title: str, blocks: Sequence[Block], count: Count, window: int) -> list[Piece]:
    """The pieces of a version, in order; none for a version without text. The same input, the same pieces.

    ``count`` gives the tokens of each text, special ones not included; ``window`` is how many of them the
    embedder reads, and no ``embedded`` has more. Every character that is not white space lies in a piece, or
    in a stretch that says word by word what a piece says: no two have one ``embedded``. No piece lies inside
    another.
    """
    target = min(window - window // 16, LARGEST)
    page = Page(title, list(place(blocks)), text_of(blocks), Meter(count), target)
    while True:
        pieces, longest = build(page)
        if longest <= window or page.target <= SMALLEST:
            return pieces
        page = replace(page, target=page.target * window // longest - 1)  # texts may weigh more together


def build(page: Page) -> tuple[list[Piece], int]:
    """The pieces at this target, and the tokens of the longest embedded text."""
    atoms = atomise(page)
    stretches = Packing(page, atoms).stretches()
    drafts = without_twins(draft(page, atoms[first:last]) for first, last in stretches)
    sizes = page.meter.count([piece.embedded for piece in drafts]) if drafts else []
    pieces = [
        replace(piece, position=position, tokens=size - piece.tokens)
        for position, (piece, size) in enumerate(zip(drafts, sizes, strict=True))
    ]
    return pieces, max(sizes, default=0)


def without_twins(drafts: Iterable[Piece]) -> list[Piece]:
    """The first of those that are embedded alike: the others could only be found in its place."""
    first: dict[str, Piece] = {}
    for piece in drafts:
        first.setdefault(piece.embedded, piece)
    return list(first.values())


def draft(page: Page, atoms: Sequence[Atom]) -> Piece:
    """A piece whose ``tokens`` are still those of what is repeated in front of it."""
    lowest, highest = min(atom.path for atom in atoms), max(atom.path for atom in atoms)
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(lowest, highest, strict=False))
    path = tuple(heading for heading, _ in shared)
    start, end = atoms[0].start, atoms[-1].end
    text = page.text[start:end]
    repeated = [*page.caption(page.above(path, start)), *filter(None, [atoms[0].header])]
    tokens = sum(map(page.meter.tokens, repeated))
    return Piece(0, text, page.headings(path), start, end, tokens, "\n".join([*repeated, text]))
