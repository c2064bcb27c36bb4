"""Bad input: one line on stderr that says what to do, and the exit status of the contract."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_library import FEED, SITE

from almanac.stack.processes import own_identity
from almanac.stack.state import PartState, Phase, StackState, write_state

FAILED, USAGE = 1, 2
UNKNOWN = "ffffffff-ffff-4fff-8fff-ffffffffffff"

FOUND_HERE = [
    # words, what the line says; found without anything running
    ([], "missing command"),
    (["frobnicate"], "frobnicate"),
    (["source"], "missing command"),
    (["source", "frobnicate"], "frobnicate"),
    (["source", "list", "--frobnicate"], "--frobnicate"),
    (["source", "list", "more"], "more"),
    (["source", "add"], "URL"),
    (["source", "add", "gopher://old.example/"], "gopher"),
    (["source", "add", "not a url"], "https://"),
    (["source", "add", ""], "https://"),
    (["source", "add", "https://user:secret@site.example/"], "user name or password"),
    (["source", "add", FEED, "--every", "soon"], "1h"),
    (["source", "add", FEED, "--every", "1s"], "1m"),
    (["source", "add", FEED, "--every", "99999999999h"], "366d at most"),
    (["source", "add", FEED, "--cron", "at noon"], "five fields"),
    (["source", "add", FEED, "--every", "1h", "--cron", "0 7 * * *"], "not both"),
    (["source", "add", FEED, "--weight", "3"], "weight"),
    (["source", "add", FEED, "--weight", "nan"], "weight"),
    (["source", "add", FEED, "--priority", "high"], "priority"),
    (["source", "add", FEED, "--limit", "0"], "limit"),
    (["source", "add", FEED, "--kind", "gopher"], "kind"),
    (["source", "add", FEED, "--kind", "atlas"], "no kind of source"),
    (["source", "add", FEED, "--mode", "some"], "mode"),
    (["source", "add", FEED, "--kind", "json"], "needs a map"),
    (["source", "add", FEED, "--kind", "json", "--map", "url"], "like url=link"),
    (["source", "add", FEED, "--kind", "json", "--map", "url=a..b"], "broken at “..b”"),
    (["source", "add", FEED, "--kind", "json", "--map", "url=a", "--map", "url=a"], "twice"),
    (["source", "add", FEED, "--kind", "json", "--map", "title=a"], "add url"),
    (["source", "add", FEED, "--map", "url=a"], "--kind json"),
    (["source", "poll"], "--due"),
    (["source", "poll", UNKNOWN, "--due"], "--due"),
    (["source", "show", "abc"], "4 or more characters"),
    (["source", "show", "no-id"], "almanac source list"),
    (["read", "ftp://site.example/a"], "ftp"),
    (["read"], "URL"),
    (["search", ""], "empty"),
    (["search", "  "], "empty"),
    (["search", "owls", "-k", "0"], "-k"),
    (["search", "owls", "-k", "many"], "-k"),
    (["document", "list", "--state", "lost"], "state"),
    (["document", "retry", "%00zz"], "id"),
    (["token", "add", " "], "name"),
]


@pytest.mark.parametrize(("words", "told"), FOUND_HERE, ids=str)
def test_wrong_usage_is_found_without_anything_running(alone: Any, words: list[str], told: str) -> None:
    said = alone(*words)
    assert (said.status, said.out) == (USAGE, "")
    assert told.lower() in said.err.lower()
    assert len(said.err.splitlines()) == 1
    assert "secret" not in said.err


@pytest.mark.parametrize("words", [
    ["source", "list"], ["search", "owls"], ["read", f"{SITE}/owls"], ["token", "list"], ["index", "verify"],
    ["document", "list"], ["source", "add", FEED],
], ids=" ".join)
def test_without_a_running_almanac_every_command_says_how_to_start_it(alone: Any, words: list[str]) -> None:
    said = alone(*words)
    assert (said.status, said.out) == (FAILED, "")
    assert said.err == "almanac: Almanac is not running: start it with `almanac up`\n"


@pytest.mark.parametrize("token", [b"", b"\xff\xfe", b"two words\nand lines", "caf\u00e9".encode()])
def test_a_token_that_is_none_is_like_no_token(alone: Any, home: Path, token: bytes) -> None:
    (home / "token").write_bytes(token)
    said = alone("source", "list")
    assert (said.status, said.err.count("\n")) == (FAILED, 1)
    assert "almanac up" in said.err


@pytest.mark.parametrize(("content", "fault"), [(None, "is missing"), (b"", "holds no token")])
@pytest.mark.parametrize("words", [["source", "list"], ["search", "owls"], ["status"]], ids=" ".join)
def test_a_token_that_a_running_almanac_has_lost_is_said_with_the_way_on(
    alone: Any, home: Path, runs_here: Callable[..., None], words: list[str], content: bytes | None,
    fault: str,
) -> None:
    runs_here(home, 1)
    if content is not None:
        (home / "token").write_bytes(content)
    said = alone(*words)
    assert said.status == FAILED
    assert (f"the file {home}/token {fault}: `almanac down`, then `almanac up` makes it again"
            in said.out + said.err)


def test_an_almanac_that_is_being_stopped_says_so(alone: Any, home: Path) -> None:
    (home / "run").mkdir()
    (home / "token").write_text("token")
    library = PartState("library", "library.log", 1, Phase.RUNNING, own_identity())
    write_state(home, StackState(own_identity(), ready=True, stopping=True, parts=[library]))
    said = alone("source", "list")
    assert (said.status, said.err) == (
        FAILED, "almanac: Almanac is stopping: start it again with `almanac up`\n")


def test_a_file_of_the_data_folder_that_cannot_be_used_is_named(alone: Any, home: Path) -> None:
    (home / "run" / "stack.json" / "x").mkdir(parents=True)
    said = alone("down")
    assert (said.status, said.err.count("\n")) == (FAILED, 1)
    assert f"{home}/run/stack.json cannot be used (" in said.err


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ALMANAC_API_PORT", "high", "ALMANAC_API_PORT"),
        ("ALMANAC_API_PORT", "70000", "ALMANAC_API_PORT"),
        ("ALMANAC_API_PORT", "8421", "ALMANAC_API_PORT and ALMANAC_DASHBOARD_PORT are both 8421"),
        ("ALMANAC_HOME", "/dev/null/here", "ALMANAC_HOME is wrong: /dev/null is a file"),
        ("KNOWLEDGE_MAX_ARTICLES_PER_HOUR", "0", "KNOWLEDGE_MAX_ARTICLES_PER_HOUR"),
        ("ALMANAC_HOSTS", "a", "ALMANAC_HOSTS is wrong: write a list as JSON"),
    ],
)
def test_a_wrong_setting_is_named(
    alone: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    for words in (["source", "list"], ["status"], ["down"]):
        said = alone(*words)
        assert (said.status, said.err.count("\n")) == (USAGE, 1)
        assert told in said.err


def test_an_error_is_one_document_too_when_json_is_asked_for(alone: Any) -> None:
    said = alone("search", "", "--json")
    assert (said.status, said.err.count("\n")) == (USAGE, 1)
    assert json.loads(said.out)["error"]["code"] == "wrong_usage"
    assert json.loads(alone("--json", "source", "list").out)["error"]["code"] == "not_running"
