"""What commands print: text for people or, with ``--json``, one JSON document; never both."""

import json
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

HARMLESS_MARKS = {"\n", "\t", "\u200c", "\u200d"}  # joiners shape Persian words and emoji
WIDEST = 100


class Screen:
    """Where the process prints. ``main`` sets ``json`` before a command runs."""

    json = False

    def show(self, document: Any, text: str) -> None:
        """Print the result of a command: ``document`` with ``--json``, else ``text``."""
        if said := self.said(document, text):
            print(said)

    def said(self, document: Any, text: str) -> str:
        """What ``show`` prints."""
        return json.dumps(document, ensure_ascii=False, indent=2, default=str) if self.json else text

    def note(self, text: str) -> None:
        """Tell somebody who is watching, on stderr; nobody else hears of it."""
        if sys.stderr.isatty() and not self.json:
            print(plain(text), file=sys.stderr)

    def warn(self, text: str) -> None:
        """Tell whoever gave the command, in one line on stderr, what they might not expect."""
        print(f"almanac: {one_line(text)}", file=sys.stderr)


screen = Screen()


def plain(text: object) -> str:
    """``text`` without what could command a terminal: it may come from any page."""
    return "".join(
        mark for mark in str(text)
        if mark in HARMLESS_MARKS or unicodedata.category(mark) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )


def one_line(text: object) -> str:
    return " ".join(plain(text).split())


def shortened(text: object, width: int) -> str:
    """At most ``width`` characters of one line."""
    line = one_line(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def cut(text: object, width: int) -> str:
    """One line, shortened where stdout is a terminal: a pipe or a file gets the whole."""
    return shortened(text, width) if sys.stdout.isatty() else one_line(text)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], nothing: str) -> str:
    """Aligned columns; ``nothing`` when there are no rows."""
    cells = [[one_line("" if cell is None else cell) for cell in row] for row in rows]
    if not cells:
        return nothing
    lines = [list(headings), *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in padded)


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """One ``name  value`` a line; a value that is None or empty is left out."""
    said = [(name, one_line(value)) for name, value in pairs if value not in (None, "", [])]
    width = max((len(name) for name, _ in said), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in said)


def wrapped(text: str, indent: str) -> str:
    """Paragraphs wrapped to the terminal and indented; blank lines between them are kept."""
    width = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)
    return "\n".join(
        textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent)
        for line in plain(text).splitlines()
    )


def moment(stamp: str | None) -> str:
    """An ISO 8601 time to the minute, in UTC like the times that reasons name; nothing for none."""
    return f"{datetime.fromisoformat(stamp).astimezone(UTC):%Y-%m-%d %H:%M} UTC" if stamp else ""


def waits_for(held: dict[str, str]) -> str:
    """What holds articles back, and until when."""
    return f"waits: {held['reason']}; goes on about {moment(held['until'])}"


def short(identity: str) -> str:
    """As much of an id as a person needs to type."""
    return identity[:8]
