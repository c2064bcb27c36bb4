"""What a document is about, against what is asked and what the reader is interested in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.answer.about import About, alignment, asked_words, interest, named, words

STRIKE = About(("transport", "labour"), ("Tern Line", "Ada Holm"), ("ferry strike", "wages", "harbours"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the latest on the ferry strike?", {"ferry", "strike"}),
        ("ferries, Ferry's FERRIES", {"ferry"}),
        ("the crews\u2019 wages", {"crew", "wage"}),
        ("analysis of the gas bus", {"analysis", "gas", "bus"}),
        ("in 5 of 42 Bergen homes", {"5", "42", "bergen", "home"}),
        ("why?", set()),
        ("港湾 スト", {"港湾", "スト"}),
    ],
)
def test_words_that_say_what_a_text_is_about(text: str, expected: set[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ferry strike", 1.0),  # both are keywords
        ("wages of the Tern Line", 1.0),  # a keyword and an entity
        ("harbour fees", 0.5),  # one of two
        ("ferry strike in Oslo harbour", 0.75),
        ("barn owls", 0.0),
        ("why?", 0.0),  # asks about nothing by itself
    ],
)
def test_alignment_is_the_share_of_the_question_that_the_analysis_names(query: str, expected: float) -> None:
    assert alignment(asked_words(query, None), STRIKE) == pytest.approx(expected)


def test_a_follow_up_without_words_of_its_own_is_about_what_it_follows() -> None:
    assert asked_words("why?", "who called the ferry strike?") == {"called", "ferry", "strike"}
    assert asked_words("and the wages?", "who called the ferry strike?") == {"wage"}


def test_interest_is_the_strongest_that_the_document_is_about() -> None:
    profile = {"tern line": 0.3, "wages": 0.8, "owls": 1.0}
    assert interest(profile, STRIKE) == 0.8
    assert interest(profile, About()) == interest({}, STRIKE) == 0.0


def test_a_page_gains_nothing_by_listing_many_keywords() -> None:
    stuffed = About(keywords=(*(f"wages {n}" for n in range(500)), "wages"))
    assert interest({"wages": 0.4}, stuffed) == 0.4
    assert alignment(asked_words("ferry wages", None), stuffed) == 0.5


def test_asking_tells_of_interest_in_what_it_names_in_full_and_in_its_topics() -> None:
    asked = asked_words("Is the ferry strike over?", None)
    assert named(asked, [STRIKE]) == ["ferry strike", "transport", "labour"]
    assert named(asked_words("line of wages", None), [STRIKE]) == ["wages", "transport", "labour"]
    assert named(asked_words("barn owls", None), [STRIKE, About()]) == []


terms = st.lists(st.text(max_size=12), max_size=5).map(tuple)
abouts = st.builds(About, terms, terms, terms)
profiles = st.dictionaries(st.text(max_size=12), st.floats(0, 1), max_size=5)


@given(st.text(max_size=60), abouts, profiles, terms)
def test_both_stay_between_0_and_1_and_never_fall_with_more_terms(
    query: str, about: About, profile: dict[str, float], more: tuple[str, ...]
) -> None:
    asked, richer = asked_words(query, None), about._replace(keywords=(*about.keywords, *more))
    assert 0 <= alignment(asked, about) <= alignment(asked, richer) <= 1
    assert 0 <= interest(profile, about) <= interest(profile, richer) <= 1
