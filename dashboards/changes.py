"""What changed between two versions of a page, to be read: what went is struck out, what came stands out."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from markupsafe import Markup

from almanac.client import Json
from dashboards.reader import block
from dashboards.words import counted, joined, markup

AROUND = 1  # unchanged blocks that are shown on each side of a change
WORDS = {"added": "Added", "removed": "Removed", "changed": "Changed", "moved": "Moved from elsewhere"}
STRETCHES = {"+": "<ins>{}</ins>", "-": "<del>{}</del>", "=": "{}"}


def summary(counts: dict[str, int]) -> str:
    said = [f"{counts[kind]:,} {kind}" for kind in ("changed", "added", "removed", "moved") if counts[kind]]
    return f"{', '.join(said) or 'nothing changed'}; {counted(counts['same'], 'block')} the same"


def changes(told: Iterable[Json]) -> Markup:
    """Every change in its place; of what did not change only what stands beside."""
    return markup('<div class="changes">{}</div>', joined(parts(told)))


def parts(told: Iterable[Json]) -> Iterator[Markup]:
    for same, group in groupby(told, key=lambda change: change["change"] == "same"):
        run = list(group)
        if same:
            yield from unchanged(run)
        else:
            yield from map(changed, run)


def unchanged(run: list[Json]) -> Iterator[Markup]:
    if len(run) <= 2 * AROUND + 1:
        yield from map(kept, run)
        return
    yield from map(kept, run[:AROUND])
    hidden = run[AROUND:-AROUND]
    yield markup("<details><summary>{} the same</summary>{}</details>", counted(len(hidden), "block"),
                 joined(map(kept, hidden)))
    yield from map(kept, run[-AROUND:])


def kept(change: Json) -> Markup:
    return markup('<section class="same">{}</section>', block(change))


def changed(change: Json) -> Markup:
    kind = change["change"]
    return markup('<section class="{}"><small>{}</small>{}</section>', kind, WORDS[kind],
                  marked(change["words"]) if change.get("words") else block(change))


def marked(stretches: Iterable[tuple[str, str]]) -> Markup:
    return markup('<p class="words" dir="auto">{}</p>', joined(
        markup(STRETCHES[sign], words) for sign, words in stretches))
