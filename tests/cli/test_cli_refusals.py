"""What the library refuses: one line on stderr, and the exit status of the contract."""

from pathlib import Path
from typing import Any

import pytest
from small_library import FEED, SITE

pytestmark = pytest.mark.database

FAILED, USAGE = 1, 2
UNKNOWN = "ffffffff-ffff-4fff-8fff-ffffffffffff"


@pytest.fixture
def served(shared_served: int) -> int:
    return shared_served


REFUSED = [
    (["source", "add", f"{SITE}/gone"], FAILED, "HTTP 410 Gone. Feeds can be read, and pages with text"),
    (["source", "add", FEED, "--name", "a\0b"], USAGE, "NUL"),
    (["source", "show", UNKNOWN], FAILED, "no such source"),
    (["source", "pause", UNKNOWN], FAILED, "no such source"),
    (["source", "poll", UNKNOWN], FAILED, "no such source"),
    (["source", "remove", "ffff"], FAILED, "begins with ffff"),
    (["document", "show", UNKNOWN], FAILED, "no such document"),
    (["document", "retry", "ffff"], FAILED, "begins with ffff"),
    (["document", "list", "--source", "ffff"], FAILED, "begins with ffff"),
    (["token", "revoke", UNKNOWN], FAILED, "no such token"),
    (["read", f"{SITE}/gone"], FAILED, "410"),
    (["search", "owls", "-k", "1000"], USAGE, "100"),
    (["search", "o" * 10_001], USAGE, "10,000"),
]


@pytest.mark.parametrize(("words", "status", "told"), REFUSED, ids=str)
def test_what_the_library_refuses_is_one_line(almanac: Any, words: list[str], status: int, told: str) -> None:
    said = almanac(*words)
    assert (said.status, said.out) == (status, "")
    assert told in said.err
    assert len(said.err.splitlines()) == 1


def test_a_wrong_token_is_said(almanac: Any, home: Path) -> None:
    (home / "token").write_text("wrong\n")
    said = almanac("source", "list")
    assert (said.status, said.err.count("\n")) == (FAILED, 1)
    assert "token" in said.err
