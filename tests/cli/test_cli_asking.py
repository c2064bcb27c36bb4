"""Asking a model, judging results and looking at one's interests, on the command line."""

import io
from typing import Any

import pytest
from small_library import FEED

pytestmark = pytest.mark.database

OWLS = "forty nests of the barn owl"


class Parrot:
    """A model that says always the same."""

    name = "parrot"

    def complete(self, messages: Any, schema: Any = None) -> str:
        return "Forty nests [K1], as many as in Rome [K7]."


@pytest.fixture
def source(almanac: Any) -> str:
    return str(almanac.json("source", "add", FEED)["id"])


def test_an_answer_comes_with_what_it_cites_and_what_is_wrong_with_it(
    almanac: Any, source: str, household: Any
) -> None:
    household.library.model = Parrot()
    said = almanac("ask", OWLS, "-k", "1")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("Forty nests [K1], as many as in Rome.\n\nK1  A census of barn owls\n")
    assert said.out.rstrip().endswith("Note: Labels that do not exist were taken out (K7).")
    assert almanac.json("ask", OWLS)["check"]["unknown"] == ["K7"]


def test_without_a_model_the_excerpts_come_with_an_honest_line(almanac: Any, source: str) -> None:
    said = almanac("ask", OWLS)
    assert said.out.startswith("No model is set, so these are the excerpts themselves")
    assert "Forty nests" in said.out
    assert almanac("ask", "zxqv frobnicate wibble").out.startswith("Nothing in the library is close enough")


def test_search_looks_only_where_it_is_told_to(almanac: Any, source: str) -> None:
    assert almanac.json("search", OWLS, "--source", source[:8], "--scope", "library")["excerpts"]
    for where in (["--until", "2001-01-01"], ["--type", "opinion"], ["--language", "xx"]):
        assert "Nothing that the filters let through" in almanac("search", OWLS, *where).out
    for where, words in ((["--since", "yesterday"], "write it like 2026-05-20"),
                         (["--source", "!"], "is no id"), (["--type", "rumour"], "there are news")):
        said = almanac("search", OWLS, *where)
        assert (said.status, said.out) == (2, "")
        assert words in said.err


def test_results_are_judged_one_after_the_other(
    almanac: Any, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("maybe\ng\n\n\n\n\n"))
    said = almanac("search", OWLS, "--judge")
    assert said.status == 0
    assert said.out == "Judged 1 of 1.\n"
    assert said.err.count("K1 good, bad, or Enter to skip? [g/b]") == 2  # “maybe” is none of them


def test_interests_are_listed_set_and_forgotten(almanac: Any) -> None:
    assert almanac("interest", "list").out == "No interests yet: they come from what you ask.\n"
    assert almanac("interest", "set", "Owls", "0.5").out == "owls counts 0.50 from now on\n"
    assert almanac.json("interest", "list")["interests"][0]["topic"] == "owls"
    assert almanac("interest", "forget", "owls").status == 0
    assert almanac("interest", "forget", "owls").status == 1
    assert almanac("interest", "set", "owls", "2").status == 2
    assert almanac("interest", "clear").out == "Forgot 0 interests\n"
