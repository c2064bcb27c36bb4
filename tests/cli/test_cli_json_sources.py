"""``almanac source add --kind json``: shown before it is saved, where there is somebody to look."""

import json
from typing import Any

import pytest
from household import Household
from small_library import SITE
from typer import Abort

from almanac.cli import preview, source

pytestmark = pytest.mark.database
API = f"{SITE}/api"
ADD = ("source", "add", API, "--kind", "json", "--map", "items=found", "--map", "url=at", "--map", "title=t")


@pytest.fixture(autouse=True)
def found(household: Household) -> None:
    rows = [{"at": f"/{name}", "t": f"About \x1b[31m{name}"} for name in ("owls", "lighthouse", "a", "b")]
    household.library.fetcher.pages[API] = json.dumps({"found": rows})


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Somebody looks on and answers."""

    def answering(yes: bool | None) -> None:
        def confirm(*words: str, **more: Any) -> bool:
            if yes is None:
                raise Abort
            return yes

        monkeypatch.setattr(source, "someone_asked", lambda: True)
        monkeypatch.setattr(preview.typer, "confirm", confirm)

    return answering


def test_a_preview_shows_three_items_and_adds_nothing(almanac: Any) -> None:
    said = almanac(*ADD, "--preview")
    assert (said.status, said.err) == (0, "")
    assert said.out.count("About [31m") == 3
    assert "\x1b" not in said.out
    assert f"{SITE}/owls" in said.out
    assert "author        (none)" in said.out
    assert almanac.json("source", "list") == {"sources": []}


def test_a_preview_for_programs_is_one_document(almanac: Any) -> None:
    shown = almanac.json(*ADD, "--preview")
    assert (shown["kind"], shown["offered"], len(shown["items"])) == ("json", 4, 3)


def test_without_anybody_to_ask_it_is_added_with_one_look(almanac: Any, household: Household) -> None:
    added = almanac.json(*ADD)
    assert (added["kind"], added["map"]) == ("json", {"items": "found", "url": "at", "title": "t"})
    assert household.library.fetcher.asked.count(API) == 1
    shown = almanac("source", "show", added["id"]).out
    assert "items=found url=at title=t\n" in shown


@pytest.mark.parametrize("yes", [True, False])
def test_at_a_terminal_it_is_shown_first_and_asked_about(almanac: Any, at_a_terminal: Any, yes: bool) -> None:
    at_a_terminal(yes)
    said = almanac(*ADD, "--no-wait")
    assert said.status == 0
    assert f"{SITE}/lighthouse" in said.err
    assert len(almanac.json("source", "list")["sources"]) == int(yes)


def test_whoever_breaks_off_at_the_question_adds_nothing(almanac: Any, at_a_terminal: Any) -> None:
    at_a_terminal(None)
    said = almanac(*ADD)
    assert (said.status, said.out) == (1, "")
    assert said.err.endswith("almanac: broken off at the question: nothing was done\n")
    assert almanac.json("source", "list") == {"sources": []}


def test_one_who_wants_no_question_gets_none(almanac: Any, at_a_terminal: Any) -> None:
    at_a_terminal(None)
    assert almanac(*ADD, "--yes", "--no-wait").status == 0
    assert len(almanac.json("source", "list")["sources"]) == 1
