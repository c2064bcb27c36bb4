"""Small pictures of numbers over time. Each can be read as words, too."""

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from almanac.client import Json
from dashboards.states import QUIET, STATES, spoken
from dashboards.words import day, joined, markup, moment


def strip(looks: Sequence[Json]) -> Markup:
    """The last looks at a source, oldest first, each in the colour of what it came to."""
    if not looks:
        return markup('<span class="quiet">none yet</span>')
    outcomes = Counter(look["outcome"] for look in looks)
    said = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    cells = joined(
        markup('<i class="{}" title="{}: {}"></i>', STATES.get(look["outcome"], QUIET), moment(look["at"]),
               spoken(look["outcome"])) for look in looks)
    return markup('<span class="strip" role="img" aria-label="the last {} polls: {}">{}</span>', len(looks),
                  said, cells)


def columns(numbers: Sequence[int], days: Sequence[str], noun: str) -> Markup:
    """A number for each day, oldest first, as columns of one height at most."""
    most = max(numbers, default=0) or 1
    return markup(
        '<span class="days" role="img" aria-label="{} {} in {} days">{}</span>', sum(numbers), noun,
        len(numbers), joined(
            markup('<i class="{}" style="height:{:.0f}%" title="{}: {:,} {}"></i>',
                   "some" if number else "none", 100 * number / most, named(at), number, noun)
            for number, at in zip(numbers, days, strict=True)))


def passes(days: Sequence[Json]) -> Markup:
    """What passed and what was refused on each day, one upon the other."""
    most = max((each["passed"] + each["refused"] for each in days), default=0) or 1
    return markup('<p class="quiet">{:,} a day at most</p><div class="passes" role="img" '
                  'aria-label="versions judged, by day">{}</div>', most, joined(
        markup('<span title="{}: {:,} passed, {:,} refused"><i class="bad" style="height:{:.1f}%"></i>'
               '<i class="good" style="height:{:.1f}%"></i></span>', named(each["day"]), each["passed"],
               each["refused"], 100 * each["refused"] / most, 100 * each["passed"] / most)
        for each in days))


def named(at: str) -> str:
    """A day that the API counted, in the viewer's zone already."""
    return day(f"{at}T00:00:00+00:00")


def share(used: float, limit: float) -> Markup:
    """How much of a limit is used, as a bar."""
    part = min(used / limit, 1.0) if limit else 1.0
    return markup('<span class="share {}" aria-hidden="true"><i style="width:{:.0f}%"></i></span>',
                  "full" if part >= 1 else "some", 100 * part)
