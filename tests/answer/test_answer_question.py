"""A question is checked once, and a refusal is one sentence that says what to do."""

from typing import Any

import pytest

from tasks.answer.question import Question


@pytest.mark.parametrize(
    ("wanted", "refusal"),
    [
        ({"query": ""}, "the query is empty: ask something"),
        ({"query": " \n\t\u3000"}, "the query is empty: ask something"),
        ({"query": "\0\ud800"}, "the query is empty: ask something"),
        ({"query": "x" * 10_001}, "the query has 10,001 characters: at most 10,000 are taken"),
        ({"query": "x", "previous": "y" * 10_001},
         "the previous message has 10,001 characters: at most 10,000 are taken"),
        ({"query": "x", "k": 0}, "k is 0: ask for 1 to 100 excerpts"),
        ({"query": "x", "k": -3}, "k is -3: ask for 1 to 100 excerpts"),
        ({"query": "x", "k": 101}, "k is 101: ask for 1 to 100 excerpts"),
        ({"query": "x", "budget_tokens": -1}, "budget_tokens is -1: give 0 or more, or leave it out"),
        ({"query": "x", "min_similarity": 1.1},
         "min_similarity is 1.1: give a number from 0 to 1, or leave it out"),
        ({"query": "x", "min_similarity": -0.1},
         "min_similarity is -0.1: give a number from 0 to 1, or leave it out"),
        ({"query": "x", "min_similarity": float("nan")},
         "min_similarity is nan: give a number from 0 to 1, or leave it out"),
        ({"query": "x", "scopes": ()}, "no scope is given: name at least one that the reader may read"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(wanted: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ValueError) as error:
        Question(**wanted)
    assert str(error.value) == refusal


@pytest.mark.parametrize(
    "wanted",
    [{"query": "x" * 10_000}, {"query": "?"}, {"query": "x", "k": 1}, {"query": "x", "k": 100},
     {"query": "x", "budget_tokens": 0}, {"query": "x", "min_similarity": 0},
     {"query": "x", "min_similarity": 1}],
)
def test_the_limits_themselves_may_be_asked(wanted: dict[str, Any]) -> None:
    assert Question(**wanted).query == wanted["query"]


def test_what_postgresql_cannot_store_is_taken_out() -> None:
    assert Question(" what is\0 a \ud800tern? ").query == "what is a tern?"


def test_a_follow_up_is_searched_for_alone_and_together_with_the_message_before() -> None:
    assert Question("why?", previous="who resigned?").searched == ("why?", "why?\nwho resigned?")
    assert Question("who resigned?", previous=" ").searched == ("who resigned?",)
