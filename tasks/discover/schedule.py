"""When a source is looked at next: by its interval or its cron line, later after each failure."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

DAY = timedelta(days=1)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
JITTER = 0.2  # of a wait, at most, taken off so that sources that failed together part


def next_poll(
    every_seconds: int | None, cron: str | None, now: datetime, zone: str = "UTC"
) -> datetime | None:
    """The first time after ``now``, whatever was missed before, in UTC; none without a schedule.

    A cron line tells the time of ``zone``. As in Debian's cron, an hour that the clocks skip is made up for
    right after it, and one that they repeat counts once.
    """
    if cron:
        found = next(CronSim(cron, now.astimezone(ZoneInfo(zone))), None)
        return found and found.astimezone(UTC)
    return now + timedelta(seconds=every_seconds) if every_seconds else None


def next_try(
    every_seconds: int | None, cron: str | None, source_id: UUID, failures: int,
    retry_after: timedelta | None, now: datetime,
) -> datetime | None:
    """After the ``failures``-th failure in a row: the interval, doubled each time, at most a day.

    Never before the other side's ``retry_after``, which is believed up to a day.
    """
    if not (cron or every_seconds):
        return None
    interval = timedelta(seconds=every_seconds) if every_seconds else HOUR
    wait: timedelta = min(interval * 2 ** min(max(failures - 1, 0), 20), DAY)
    wait -= wait * JITTER * chance(source_id, failures)
    return now + max(wait, min(retry_after or wait, DAY))


def chance(source_id: UUID, failures: int) -> float:
    """0 to 1, spread evenly over sources and failures, the same each time."""
    return sha256(source_id.bytes + failures.to_bytes(8)).digest()[0] / 255


def check_cron(cron: str) -> None:
    """Raises ValueError where ``cron`` is no cron line of five fields, or one whose time never comes."""
    try:
        comes = len(cron.split()) == 5 and next(CronSim(cron, LONG_AGO), None)
    except CronSimError as error:
        raise ValueError(f"the cron line “{cron}” is wrong: {str(error).lower()}") from error
    if not comes:
        raise ValueError(f"“{cron}” is no cron line: write five fields, like “0 7 * * *” for 7:00 each day")
