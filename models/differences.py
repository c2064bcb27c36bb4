"""What changed between two versions: each block is the same, moved, changed, added or removed."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import accumulate
from typing import Any

from models.blocks import Block

ALIKE = 0.5  # of the words of two blocks, above which one is the other, changed
MOST_WORDS = 4000  # of a block that is compared word by word
MOST_PAIRS = 2500  # of blocks that are compared with each other in one place
TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


class ChangeKind(StrEnum):
    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one block; ``before`` and ``after`` are its places, from 0, in the two versions.

    ``words`` is of a changed block: stretches of text, each ``=`` kept, ``-`` gone or ``+`` new, in order.
    """

    kind: ChangeKind
    block: Block  # as it is now, or as it was, if it is gone
    before: int | None
    after: int | None
    words: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        told = {"change": self.kind.value, "before": self.before, "after": self.after} | self.block.to_json()
        return told | ({"words": [list(stretch) for stretch in self.words]} if self.words else {})


def differences(old: Sequence[Block], new: Sequence[Block]) -> list[Change]:
    """Every block of both, in the order of the new one; what is gone stands where it stood."""
    opcodes = SequenceMatcher(None, list(map(key, old)), list(map(key, new)), autojunk=False).get_opcodes()
    gone = [i for tag, i1, i2, _, _ in opcodes if tag != "equal" for i in range(i1, i2)]
    come = [j for tag, _, _, j1, j2 in opcodes if tag != "equal" for j in range(j1, j2)]
    moved = moves(old, new, gone, come)
    left = set(gone) - set(moved.values())
    found: list[Change] = []
    for tag, i1, i2, j1, j2 in opcodes:
        if tag == "equal":
            found += [Change(ChangeKind.SAME, new[j], i1 + j - j1, j) for j in range(j1, j2)]
        else:
            before, after = [i for i in range(i1, i2) if i in left], list(range(j1, j2))
            found += replaced(old, new, before, after, moved)
    return found


def key(block: Block) -> tuple[str, str]:
    return block.kind.value, block.text


def moves(
    old: Sequence[Block], new: Sequence[Block], gone: Sequence[int], come: Sequence[int]
) -> dict[int, int]:
    """For each block that stands elsewhere now, where it stood."""
    places: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
    for i in gone:
        places[key(old[i])].append(i)
    return {j: places[key(new[j])].popleft() for j in come if places[key(new[j])]}


def replaced(
    old: Sequence[Block], new: Sequence[Block], before: Sequence[int], after: Sequence[int],
    moved: dict[int, int],
) -> Iterator[Change]:
    """What stands in one place now instead of what stood there; what went comes first."""
    pairs = alike(old, new, before, [j for j in after if j not in moved])
    gone = deque(i for i in before if i not in pairs.values())
    next_pair = list(accumulate((pairs.get(j, len(old)) for j in reversed(after)), min))[::-1]
    for j, border in zip(after, next_pair, strict=True):
        yield from removed(old, gone, border)
        if j in moved:
            yield Change(ChangeKind.MOVED, new[j], moved[j], j)
        elif j in pairs:
            marked = tuple(words(old[pairs[j]].text, new[j].text))
            yield Change(ChangeKind.CHANGED, new[j], pairs[j], j, marked)
        else:
            yield Change(ChangeKind.ADDED, new[j], None, j)
    yield from removed(old, gone, len(old))


def removed(old: Sequence[Block], gone: deque[int], border: int) -> Iterator[Change]:
    while gone and gone[0] < border:
        i = gone.popleft()
        yield Change(ChangeKind.REMOVED, old[i], i, None)


def alike(
    old: Sequence[Block], new: Sequence[Block], before: Sequence[int], after: Sequence[int]
) -> dict[int, int]:
    """Which new block is which old one, changed: the likest first."""
    if len(before) * len(after) > MOST_PAIRS:
        return {}
    ratios = sorted(
        ((likeness(old[i].text, new[j].text), -i, -j) for i in before for j in after
         if old[i].kind is new[j].kind), reverse=True)
    pairs: dict[int, int] = {}
    for ratio, i, j in ratios:
        if ratio >= ALIKE and -j not in pairs and -i not in pairs.values():
            pairs[-j] = -i
    return pairs


def likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.split()[:MOST_WORDS], other.split()[:MOST_WORDS], autojunk=False).ratio()


def words(one: str, other: str) -> Iterator[tuple[str, str]]:
    """The stretches of the two texts, word by word."""
    before, after = TOKEN.findall(one), TOKEN.findall(other)
    if len(before) + len(after) > 2 * MOST_WORDS:
        yield from (("-", one), ("+", other))
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield "=", "".join(before[i1:i2])
            continue
        if i1 < i2:
            yield "-", "".join(before[i1:i2])
        if j1 < j2:
            yield "+", "".join(after[j1:j2])
