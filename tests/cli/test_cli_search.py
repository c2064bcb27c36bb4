"""``almanac search``: an answer for people and for programs."""

from typing import Any

import pytest
from small_library import FEED, SITE

from almanac.cli.search import excerpt_text

pytestmark = pytest.mark.database


@pytest.fixture
def served(shared_served: int) -> int:
    return shared_served


@pytest.fixture
def source(almanac: Any) -> None:
    """The site's feed is in the library."""
    if not almanac.json("source", "list")["sources"]:
        almanac.json("source", "add", FEED)


def test_search_shows_ranked_excerpts_with_their_origin(almanac: Any, source: None) -> None:
    said = almanac("search", "forty nests of the barn owl", "-k", "1")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("K1  A census of barn owls\n")
    assert all(told in said.out for told in ("Site", "undated", "score 0.", f"{SITE}/owls", "Forty nests"))
    assert "similarity" not in said.out
    assert "similarity" in almanac("search", "forty nests of the barn owl", "--explain").out


def test_search_prints_for_programs_what_the_api_says(almanac: Any, source: None) -> None:
    found = almanac.json("search", "forty nests of the barn owl")
    assert {"retrieval_id", "excerpts", "dropped", "prompt", "elapsed_ms"} <= set(found)


def test_nothing_relevant_is_an_answer(almanac: Any, source: None) -> None:
    said = almanac("search", "zxqv frobnicate wibble")
    assert (said.status, said.err) == (0, "")
    assert "nothing relevant" in said.out.lower()


def test_several_words_are_one_query(almanac: Any, source: None) -> None:
    words = "forty", "nests", "of", "the", "barn", "owl"
    apart, together = (almanac.json("search", *query, "-k", "1") for query in (words, [" ".join(words)]))
    assert apart["excerpts"][0]["score"]["similarity"] == together["excerpts"][0]["score"]["similarity"]


def test_words_that_are_no_text_are_searched_for_without_harm(almanac: Any, source: None) -> None:
    assert almanac("search", "owls \udcff").status == 0


def test_an_excerpt_whose_address_fails_says_since_when() -> None:
    found = {"label": "K1", "text": "Forty nests.", "score": {"total": 0.5}, "citation": {
        "title": "Owls", "source": "Site", "published_at": None, "url": f"{SITE}/owls",
        "failing_since": "2026-05-18T12:00:00+00:00"}}
    lines = excerpt_text(found, explain=False).splitlines()
    assert lines[3] == "    its address has failed since 2026-05-18 12:00 UTC"
    found["citation"] |= {"failing_since": None}
    assert "fail" not in excerpt_text(found, explain=False)
