"""``almanac vault``: a key goes in by stdin and is seen nowhere."""

import io
import json
from typing import Any

import pytest
from household import Household
from provider import Provider

pytestmark = pytest.mark.database

KEY = "planted-TESTONLY-key-7Q4z"


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return give


def test_a_key_is_added_listed_changed_and_removed(almanac: Any, give: Any) -> None:
    assert almanac("vault", "list").out == "No keys.\n"
    give(f"{KEY}\n")
    said = almanac("vault", "add", "gemini")
    assert said.out.startswith("Sealed the global key …7Q4z of Google Gemini, model gemini-2.5-flash-lite (")
    give(f"{KEY}\n")
    choices = ["--url", "https://tide.example/v1", "--model", "tide-7b", "--priority", "9"]
    made = almanac.json("vault", "add", "tide", "--personal", *choices, "--tokens-per-day", "7")
    assert (made["owner"], made["priority"], made["limits"]["tokens_per_day"]) == ("personal", 9, 7)
    listed = almanac("vault", "list").out.splitlines()
    assert "tide-7b" in listed[1]
    assert "0 of 15 requests, 0 of 250,000 tokens  0 of 1,000 requests, 0 tokens" in listed[2]
    changed = almanac.json("vault", "set", made["id"][:8], "--off", "--tokens-per-day", "0")
    assert (changed["enabled"], changed["limits"]["tokens_per_day"]) == (False, None)
    give("another-key-of-0001")
    assert almanac.json("vault", "set", made["id"], "--key")["last_four"] == "0001"
    assert almanac("vault", "rotate").out == "A new master key is in place: 2 secrets were sealed anew\n"
    assert almanac("vault", "remove", made["id"][:8]).out == f"Removed {made['id'][:8]}\n"
    assert KEY not in json.dumps([almanac.json("vault", "list"), said.out, listed])
    assert almanac("vault", "asked").out == "Nothing has left.\n"


def test_what_cannot_be_is_one_line_without_the_key(almanac: Any, give: Any) -> None:
    give("")
    said = almanac("vault", "add", "gemini")
    assert (said.status, said.err) == (
        2, "almanac: there is no key on stdin: pipe it in, like `almanac vault add gemini < key.txt`\n")
    give(f"{KEY} {KEY}")
    said = almanac("vault", "add", "gemini")
    assert (said.status, said.err.count("\n"), KEY in said.err) == (2, 1, False)
    assert almanac("vault", "set", "abcdef01").status == 2
    assert "there is no key whose id begins with abcdef01" in almanac("vault", "remove", "abcdef01").err


def test_an_answer_from_outside_is_told_as_one(almanac: Any, give: Any) -> None:
    with Provider() as provider:
        give(KEY)
        almanac.json("vault", "add", "gemini", "--url", provider.url)
        stays = almanac("ask", "--no-outside", "capital", "of", "mongolia").out
        assert "Nothing in the library" in stays
        told = almanac("ask", "capital", "of", "mongolia").out
    assert told.startswith("Ulaanbaatar is the capital of Mongolia.")
    cited = "    Answers from external AI · Google Gemini (gemini-2.5-flash-lite)\n    almanac:external/"
    assert cited in told
    assert "It comes from an external AI (Google Gemini, gemini-2.5-flash-lite), not from your" in told
    assert "answered" in almanac("vault", "asked").out


def test_the_doctor_says_what_is_lost(almanac: Any, give: Any, household: Household) -> None:
    give(KEY)
    almanac.json("vault", "add", "gemini")
    (household.library.settings.home / "keys" / "master.key").unlink()
    said = almanac("doctor")
    assert said.status == 1
    assert "the master key is lost, and with it the key of Google Gemini …7Q4z" in said.out
    assert "its key cannot be opened" in almanac("vault", "list").out
