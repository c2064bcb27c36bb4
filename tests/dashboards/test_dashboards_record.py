"""The record behind a label: the stored passage with the excerpt marked, and what identifies it."""

from collections.abc import Callable
from typing import Any

import pytest
from stand_in import AFTER, BEFORE, EXCERPT, Api, Open, Read, Words, citation, excerpt
from streamlit.testing.v1 import AppTest

from dashboards.record import passage


@pytest.fixture
def record(api: Api, opened: Open) -> Callable[..., AppTest]:
    """``record(…)``: the screen after a click on "Show the record" of an excerpt that is cited so."""

    def show(**cited: Any) -> AppTest:
        api.finds(excerpt())
        api.cites(citation(**cited))
        return opened("search.py", q="lifts").button(key="record-K1").click().run()

    return show


def test_the_excerpt_is_marked_in_what_stands_around_it(record: Callable[..., AppTest], words: Read) -> None:
    said = words(record())
    assert said.marked == EXCERPT
    assert BEFORE + EXCERPT + AFTER in said.text


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("", "at the very beginning", " of a version"),
        ("to the end ", "of a version", ""),
        ("the same words, ", "the same words", ", the same words"),
        ("\N{ROCKET}\N{ROCKET} ", "\N{ROCKET} counts as one character", " \N{ROCKET}"),
        ("a < b & ", "<mark>c</mark> &amp; d", " > e"),
        ("", " with blanks\n\n\tand lines ", ""),
    ],
)
def test_it_is_the_records_own_start_and_end_that_mark(
    before: str, text: str, after: str
) -> None:
    said = Words(passage(citation(before=before, text=text, after=after)))
    assert (said.text, said.marked) == (before + text + after, text)


def test_it_says_which_version_and_when_it_was_read(record: Callable[..., AppTest], words: Read) -> None:
    said = words(record()).lines
    for name, value in (
        ("Source", "Tower news"), ("Author", "A. Fitter"), ("Address", "https://tower.example/lifts"),
        ("Published", "11 Mar 2026"), ("Version", "number 2, characters 1,029 to 1,102"),
        ("SHA-256 of its text", "ab" * 32),
    ):
        assert f"{name}\n{value}" in said
    assert "Read\n14 Mar" in said


@pytest.mark.parametrize("changed", [True, False])
def test_a_page_that_has_changed_since_is_said_to(
    changed: bool, record: Callable[..., AppTest], words: Read
) -> None:
    assert ("has changed since" in words(record(changed=changed)).text) is changed


def test_a_record_that_is_gone_is_a_sentence(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt())
    app = opened("search.py", q="lifts").button(key="record-K1").click().run()
    assert "There is no such citation." in words(app).text
    assert EXCERPT in words(app).text
