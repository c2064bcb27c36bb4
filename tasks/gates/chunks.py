"""The measures of chunks and their vectors, before they are stored."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select

from models.blocks import Block, BlockKind, place, text_of
from models.session import Database
from models.tables import DocumentVersion
from tasks.gates.judge import Measured
from tasks.gates.vectors import is_finite, norm, unpack

Rows = Sequence[Mapping[str, Any]]  # chunks as they are about to be stored

SENTENCE = re.compile(r"(?<=[.!?。])\s*|\n")
SHORTEST = 20  # characters of a stretch that is looked for elsewhere: shorter ones are found anywhere
TELLS = 200  # characters of a chunk that are told of it


def measure_chunks(db: Database, chunks: Rows, window: int, dimensions: int) -> list[Measured]:
    """The columns of the suite for each chunk, under its version's id."""
    of_version: defaultdict[UUID, list[Mapping[str, Any]]] = defaultdict(list)
    for chunk in chunks:
        of_version[chunk["version_id"]].append(chunk)
    with db.begin() as session:
        blocks = {row.id: row.blocks for row in session.execute(
            select(DocumentVersion.id, DocumentVersion.blocks).where(DocumentVersion.id.in_(of_version)))}
    return [each for version, rows in of_version.items()
            for each in measured(version, rows, map(Block.from_json, blocks[version]), window, dimensions)]


def measured(
    version: UUID, chunks: Rows, blocks: Iterable[Block], window: int, dimensions: int
) -> list[Measured]:
    twins = Counter(chunk["digest"] for chunk in chunks)
    missed = uncovered(blocks, [(chunk["start"], chunk["end"]) for chunk in chunks])
    found = []
    for chunk in chunks:
        vector = unpack(chunk["vector"])
        values = {
            "tokens": chunk["tokens"], "tokens_over": max(0, chunk["tokens"] - window), "uncovered": missed,
            "twins": twins[chunk["digest"]] - 1, "unfinite": int(not is_finite(vector)), "norm": norm(vector),
            "dimensions_off": vector.size - dimensions,
        }
        found.append(Measured(version, values, dict.fromkeys(values, chunk["text"][:TELLS])))
    return found


def uncovered(blocks: Iterable[Block], spans: Iterable[tuple[int, int]]) -> int:
    """How many characters lie in no chunk; headings may stand above theirs, and blanks between.

    What is said again word by word needs no chunk of its own.
    """
    covered = sorted(spans)
    blocks = list(blocks)
    text = text_of(blocks)
    said = "\n".join(text[start:end] for start, end in joined(covered))
    missed = 0
    for placed in place(blocks):
        if placed.block.kind is BlockKind.HEADING:
            continue
        at = placed.start
        for start, end in covered:
            if end <= at or start >= placed.end:
                continue
            missed += unsaid(text[at:start], said)
            at = max(at, end)
        missed += unsaid(text[at:placed.end], said)
    return missed


def joined(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sorted spans as few: what touches or overlaps is one."""
    begun, reached = 0, 0
    for start, end in spans:
        if start > reached:
            yield begun, reached
            begun = start
        reached = max(reached, end)
    yield begun, reached


def unsaid(stretch: str, said: str) -> int:
    """Its characters that are no blanks, without the sentences that are said elsewhere."""
    new = (part for part in SENTENCE.split(stretch) if len(part) < SHORTEST or part.strip() not in said)
    return sum(not mark.isspace() for part in new for mark in part)
