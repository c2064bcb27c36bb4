"""``almanac status`` says what waits, and for what."""

import pytest

from almanac.cli.stack import described

URLS = {"api": "http://127.0.0.1:8420", "dashboard": "http://127.0.0.1:8421", "prefect": "http://127.0.0.1:4200"}


@pytest.mark.parametrize(("pages", "said"), [
    (3, "3 pages wait for one: `almanac doctor` says why"), (0, None), (None, None),
])
def test_pages_that_wait_for_a_browser_are_counted(pages: int | None, said: str | None) -> None:
    now = {"parts": [], "health": {"status": "ok"}, "held": None, "needs_browser": pages, "urls": URLS}
    lines = [line for line in described(now).splitlines() if line.startswith("browser ")]
    assert [line.removeprefix("browser").strip() for line in lines] == ([said] if said else [])
