"""What goes wrong is a sentence with a way on, on any screen, and never a stack trace."""

from pathlib import Path

import pytest
from stand_in import TOKEN, Api, Open, Read, problem, source

from almanac.stack.state import state_file

SCREENS = [("today.py", {}), ("search.py", {"q": "lifts"}), ("freshness.py", {}), ("sources.py", {}),
           ("documents.py", {}), ("quality.py", {}), ("system.py", {})]
ASKED = ("POST /v1/retrieve", "GET /v1/sources/page", "GET /v1/today?days=1", "GET /v1/freshness",
         "GET /v1/sources/names", "GET /v1/quality/rates", "GET /v1/system")
everywhere = pytest.mark.parametrize(("file", "query"), SCREENS)


@everywhere
def test_an_almanac_that_does_not_run_is_to_be_started(
    file: str, query: dict[str, str], api: Api, home: Path, opened: Open, words: Read
) -> None:
    state_file(home).unlink()
    assert "start it with almanac up" in words(opened(file, **query)).text
    assert api.requests == []


@everywhere
def test_a_library_that_is_being_started_is_waited_for(
    file: str, query: dict[str, str], api: Api, opened: Open, words: Read
) -> None:
    api.close()
    assert "Almanac is starting: try again in some seconds" in words(opened(file, **query)).text


@everywhere
@pytest.mark.parametrize("token", ["", "caf\N{LATIN SMALL LETTER E WITH ACUTE}", None])
def test_a_token_that_a_running_almanac_has_lost_says_how_it_is_made_again(
    token: str | None, file: str, query: dict[str, str], api: Api, home: Path, opened: Open, words: Read
) -> None:
    (home / "token").unlink()
    if token is not None:
        (home / "token").write_text(token)
    assert "almanac down, then almanac up makes it again" in words(opened(file, **query)).text


@everywhere
def test_a_token_that_is_not_taken_says_how_to_mend_it(
    file: str, query: dict[str, str], api: Api, home: Path, opened: Open, words: Read
) -> None:
    (home / "token").write_text("the token of another data folder")
    said = words(opened(file, **query)).text
    assert "does not take this token" in said
    assert "almanac down and almanac up" in said


def test_a_token_that_has_been_mended_is_taken_at_the_next_try(
    api: Api, home: Path, opened: Open, words: Read
) -> None:
    api.lists(source())
    (home / "token").write_text("the token of another data folder")
    app = opened("sources.py")
    (home / "token").write_text(TOKEN)
    assert "Tower news" in words(app.button(key="try-again").click().run()).text


@everywhere
def test_a_problem_of_the_api_is_told_in_its_own_words(
    file: str, query: dict[str, str], api: Api, opened: Open, words: Read
) -> None:
    refusal = problem(422, "invalid_request", "Ask for less: `k` is <b>too large</b>.")
    api.answers |= dict.fromkeys(ASKED, refusal)
    said = words(opened(file, **query))
    assert "It cannot be done\nAsk for less: k is <b>too large</b>." in said.lines


@everywhere
def test_a_surprise_is_told_without_its_traceback_and_logged_with_it(
    file: str, query: dict[str, str], api: Api, opened: Open, words: Read, caplog: pytest.LogCaptureFixture
) -> None:
    api.answers |= {each: {} for each in ASKED}
    said = words(opened(file, **query)).text
    assert "This screen failed" in said
    assert "almanac status" in said
    assert "KeyError" not in said
    assert "KeyError" in caplog.text
