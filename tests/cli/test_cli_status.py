"""``almanac status`` says what waits, and for what."""

import pytest

from almanac.cli.stack import described

URLS = {"api": "http://127.0.0.1:8420", "dashboard": "http://127.0.0.1:8421", "prefect": "http://127.0.0.1:4200"}

NOW = {"parts": [], "health": {"status": "ok"}, "stopping": False, "token_lost": None, "held": None,
       "needs_browser": None, "vault": None, "urls": URLS}


def test_of_a_library_in_trouble_each_part_that_is_not_well_is_told_with_its_cause() -> None:
    parts = {"database": "ok", "index": "the index could not be written: the disk is full", "worker": "ok"}
    told = described(NOW | {"health": {"status": "trouble", "parts": parts}}).splitlines()
    said = [line.split(maxsplit=1) for line in told]
    assert ["index", "the index could not be written: the disk is full"] in said
    assert not {"database", "worker"} & {words[0] for words in said if words}


@pytest.mark.parametrize(("pages", "said"), [
    (3, "3 pages wait for one: `almanac doctor` says why"), (0, None), (None, None),
])
def test_pages_that_wait_for_a_browser_are_counted(pages: int | None, said: str | None) -> None:
    now = NOW | {"needs_browser": pages}
    lines = [line for line in described(now).splitlines() if line.startswith("browser ")]
    assert [line.removeprefix("browser").strip() for line in lines] == ([said] if said else [])
