"""When a source is looked at next."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from models.intervals import check_zone
from tasks.discover.schedule import check_cron, next_poll, next_try

NOW = datetime(2026, 3, 2, 9, 17, 5, tzinfo=UTC)
SOURCE = UUID(int=7)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def wait(failures: int, cron: str | None = None, after: timedelta | None = None) -> timedelta:
    moment = next_try(None if cron else 3600, cron, SOURCE, failures, after, NOW)
    assert moment is not None
    return moment - NOW


def test_an_interval_counts_from_now_however_much_was_missed() -> None:
    assert next_poll(3600, None, NOW) == NOW + HOUR


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 7 * * *", datetime(2026, 3, 3, 7, tzinfo=UTC)),
        ("*/15 * * * *", datetime(2026, 3, 2, 9, 30, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
        ("30 9 * * mon-fri", datetime(2026, 3, 2, 9, 30, tzinfo=UTC)),
    ],
)
def test_a_cron_line_gives_its_next_time_in_utc(cron: str, expected: datetime) -> None:
    assert next_poll(None, cron, NOW) == expected


@pytest.mark.parametrize(
    ("cron", "zone", "now", "expected"),
    [
        ("0 7 * * *", "Europe/Berlin", (2026, 3, 28, 12), (2026, 3, 29, 5)),  # the clocks have gone forward
        ("0 7 * * *", "Europe/Berlin", (2026, 10, 24, 12), (2026, 10, 25, 6)),  # and back
        ("30 2 * * *", "Europe/Berlin", (2026, 3, 28, 12), (2026, 3, 29, 1)),  # 2:30 is skipped: right after
        ("30 2 * * *", "Europe/Berlin", (2026, 10, 25, 0, 31), (2026, 10, 26, 1, 30)),  # 2:30 came already
        ("0 0 * * *", "Asia/Kathmandu", (2026, 3, 2, 12), (2026, 3, 2, 18, 15)),
        ("0 0 1 * *", "Pacific/Auckland", (2026, 3, 30, 12), (2026, 3, 31, 11)),
    ],
)
def test_a_cron_line_tells_the_time_of_its_zone(
    cron: str, zone: str, now: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    at = datetime(*now, tzinfo=UTC)  # type: ignore[misc,arg-type]  # as many numbers as a date has
    assert next_poll(None, cron, at, zone) == datetime(*expected, tzinfo=UTC)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    "zone", ["", "Mars/North", "../../etc/passwd", "/etc/localtime", "Europe", "\0", "CET+"])
def test_what_is_no_zone_is_refused(zone: str) -> None:
    with pytest.raises(ValueError, match="is no time zone"):
        check_zone(zone)


def test_without_a_schedule_there_is_no_next_look() -> None:
    assert next_poll(None, None, NOW) is None
    assert next_try(None, None, SOURCE, 1, HOUR, NOW) is None


@pytest.mark.parametrize(("failures", "full"), [(1, HOUR), (4, 8 * HOUR), (6, DAY), (5000, DAY)])
def test_each_failure_doubles_the_wait_up_to_a_day(failures: int, full: timedelta) -> None:
    assert full * 0.8 <= wait(failures) <= full


def test_a_cron_source_is_tried_again_within_the_hour() -> None:
    assert wait(1, cron="0 7 * * *") <= HOUR


def test_sources_that_failed_together_part() -> None:
    again = {next_try(3600, None, UUID(int=n), 1, None, NOW) for n in range(40)}
    assert len(again) > 20


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        (timedelta(hours=3), timedelta(hours=3), timedelta(hours=3)),  # honoured
        (timedelta(days=30), DAY, DAY),  # capped
        (timedelta(seconds=5), HOUR * 0.8, HOUR),  # sooner than we would
        (timedelta(seconds=-5), HOUR * 0.8, HOUR),
    ],
)
def test_retry_after_is_honoured_up_to_a_day(asked: timedelta, least: timedelta, most: timedelta) -> None:
    assert least <= wait(1, after=asked) <= most


@pytest.mark.parametrize("cron", ["", "7", "0 7 * *", "0 7 * * * *", "61 * * * *", "a b c d e", "0 0 30 2 *"])
def test_a_cron_line_that_never_comes_is_refused(cron: str) -> None:
    with pytest.raises(ValueError, match="cron line"):
        check_cron(cron)
