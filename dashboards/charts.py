"""Small charts made of the page's own elements: they need no script, and follow the theme."""

from collections.abc import Sequence

from markupsafe import Markup

from dashboards.words import joined, markup


def columns(steps: Sequence[Sequence[tuple[str, int]]], titles: Sequence[str], said: str) -> Markup:
    """A column for each step, made of (colour, number) from below; ``said`` is what it shows, in words."""
    highest = max((sum(number for _, number in step) for step in steps), default=0) or 1
    return markup('<div class="columns" role="img" aria-label="{}">{}</div>', said, joined(
        markup('<span title="{}">{}</span>', title, joined(
            markup('<i style="height:{:.1f}%;background:{}"></i>', 100 * number / highest, colour)
            for colour, number in reversed(step) if number))
        for step, title in zip(steps, titles, strict=True)))


def stack(shares: Sequence[tuple[float, str, str]]) -> Markup:
    """One bar of several pieces: (share of the whole, colour, title)."""
    return markup('<span class="stack" aria-hidden="true">{}</span>', joined(
        markup('<i style="width:{:.2f}%;background:{}" title="{}"></i>', 100 * min(max(share, 0), 1), colour,
               title) for share, colour, title in shares))


def spark(history: Sequence[int]) -> Markup:
    """A tiny chart of numbers over time, the last one marked."""
    highest = max(history, default=0) or 1
    said = ", ".join(map(str, history))
    return markup('<span class="spark" role="img" aria-label="{}" title="{}">{}</span>', said, said, joined(
        markup('<i style="height:{:.0f}%"></i>', max(100 * number / highest, 4)) for number in history))
