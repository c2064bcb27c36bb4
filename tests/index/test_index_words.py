"""The product of a question's and a passage's vectors is BM25 but for the IDF; forms of a word are one."""

from collections.abc import Set
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.index.words import AVERAGE, K1, Sparse, passage, question, term_id

FILLER = " ".join(f"word{n}" for n in range(AVERAGE - 1))  # with one word more, a passage of usual length
texts = st.text(st.characters(codec="utf-8"), max_size=60)


def shared(asked: str, said: str) -> Set[int]:
    return {*question(asked).indices} & {*passage(said).indices}


def product(asked: str, said: str) -> float:
    weights = dict(zip(*passage(said), strict=True))
    return sum(value * weights.get(index, 0) for index, value in zip(*question(asked), strict=True))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("wing", "Wings"), ("computing", "It was computed."), ("What is the résumé?", "resume"),
        ("wifi", "a wi-fi network"), ("wi-fi", "WIFI"), ("CVE 2024 1234", "see CVE-2024-1234"),
        ("cve-2024-1234", "(CVE\u20112024\u20111234)"), ("C++", "written in C++."),
        ("kennedy", "Kennedy\u2019s"),
        ("京都", "東京都"), ("the who", "Who?"), ("to be or not to be", "To be, or not to be"),
    ],
)
def test_a_question_shares_a_word_with_what_says_it_in_another_form(asked: str, said: str) -> None:
    assert shared(asked, said)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("What is the wing of it?", "What the flow is, of which it was."), ("C++", "the C#"),
        ("", "anything"), ("E1234X", "E1235X"), ("university", "unit"), ("?", "!"),
    ],
)
def test_nothing_is_shared_but_words(asked: str, said: str) -> None:
    assert shared(asked, said) <= {term_id("c")}  # a letter is a word, too


def test_the_whole_of_what_is_written_together_tells_it_from_what_has_the_same_parts() -> None:
    assert product("CVE-2024-1234", "CVE-2024-1234 and CVE-2023-9999") > product(
        "CVE-2024-1234", "CVE-2023-1234 and CVE-2024-9999")


def test_of_a_passage_of_usual_length_a_word_weighs_1_and_more_of_it_weighs_less_each_time() -> None:
    said = [["flow"] * n + FILLER.split()[n - 1:] for n in (1, 2, 50)]
    once, twice, often = (product("flow", " ".join(each)) for each in said)
    assert once == pytest.approx(1)
    assert 0 < twice - once < once
    assert twice < often < K1 + 1


def test_a_word_of_a_short_passage_weighs_more() -> None:
    short, usual, long = (product("flow", f"flow {rest}") for rest in ("", FILLER, f"{FILLER} {FILLER}"))
    assert short > usual > long


def test_a_question_counts_a_word_as_often_as_it_says_it() -> None:
    passage = f"flow {FILLER}"
    assert product("flow over a flow", passage) == pytest.approx(2 * product("flow", passage))


def test_term_ids_stay_as_they_are_because_vectors_are_stored_with_them() -> None:
    assert [term_id(word) for word in ("flows", "flowing", "e1234x", "москва")] == [
        1388369520, 1388369520, 3963735910, 2869425579]


@given(texts)
def test_a_vector_has_rising_ids_of_32_bits_with_a_positive_weight_each(text: str) -> None:
    for vector in (passage(text), question(text)):
        assert isinstance(vector, Sparse)
        assert all(before < after for before, after in pairwise(vector.indices))
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert len(vector.indices) == len(vector.values)
        assert all(value > 0 for value in vector.values)


@given(texts)
def test_a_text_is_found_by_each_of_its_own_words(text: str) -> None:
    assert {*question(text).indices} == {*passage(text).indices}
