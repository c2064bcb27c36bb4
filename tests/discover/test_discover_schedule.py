"""When a source is looked at next."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

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
