"""Copies fold into one excerpt that names them all; neighbours become one that is the version's own text."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.answer.alike import repeats
from tasks.answer.candidates import Candidate
from tasks.answer.choose import A_COPY, choose, join
from tasks.answer.origin import Origin
from tasks.answer.rank import Reader, rank

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
WIRE = ("The crews of the Tern Line walked out on Monday over pay, and forty of them stood at the gate of "
        "the ferry terminal until the evening, the union said.")
SAME = np.array([1.0, 0.0], dtype=np.float32)


def told(text: str, similarity: float = 0.5, *, title: str = "Strike", document: UUID | None = None,
         source: str = "The Tidings", **more: Any) -> Candidate:
    document = document or uuid4()
    origin = Origin(title, f"https://{source.split()[-1].lower()}.example/", source, None, NOW, NOW,
                    more.pop("content_hash", document.hex), more.pop("start", 0), more.pop("end", len(text)))
    version = more.pop("version", document)
    return Candidate(similarity, uuid4(), version, document, text, [], origin, "feed", 0.5, NOW, None,
                     **{"vector": SAME} | more)


@pytest.mark.parametrize(
    ("text", "folds"),
    [
        (WIRE, True),
        (WIRE + " More follows.", True),  # a footer
        ("BERGEN (Wire) - " + WIRE, True),  # a dateline
        (WIRE.replace("Monday", "Tuesday"), True),  # a word
        (WIRE.replace("forty", "four"), False),  # a figure: it may be the correction
        (WIRE.replace("forty", "40"), False),
        (WIRE.replace("walked out", "did not walk out"), False),
        (WIRE + " Correction: it was on Sunday.", False),
        (WIRE.split(",")[0] + ", but the owners offered more and the talks go on in the town hall.", False),
        ("Owls nest in the old tower of the church.", False),
    ],
)
def test_a_near_copy_has_nearly_the_same_words_and_the_same_figures(text: str, folds: bool) -> None:
    assert repeats(told(text), told(WIRE)) is folds


def test_copies_fold_into_the_best_which_says_where_the_others_stand() -> None:
    best, wire = told(WIRE, 0.9, source="The Tidings"), told(WIRE + " (Wire)", 0.8, source="The Herald")
    same, other = told(WIRE, 0.7, source="The Echo"), told("The owners offer talks.", 0.6, source="The Post")
    choice = choose(rank([best, wire, same, other], Reader(NOW)), 3)
    assert [entry.candidate.text for entry in choice.chosen] == [WIRE, "The owners offer talks."]
    assert [(place.source, place.url) for place in choice.chosen[0].candidate.also_at] == [
        ("The Herald", "https://herald.example/"), ("The Echo", "https://echo.example/")]
    assert [(entry.candidate.origin.source, why) for entry, why in choice.passed_over] == [
        ("The Herald", A_COPY), ("The Echo", A_COPY)]


def test_texts_of_another_meaning_are_not_even_compared() -> None:
    far = told(WIRE, 0.8, vector=np.array([0.0, 1.0], dtype=np.float32))
    assert len(choose(rank([told(WIRE + " x", 0.9), far], Reader(NOW)), 3).chosen) == 2


def chunks(text: str, *spans: tuple[int, int]) -> list[Candidate]:
    """Chunks of one version, each with what stands between it and the next."""
    document, version = uuid4(), uuid4()
    ends = [*(start for start, _ in spans[1:]), None]
    return [told(text[start:end], 0.9 - position / 100, document=document, version=version, position=position,
                 start=start, end=end, gap=text[end:following] if following is not None else None)
            for position, ((start, end), following) in enumerate(zip(spans, ends, strict=True))]


TEXT = "First sentence. Second sentence.\n\n# A heading\n\nThird sentence. Fourth 🐦 sentence."


@pytest.mark.parametrize(
    "spans", [((0, 15), (16, 32)), ((0, 32), (16, 62)), ((16, 32), (47, 80)), ((0, 15), (15, 32))],
    ids=["a space between", "overlapping", "a heading between", "touching"],
)
def test_neighbours_become_one_excerpt_that_is_the_versions_text(spans: Sequence[tuple[int, int]]) -> None:
    first, second = chunks(TEXT, *spans)
    for pair in ((first, second), (second, first)):
        whole = join(*pair)
        assert whole is not None
        assert whole.text == TEXT[whole.origin.start : whole.origin.end]
        assert (whole.origin.start, whole.origin.end) == (spans[0][0], spans[1][1])
        assert whole.chunk_id == pair[0].chunk_id


def test_what_does_not_follow_is_not_joined() -> None:
    first, second, third = chunks(TEXT, (0, 15), (16, 32), (34, 80))
    assert join(first, third) is None
    assert join(first, second._replace(version_id=uuid4())) is None
    assert join(first._replace(gap=None), second) is None  # what stands between is not known


def test_a_joined_excerpt_leaves_room_for_another() -> None:
    pair = chunks(TEXT, (0, 15), (16, 32))
    other = uuid4()
    apart = [told("One thing.", 0.5, document=other), told("Another thing.", 0.4, document=other, position=7)]
    choice = choose(rank([*pair, *apart], Reader(NOW)), 3)
    assert [entry.candidate.text for entry in choice.chosen] == ["First sentence. Second sentence.",
                                                                 "One thing.", "Another thing."]
    assert choice.passed_over == []


WORDS = ["ferry", "strike", "crew", "port", "owl", "nest", "talks", "pay", "gate", "union"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
pages = st.lists(texts, min_size=1, max_size=6)


@given(st.lists(pages, max_size=6), st.integers(1, 8), st.data())
def test_whatever_is_in_the_library_the_choice_keeps_its_rules(
    library: list[list[str]], k: int, data: st.DataObject
) -> None:
    found: list[Candidate] = []
    of_version: dict[UUID, str] = {}
    for page in library:
        text, starts = "\n\n".join(page), [0]
        for paragraph in page[:-1]:
            starts.append(starts[-1] + len(paragraph) + 2)
        made = chunks(text, *((start, start + len(words)) for start, words in zip(starts, page, strict=True)))
        found += [one._replace(similarity=data.draw(st.floats(0.3, 1))) for one in made]
        of_version[made[0].version_id] = text
    ranked = rank(found, Reader(NOW))
    choice = choose(ranked, k)
    chosen = [entry.candidate for entry in choice.chosen]
    assert len(chosen) <= k
    assert len({one.chunk_id for one in chosen}) == len(chosen)
    for version, text in of_version.items():
        ours = [one for one in chosen if one.version_id == version]
        assert len(ours) <= 2
        assert all(one.text == text[one.origin.start : one.origin.end] for one in ours)
    if len(chosen) < k:  # then nothing but copies and thirds was left
        assert not any(why.startswith("beyond") for _, why in choice.passed_over)
    scores = [entry.score.total for entry in choice.chosen]
    assert scores == sorted(scores, reverse=True)
