"""A source as its owner asks for it, checked before anything is fetched."""

from dataclasses import dataclass

from models.addresses import check_address, without_fragment
from models.states import ReadingMode, SourceKind
from tasks.discover.schedule import check_cron

AUTO = "auto"
KINDS = (AUTO, SourceKind.FEED.value, SourceKind.PAGE.value)
LATER = ("sitemap", "json")
HOURLY = 3600
SHORTEST, LONGEST = 60, 366 * 24 * HOURLY
LONGEST_URL = 2000  # what PostgreSQL indexes, with room to spare
LONGEST_NAME = 200
MOST_ITEMS = 1000


@dataclass(frozen=True, slots=True)
class NewSource:
    """What ``almanac source add`` takes. Raises ValueError, one clear sentence, for what cannot be."""

    url: str
    kind: str = AUTO
    name: str | None = None
    every_seconds: int | None = None  # an hour, unless there is a cron line
    cron: str | None = None
    priority: int = 50
    weight: float = 0.5
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    limit: int = 100
    mode: str = ReadingMode.EVERYTHING.value

    def __post_init__(self) -> None:
        check_kind(self.kind)
        url = without_fragment(check_address(self.url))
        if len(url) > LONGEST_URL:
            raise ValueError(f"the address of a source has at most {LONGEST_URL:,} characters")
        check_schedule(self.every_seconds, self.cron)
        check_range("the priority", self.priority, 0, 100)
        check_range("the weight", self.weight, 0, 1)
        check_range("the limit", self.limit, 1, MOST_ITEMS)
        if self.mode not in set(ReadingMode):
            raise ValueError(f"“{self.mode}” is no mode: choose {' or '.join(ReadingMode)}")
        name = " ".join((self.name or "").split())[:LONGEST_NAME]
        every = self.every_seconds or (None if self.cron else HOURLY)
        settled = {"url": url, "name": name or None, "every_seconds": every, "include": tuple(self.include),
                   "exclude": tuple(self.exclude)}
        for field, value in settled.items():
            object.__setattr__(self, field, value)  # frozen: the one moment at which it is still made


def check_kind(kind: str) -> None:
    if kind in LATER:
        raise ValueError(f"{kind} sources are not readable yet: use feed or page")
    if kind not in KINDS:
        raise ValueError(f"“{kind}” is no kind of source: choose {', '.join(KINDS[:-1])} or {KINDS[-1]}")


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
