"""Small pictures of numbers over time. Each can be read as words, too."""

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from almanac.client import Json
from dashboards.charts import columns
from dashboards.states import QUIET, STATES, spoken
from dashboards.words import day, joined, markup, moment

COLOURS = {"passed": "#2e9e6b", "refused": "#d0453b"}  # as good and bad states have them


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


def passes(days: Sequence[Json]) -> Markup:
    """What passed and what was refused on each day, one upon the other."""
    return columns(
        [((COLOURS["passed"], day["passed"]), (COLOURS["refused"], day["refused"])) for day in days],
        [f"{named(day['day'])}: {day['passed']:,} passed, {day['refused']:,} refused" for day in days],
        "versions that passed the gates and that were refused, by day")


def named(at: str) -> str:
    """A day that the API counted, in the viewer's zone already."""
    return day(f"{at}T00:00:00+00:00")


def share(used: float, limit: float) -> Markup:
    """How much of a limit is used, as a bar."""
    part = min(used / limit, 1.0) if limit else 1.0
    return markup('<span class="share {}" aria-hidden="true"><i style="width:{:.0f}%"></i></span>',
                  "full" if part >= 1 else "some", 100 * part)
