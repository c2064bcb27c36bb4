"""A source as its owner asks for it, checked before anything is fetched."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from models.addresses import check_address, is_route, without_fragment
from models.headers import check_headers
from models.intervals import check_zone
from models.states import ReadingMode, SourceKind
from tasks.discover.json_map import check_map
from tasks.discover.schedule import check_cron

AUTO = "auto"
OFFERED = (SourceKind.FEED, SourceKind.SITEMAP, SourceKind.PAGE, SourceKind.LISTING, SourceKind.JSON)
KINDS = (AUTO, *(kind.value for kind in OFFERED))
HOURLY = 3600
SHORTEST, LONGEST = 60, 366 * 24 * HOURLY
LONGEST_URL = 2000  # what PostgreSQL indexes, with room to spare
LONGEST_NAME = 200
MOST_ITEMS = 1000
MOST_TAGS, LONGEST_TAG = 20, 100


@dataclass(frozen=True, slots=True)
class NewSource:
    """What ``almanac source add`` takes. Raises ValueError, one clear sentence, for what cannot be."""

    url: str
    kind: str = AUTO
    name: str | None = None
    every_seconds: int | None = None  # an hour, unless there is a cron line
    cron: str | None = None
    zone: str = "UTC"  # of the cron line
    priority: int = 50
    weight: float = 0.5
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    limit: int = 100
    mode: str = ReadingMode.EVERYTHING.value
    tags: tuple[str, ...] = ()
    map: Mapping[str, str] = field(default_factory=dict)  # of a JSON API: json_map
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # they may hold secrets
    fragment_routes: bool = False  # "#/a" and "#/b" are two pages, which only a browser can tell apart

    def __post_init__(self) -> None:
        check_kind(self.kind)
        url = check_address(self.url)
        if not (self.fragment_routes and is_route(url)):
            url = without_fragment(url)
        if len(url) > LONGEST_URL:
            raise ValueError(f"the address of a source has at most {LONGEST_URL:,} characters")
        check_schedule(self.every_seconds, self.cron)
        check_zone(self.zone)
        check_range("the priority", self.priority, 0, 100)
        check_range("the weight", self.weight, 0, 1)
        check_range("the limit", self.limit, 1, MOST_ITEMS)
        if self.mode not in set(ReadingMode):
            raise ValueError(f"“{self.mode}” is no mode: choose {' or '.join(ReadingMode)}")
        name = " ".join((self.name or "").split())[:LONGEST_NAME]
        every = self.every_seconds or (None if self.cron else HOURLY)
        settled = {"url": url, "name": name or None, "every_seconds": every, "include": tuple(self.include),
                   "exclude": tuple(self.exclude), "tags": checked_tags(self.tags),
                   "map": checked_map(self.kind, self.map), "headers": check_headers(self.headers)}
        for attribute, value in settled.items():
            object.__setattr__(self, attribute, value)  # frozen: the one moment at which it is still made


def check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"“{kind}” is no kind of source: choose {', '.join(KINDS[:-1])} or {KINDS[-1]}")


def checked_map(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    if kind == SourceKind.JSON:
        return check_map(given)
    if given:
        raise ValueError(f"a map is for sources of kind json, not {kind}: leave it out or say --kind json")
    return {}


def check_schedule(every_seconds: int | None, cron: str | None) -> None:
    if every_seconds is not None and cron:
        raise ValueError("give an interval or a cron line, not both")
    if every_seconds is not None and not SHORTEST <= every_seconds <= LONGEST:
        raise ValueError("the interval is from one minute to 366 days")
    if cron is not None:
        check_cron(cron)


def check_range(what: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ValueError(f"{what} is from {least} to {most}, not {value}")


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Each once, on one line, in their order."""
    cleaned = tuple(dict.fromkeys(filter(None, (" ".join(tag.split()) for tag in tags))))
    if len(cleaned) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in cleaned):
        raise ValueError(f"a source has at most {MOST_TAGS} tags of {LONGEST_TAG} characters")
    return cleaned
