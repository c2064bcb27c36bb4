"""How often a source is polled, as people write it."""

import pytest

from models.intervals import interval_of, seconds_of


@pytest.mark.parametrize(
    ("every", "seconds"),
    [("1m", 60), ("30m", 1800), ("1h", 3600), ("2d", 172_800), ("1w", 604_800), ("1h30m", 5400), ("90s", 90)],
)
def test_an_interval_is_read_and_written_back(every: str, seconds: int) -> None:
    assert seconds_of(every) == seconds
    assert seconds_of(interval_of(seconds)) == seconds


def test_an_interval_is_written_in_its_largest_units() -> None:
    assert (interval_of(5400), interval_of(86_400), interval_of(694_861)) == ("1h30m", "1d", "1w1d1h1m1s")


@pytest.mark.parametrize(
    "every",
    ["", "soon", "1", "h", "1 h", "1H", "-1h", "1.5h", "1h!", "0m", "30s", "367d", "9999999999h", "\uff11h"],
)
def test_what_is_no_interval_says_how_to_write_one(every: str) -> None:
    with pytest.raises(ValueError, match=r"\d[mhd]"):
        seconds_of(every)
