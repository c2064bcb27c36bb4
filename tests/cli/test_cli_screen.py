"""What the command line prints, whatever a page has put into its title."""

import sys

import pytest

from almanac.cli import without_json
from almanac.cli.screen import cut, facts, moment, plain, shortened, table


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[2J\x1b]0;owned\x07title", "[2J]0;ownedtitle"),  # clears the screen, names the window
        ("title\r\rforged", "titleforged"),
        ("abc\u202edcba", "abcdcba"),  # turns the reading direction round
        ("\u200bzero\ufeff width", "zero width"),
        ("c1 \x9b31m", "c1 31m"),
        ("\u0646\u06cc\u200c\u062e", "\u0646\u06cc\u200c\u062e"),  # a joiner that a Persian word needs
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
    ],
)
def test_text_of_a_page_commands_no_terminal(hostile: str, harmless: str) -> None:
    assert plain(hostile) == harmless


def test_a_cell_is_one_line_of_bounded_width() -> None:
    assert shortened("a title\nof two lines", 12) == "a title of …"
    assert shortened("short", 12) == "short"


@pytest.mark.parametrize(("terminal", "told"), [(True, "a title of …"), (False, "a title of two lines")])
def test_only_a_terminal_gets_less_than_the_whole(
    terminal: bool, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert cut("a title\nof two lines", 12) == told


def test_columns_are_aligned_and_nothing_is_a_sentence() -> None:
    rows = [("1", "a"), ("12345", None)]
    assert table(("ID", "NAME"), rows, "none").splitlines() == ["ID     NAME", "1      a", "12345"]
    assert table(("ID", "NAME"), [], "No sources yet.") == "No sources yet."


def test_facts_that_say_nothing_are_left_out() -> None:
    assert facts([("name", "A"), ("reason", ""), ("author", None), ("count", 0)]) == "name   A\ncount  0"


def test_a_time_is_told_to_the_minute_in_utc_as_reasons_tell_it() -> None:
    assert moment(None) == ""
    assert moment("2026-03-01T09:05:07+02:00") == "2026-03-01 07:05 UTC"


@pytest.mark.parametrize(
    ("typed", "kept", "json"),
    [
        (["source", "list", "--json"], ["source", "list"], True),
        (["source", "--json", "list"], ["source", "list"], True),
        (["search", "--json", "tides"], ["search", "tides"], True),
        (["search", "--", "--json"], ["search", "--", "--json"], False),
        (["search", "--json", "--", "--json"], ["search", "--", "--json"], True),
        (["source", "list"], ["source", "list"], False),
    ],
)
def test_json_may_stand_anywhere_but_after_two_dashes(typed: list[str], kept: list[str], json: bool) -> None:
    assert without_json(typed) == (kept, json)
