"""Tables that are lists of cards where the window is narrow: each cell then says what it is of."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from dashboards.words import joined, markup, moment


def table(name: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """A table with a row for each of ``rows``; the first cell of a row is its header."""
    return markup(
        '<table class="{} stacked"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>', name,
        joined(markup('<th scope="col">{}</th>', heading) for heading in headings),
        joined(row(headings, cells) for cells in rows))


def row(headings: Sequence[str], cells: Sequence[object]) -> Markup:
    first, *others = cells
    return markup('<tr><th scope="row" dir="auto">{}</th>{}</tr>', first, joined(
        markup('<td data-heading="{}"><div>{}</div></td>', heading, cell)
        for heading, cell in zip(headings[1:], others, strict=True)))


def facts(pairs: Iterable[tuple[str, object]]) -> Markup:
    """Names with what they are; what is nothing is left out."""
    return markup("<dl>{}</dl>", joined(
        markup("<dt>{}</dt><dd>{}</dd>", name, value) for name, value in pairs if value not in (None, "")))


def when(stamp: str | None, otherwise: str = "never") -> Markup:
    """A moment that stays on one line."""
    return markup('<span class="number">{}</span>', moment(stamp) if stamp else otherwise)


def number(value: float) -> Markup:
    return markup('<span class="number">{:,}</span>', value)
