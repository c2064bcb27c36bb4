"""What is cut, weighed: texts in tokens, and how much of a piece is taken by what is repeated in it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from models.blocks import BlockKind, Placed

Count = Callable[[Sequence[str]], list[int]]
Span = tuple[int, int]  # start and end in the version's text
Path = tuple[int, ...]  # positions of heading blocks, outermost first

CHARACTERS_PER_TOKEN = 8  # at most: a run without spaces can be one unknown token, however long it is
PATH_SEPARATOR = " > "


class Meter:
    """Weighs texts in tokens; each text is counted once."""

    def __init__(self, count: Count) -> None:
        self.count = count
        self._known: dict[str, int] = {"": 0}
        apart, together = count(["a", "a\n\na"])
        self.join = together - 2 * apart  # what a blank line costs

    def learn(self, texts: Iterable[str]) -> None:
        """Count in one batch what is not known yet."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self.count(new) if new else (), strict=True))

    def tokens(self, text: str) -> int:
        self.learn([text])
        return self._known[text]

    def __call__(self, text: str) -> int:
        return max(self.tokens(text), -(-len(text) // CHARACTERS_PER_TOKEN))

    def clip(self, line: str, limit: int) -> str:
        """The beginning of ``line`` that weighs at most ``limit``."""
        while self(line) > limit:
            line = line[: len(line) * 3 // 4].rstrip()
        return line


@dataclass(frozen=True)
class Page:
    """What is cut, and the weight that a piece may have with everything that is repeated in it."""

    title: str
    placed: Sequence[Placed]
    text: str
    meter: Meter
    target: int

    @property
    def limit(self) -> int:
        """The weight that each of title, heading line, headings in front and table header may have."""
        return self.target // 5

    @cached_property
    def paths(self) -> list[Path]:
        """The headings above each block; a heading's own path ends with itself."""
        paths: list[Path] = []
        for position, placed in enumerate(self.placed):
            path = paths[-1] if paths else ()
            if placed.block.kind is BlockKind.HEADING:
                path = (*path[: len(placed.headings) - 1], position)
            paths.append(path)
        return paths

    @cached_property
    def top(self) -> int:
        """The level of the highest headings."""
        return min((p.block.level for p in self.placed if p.block.kind is BlockKind.HEADING), default=0)

    def headings(self, path: Path) -> tuple[str, ...]:
        return tuple(self.placed[i].block.text for i in path)

    def caption(self, path: Path) -> list[str]:
        """The title line and the heading line, as far as there are any, shortened where they are long."""
        title = self.meter.clip(" ".join(self.title.split()), self.limit)
        headings = [" ".join(heading.split()) for heading in self.headings(path)]
        if headings and headings[0].casefold() == title.casefold():
            del headings[0]
        lines = [PATH_SEPARATOR.join(headings[outer:]) for outer in range(len(headings))]
        short = next((line for line in lines if self.meter(line) <= self.limit), None)
        return [line for line in (title, short or self.meter.clip("".join(lines[-1:]), self.limit)) if line]

    def above(self, path: Path, start: int) -> Path:
        """The headings of ``path`` that a text beginning at ``start`` does not hold itself."""
        return tuple(i for i in path if self.placed[i].start < start)

    def room(self, path: Path, start: int, header: str = "") -> int:
        """The weight left for a text beginning at ``start`` under ``path``."""
        repeated = [*self.caption(self.above(path, start)), *filter(None, [header])]
        return self.target - sum(self.meter(line) + self.meter.join for line in repeated)

    def weigh(self, span: Span) -> int:
        return self.meter(self.text[slice(*span)])
