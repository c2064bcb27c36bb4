"""The library process when it cannot go on: it ends with the status that says so, and says why."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from almanac.stack.logs import last_words
from almanac.stack.part import CANNOT_GO_ON

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "the library cannot go on: ALMANAC_DATABASE_URL is not set: start Almanac with `almanac up`"),
        ({"ALMANAC_CONTACT": "two\nlines"}, "the setting ALMANAC_CONTACT is wrong: the contact shown"),
    ],
)
def test_what_another_start_does_not_mend_is_said_and_ends_it_for_good(
    tmp_path: Path, free_ports: list[int], wrong: dict[str, str], words: str
) -> None:
    ours = {"ALMANAC_HOME": str(tmp_path), "ALMANAC_API_PORT": str(free_ports[0]),
            "ALMANAC_PREFECT_URL": "http://127.0.0.1:1/api"}
    others = {name: value for name, value in os.environ.items() if not name.startswith("ALMANAC_")}
    with (tmp_path / "log").open("wb") as log:
        done = subprocess.run([sys.executable, "-m", "almanac.library"], env=others | ours | wrong,
                              stdout=log, stderr=log, timeout=100)
    assert done.returncode == CANNOT_GO_ON
    assert last_words(tmp_path / "log").startswith(words)


def test_the_garbage_collector_looks_no_more_at_what_the_start_made() -> None:
    script = ("import gc; from almanac.library import forget_the_start; forget_the_start(); "
              "print(gc.get_freeze_count(), len(gc.get_objects()))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100,
                          check=True)
    frozen, looked_at = map(int, done.stdout.split())
    assert frozen > 100_000
    assert looked_at < 1000
