"""One similarity of what vectors and words say, its properties, and what passes below the minimum."""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.answer.fuse import COSINE, HALF, KIN, RARE, SPOKEN, Evidence, Fused, fuse, promising
from tasks.ports import Vectors

ASKED = "how do wings stall"  # two words that tell something
MINIMUM = 0.3


def axis(number: int) -> Vectors:
    return np.eye(64, dtype=np.float32)[number]


def passage(number: int, cosine: float = 0.5, words: float = 0.0, text: str = "", *,
            document: int | None = None, vector: Vectors | None = None) -> Evidence:
    """A passage of a document of its own that is like no other, unless said otherwise."""
    return Evidence(UUID(int=number), UUID(int=1000 + number if document is None else document), text,
                    axis(number) if vector is None else vector, cosine, words)


def found(question: str, *evidence: Evidence, minimum: float = MINIMUM) -> list[int]:
    return [each.id.int for each in fuse(question, evidence, minimum)]


def similarity(number: int, evidence: Sequence[Evidence]) -> float:
    return next(each.similarity for each in fuse(ASKED, evidence, -1) if each.id.int == number)


def test_a_passage_alone_has_the_weighted_sum_of_its_cosine_and_its_words() -> None:
    [alone] = fuse(ASKED, [passage(1, 0.6, 2**0.5 * HALF)], MINIMUM)
    assert alone == Fused(UUID(int=1), pytest.approx(COSINE * 0.6 + (1 - COSINE) / 2), 0.6, 0.5, False)


def test_bm25_counts_by_the_length_of_the_question_whatever_its_best_score_is() -> None:
    [short] = fuse("stall", [passage(1, 0.6, HALF)], MINIMUM)
    [long] = fuse("wings stall wings stall", [passage(1, 0.6, 2 * HALF)], MINIMUM)
    [weak] = fuse("wings stall wings stall", [passage(1, 0.6, 1.0)], MINIMUM)
    assert short.words == pytest.approx(0.5)
    assert long.words == pytest.approx(0.5)
    assert weak.words < 0.1


def test_words_and_vectors_each_decide_between_equals_of_the_other_kind() -> None:
    assert found(ASKED, passage(1, 0.5, 2), passage(2, 0.5, 6), passage(3, 0.6, 6)) == [3, 2, 1]


def test_what_resembles_the_best_of_other_documents_goes_before_what_stands_alone() -> None:
    near = (axis(2) + 0.2 * axis(3)) / np.linalg.norm(axis(2) + 0.2 * axis(3))
    library = passage(1, 0.50), passage(2, 0.80), passage(3, 0.49, vector=near)
    assert found(ASKED, *library) == [2, 3, 1]


def test_passages_of_one_document_do_not_lift_each_other() -> None:
    alike = [passage(n, cosine, document=7, vector=axis(1)) for n, cosine in ((1, 0.8), (2, 0.4))]
    assert [each.similarity for each in fuse(ASKED, alike, 0)] == pytest.approx([COSINE * 0.8, COSINE * 0.4])


def test_copies_do_not_lift_each_other() -> None:
    copies = [passage(n, 0.4, vector=axis(1)) for n in range(1, 9)]
    assert similarity(1, copies) == pytest.approx(similarity(1, copies[:1]))


def test_what_is_below_the_minimum_does_not_answer() -> None:
    assert found(ASKED, passage(1, 0.29), passage(2, 0.31), passage(3, 0.1, 9, "the wings of a bird")) == [2]
    assert found(ASKED, passage(1, 0.29)) == []
    assert found(ASKED) == []


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("CVE-2024-1234", "Fixed: CVE-2024-1234."), ("what is E1234X?", "It failed with e1234x"),
        ("which update broke max_bytes of the old parser in spring", "set MAX_BYTES first"),
        ("why can nobody in the office reach 10.0.0.1 by the new cable", "the printer (10.0.0.1)"),
        ("xylotheque", "of this Xylotheque's books"), ("xylotheque of padua", "a xylotheque in Padua"),
        ("Which pages mention Hohenstaufen?", "the Hohenstaufen"), ("C++", "in C++, mostly"),
        ("wi-fi", "no WiFi here"), ("東京都", "彼は東京都に住む"), ("Zürich", "in Zurich"),
    ],
)
def test_a_rare_word_that_is_asked_for_is_found_though_the_vector_is_far(question: str, text: str) -> None:
    [hit] = fuse(question, [passage(1, 0.05, 6.0, text)], MINIMUM)
    assert hit.exact
    assert hit.cosine == 0.05


def test_what_holds_a_code_goes_before_what_is_only_about_such_things() -> None:
    pages = [passage(n, 0.5, 6.0, "an error and what it means") for n in range(2, 9)]
    assert found("What does the error E1234X mean?", passage(1, 0.2, 8.0, "E1234X"), *pages)[0] == 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("E1234X", "E1234Y and XE1234X"), ("CVE-2024-1234", "CVE-2024-12345, CVE 1234-2024"),
        ("C++", "vitamin C, C#"), ("the best pasta for a dinner in Rome", "they met for dinner"),
        ("why?", "that is why"), ("tell me about it, please", "please tell"),
        ("what happened in 1963 to the price of rice", "in 1963"),
        ("the price of rice in the 1960s", "songs of the 1960s"),
    ],
)
def test_another_word_or_one_of_many_does_not_pass(question: str, text: str) -> None:
    assert fuse(question, [passage(1, 0.05, 6.0, text)], MINIMUM) == []


def test_a_word_that_many_passages_hold_is_not_rare() -> None:
    many = [passage(n, 0.1, 2.0, "the flow") for n in range(RARE + 1)]
    assert found("flow", *many) == []
    assert found("flow", *many[1:]) == [1, 2, 3, 4, 5]


def test_what_was_not_offered_by_its_words_does_not_pass_by_them() -> None:
    assert found("E1234X", passage(1, 0.05, 0.0, "E1234X")) == []


unit = st.integers(0, 63).map(axis)
evidences = st.lists(
    st.tuples(st.floats(-1, 1), st.floats(0, 60), st.integers(0, 9), st.sampled_from(range(12))),
    min_size=1, max_size=KIN + 10,
).map(lambda rows: [
    passage(n, cosine, words, document=document, vector=(axis(kind) + axis(12 + n % 40)) / np.float32(2**0.5))
    for n, (cosine, words, document, kind) in enumerate(rows)
])


@given(evidences)
def test_every_similarity_lies_between_0_and_1(evidence: list[Evidence]) -> None:
    assert all(0 <= each.similarity <= 1 for each in fuse(ASKED, evidence, -1))


@given(evidences, st.randoms())
def test_the_order_in_which_passages_come_changes_nothing(evidence: list[Evidence], random: object) -> None:
    shuffled = list(evidence)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fuse(ASKED, shuffled, MINIMUM) == fuse(ASKED, evidence, MINIMUM)


@given(evidences)
def test_the_minimum_takes_passages_out_and_changes_no_similarity(evidence: list[Evidence]) -> None:
    every = {each.id: each for each in fuse(ASKED, evidence, -1)}
    assert set(fuse(ASKED, evidence, MINIMUM)) == {each for each in every.values() if each.cosine >= MINIMUM}


@given(evidences, st.data())
def test_the_similarity_rises_with_each_part(evidence: list[Evidence], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(evidence) - 1))
    closer = evidence[at]._replace(cosine=data.draw(st.floats(evidence[at].cosine, 1)))
    better = evidence[at]._replace(words=data.draw(st.floats(evidence[at].words, 99)))
    before = similarity(at, evidence)
    for raised in (closer, better):
        after = similarity(at, [*evidence[:at], raised, *evidence[at + 1:]])
        assert after >= before - 1e-9


def worth(cosines: dict[int, float], words: dict[int, float], most: int) -> list[int]:
    near, said = ({UUID(int=number): value for number, value in each.items()} for each in (cosines, words))
    return [each.int for each in promising(ASKED, near, said, most)]


def test_what_is_near_and_says_the_words_is_looked_at_before_what_is_only_near() -> None:
    assert worth({1: 0.5, 2: 0.5, 3: 0.4}, {2: 9.0}, 2) == [2, 1]


def test_what_only_says_the_words_is_taken_to_be_as_near_as_the_last_that_is_near() -> None:
    alone = dict.fromkeys(range(100, 100 + SPOKEN), 1.0)
    assert worth({1: 0.9, 2: 0.4}, alone | {50: 0.5}, SPOKEN + 3)[SPOKEN:] == [1, 50, 2]


def test_the_best_by_their_words_are_looked_at_however_far_they_are() -> None:
    near = dict.fromkeys(range(200), 0.9)
    assert 999 in worth(near, {999: 0.1}, 50)
    assert len(worth(near, {999: 0.1}, 50)) == 50


def test_nothing_offered_is_nothing_to_look_at() -> None:
    assert worth({}, {}, 10) == []
