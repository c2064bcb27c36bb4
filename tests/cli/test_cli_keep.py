"""``almanac keep``: texts, addresses and files from the command line."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from household import Household
from small_library import SITE

pytestmark = pytest.mark.database

NOTE = "# The mole\n\nThe mole at Cape Verren was lengthened in 1931."


def test_a_text_is_kept_and_answers(almanac: Any) -> None:
    kept = almanac.json("keep", "--text", NOTE, "--title", "On the mole")
    assert (kept["outcome"], kept["created"], kept["state"]) == ("inserted", True, "indexed")
    found = almanac("search", "mole lengthened 1931")
    assert "On the mole" in found.out
    again = almanac("keep", "--text", NOTE)
    assert again.status == 0
    assert "unchanged" in again.out


def test_a_text_may_come_from_stdin(almanac: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(NOTE))
    assert almanac.json("keep", "--text", "-")["title"] == "The mole"


def test_a_file_is_uploaded_and_converted(almanac: Any, household: Household, tmp_path: Path) -> None:
    file = tmp_path / "quay.txt"
    file.write_text("The quay of Almaden\nIts cranes were sold in 1950.")
    kept = almanac.json("keep", "--file", str(file), "--about", "from the attic")
    assert (kept["outcome"], kept["state"], kept["file"]["state"]) == ("inserted", "indexed", "ready")
    assert almanac.json("keep", "--file", str(file))["outcome"] == "unchanged"


def test_what_is_at_an_address_is_kept(almanac: Any) -> None:
    kept = almanac.json("keep", "--uri", f"{SITE}/owls", "--preserve-source", "--expires-at", "2099-01-01")
    assert (kept["state"], kept["url"], kept["file"]["preserve"]) == ("indexed", f"{SITE}/owls", True)
    assert kept["expires_at"] == "2099-01-01T00:00:00+00:00"


@pytest.mark.parametrize(("words", "reason"), [
    ((), "nothing to keep"),
    (("--title", "x"), "nothing to keep"),
    (("--text", "x", "--expires-at", "tomorrow"), "“tomorrow” is no time"),
    (("--text", "x", "--preserve-source"), "give the uri"),
    (("--uri", "http://site.example/owls"), "Only https"),
    (("--text", "x", "--scope", "secret"), "may not write into “secret”"),
    (("--file", "nowhere.txt"), "nowhere.txt cannot be used"),
])
def test_what_cannot_be_kept_is_said_in_one_line(almanac: Any, words: tuple[str, ...], reason: str) -> None:
    said = almanac("keep", *words)
    assert said.status in {1, 2}
    assert reason in said.err
    assert said.err.count("\n") == 1
