"""The score by arithmetic, and its properties over candidates of every kind."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.answer.candidates import Candidate
from tasks.answer.choose import A_COPY, A_THIRD, choose
from tasks.answer.origin import Origin
from tasks.answer.rank import WEIGHTS, Reader, explain, rank, score

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
READER = Reader(NOW)
IN_A_HURRY = Reader(NOW, weights=WEIGHTS.for_recent())


def candidate(similarity: float = 0.5, *, kind: str = "feed", weight: float = 0.5, days: float | None = None,
              seen_days: float = 0, used_hours: float | None = None, document: UUID | None = None,
              content_hash: str | None = None, text: str | None = None, **more: Any) -> Candidate:
    """``days`` since publication, ``seen_days`` since it was found, ``used_hours`` since it was last used."""
    chunk, document = uuid4(), document or uuid4()
    published = NOW - timedelta(days=days) if days is not None else None
    used = NOW - timedelta(hours=used_hours) if used_hours is not None else None
    origin = Origin("Title", "https://example.org/", "Source", None, published, NOW,
                    content_hash or document.hex, 0, 1)
    return Candidate(similarity, chunk, uuid4(), document, text or chunk.hex, [], origin, kind, weight,
                     NOW - timedelta(days=seen_days), used, **more)


@pytest.mark.parametrize(
    ("found", "usual", "recent"),
    [  # 0.6 similarity + 0.1 (recent: 0.2) freshness + 0.1 source - 0.05 used just now, fading in six hours
        (candidate(0.5, days=0, weight=0.5), 0.30 + 0.10 + 0.05, 0.30 + 0.20 + 0.05),
        (candidate(0.5, days=30, weight=0.5), 0.30 + 0.05 + 0.05, 0.30 + 0.10 + 0.05),
        (candidate(0.5, days=60, weight=1.0), 0.30 + 0.025 + 0.10, 0.30 + 0.05 + 0.10),
        (candidate(0.8, days=60, weight=0.0), 0.48 + 0.025, 0.48 + 0.05),
        (candidate(0.5, days=-9, weight=0.5), 0.30 + 0.10 + 0.05, 0.30 + 0.20 + 0.05),
        (candidate(0.5, seen_days=30, weight=0.5), 0.30 + 0.05 + 0.05, 0.30 + 0.10 + 0.05),
        (candidate(0.5, days=4000, kind="page", weight=0.5), 0.30 + 0.10 + 0.05, 0.30 + 0.20 + 0.05),
        (candidate(0.5, days=0, weight=0.5, used_hours=0), 0.45 - 0.05, 0.55 - 0.05),
        (candidate(0.5, days=0, weight=0.5, used_hours=3), 0.45 - 0.025, 0.55 - 0.025),
        (candidate(0.5, days=0, weight=0.5, used_hours=6), 0.45, 0.55),
        (candidate(0.0, days=90_000, weight=0.0, used_hours=0), 0.0, 0.0),
        (candidate(1.000001, days=0, weight=1.0), 0.8, 0.9),
    ],
    ids=["published now", "a half-life old", "two half-lives old", "more similar, of a source without weight",
         "dated in the future", "not dated: first seen counts", "a page does not age", "used just now",
         "used three hours ago", "used six hours ago", "never below 0", "rounded above 1"],
)
def test_a_score_is_the_sum_that_its_parts_give(found: Candidate, usual: float, recent: float) -> None:
    assert score(found, READER).total == pytest.approx(usual, abs=1e-6)
    assert score(found, IN_A_HURRY).total == pytest.approx(recent, abs=1e-6)


def test_the_explanation_is_the_sum_in_words() -> None:
    [ranked] = rank([candidate(0.5, days=15, weight=0.5, used_hours=3)], READER)
    assert explain(ranked, READER) == (
        "0.60 * similarity 0.5000 + 0.15 * topic 0.0000 + 0.10 * freshness 0.7071 + 0.10 * source 0.5000"
        " + 0.05 * interest 0.0000 - recently used 0.0250 = 0.3957; time-sensitive, published 15.0 days ago"
    )
    [undated] = rank([candidate(seen_days=2)], READER)
    assert explain(undated, READER).endswith("time-sensitive, not dated, first seen 2.0 days ago")


def test_the_same_candidates_come_in_the_same_order_however_they_are_offered() -> None:
    equals = [candidate(days=1) for _ in range(9)]
    assert rank(equals, READER) == rank(reversed(equals), READER)


anything = st.builds(
    candidate, st.floats(-1, 1.01), kind=st.sampled_from(["feed", "page", "url"]), weight=st.floats(0, 1),
    days=st.none() | st.floats(-100, 100_000), seen_days=st.floats(0, 1000),
    used_hours=st.none() | st.floats(-1, 100),
)


@given(anything, st.booleans())
def test_every_part_lies_between_0_and_1(found: Candidate, recent: bool) -> None:
    scored = score(found, IN_A_HURRY if recent else READER)
    assert all(0 <= part <= 1 for part in scored.to_json().values())
    assert scored.recently_used <= 0.05


@given(st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 5000), st.floats(0, 500), st.floats(0, 0.5),
       st.floats(0, 0.5), st.floats(0, 12), st.floats(0, 12))
def test_more_similar_fresher_weightier_or_longer_unused_never_scores_less(
    similarity: float, more: float, days: float, older: float, weight: float, weightier: float,
    hours: float, longer: float,
) -> None:
    base = candidate(similarity, days=days + older, weight=weight, used_hours=hours)
    for better in (
        candidate(similarity + more, days=days + older, weight=weight, used_hours=hours),
        candidate(similarity, days=days, weight=weight, used_hours=hours),
        candidate(similarity, days=days + older, weight=weight + weightier, used_hours=hours),
        candidate(similarity, days=days + older, weight=weight, used_hours=hours + longer),
    ):
        assert score(better, READER).total >= score(base, READER).total - 1e-12


documents = [UUID(int=n) for n in range(1, 6)]
libraries = st.lists(
    st.builds(candidate, st.floats(0.3, 1), document=st.sampled_from(documents),
              text=st.none() | st.sampled_from(["subscribe", "all rights reserved"])),
    max_size=25,
)


@given(libraries, st.integers(1, 10))
def test_a_choice_holds_at_most_k_two_a_document_and_no_text_twice(found: list[Candidate], k: int) -> None:
    ranked = rank(found, READER)
    choice = choose(ranked, k)
    chosen = [entry.candidate for entry in choice.chosen]
    by_document = [c.document_id for c in chosen]
    assert len(chosen) <= k
    assert all(by_document.count(document) <= 2 for document in documents)
    assert len({c.text for c in chosen}) == len(chosen)
    assert choice.chosen == [entry for entry in ranked if entry in choice.chosen]
    assert len(choice.chosen) + len(choice.passed_over) == len(ranked)


@given(libraries, st.integers(1, 10))
def test_a_second_excerpt_is_chosen_only_when_every_document_has_had_its_turn(
    found: list[Candidate], k: int
) -> None:
    choice = choose(rank(found, READER), k)
    chosen = [entry.candidate.document_id for entry in choice.chosen]
    left_out = {entry.candidate.document_id for entry, why in choice.passed_over if why.startswith("beyond")}
    if len(set(chosen)) < len(chosen):
        assert left_out <= set(chosen)
    if left_out:
        assert len(chosen) == k


def test_each_that_is_passed_over_says_why() -> None:
    long, copy, other = documents[:3]
    found = [
        candidate(0.9, document=long, content_hash="a"), candidate(0.8, document=long, content_hash="a"),
        candidate(0.7, document=long, content_hash="a"), candidate(0.6, document=copy, content_hash="a"),
        candidate(0.5, document=other, text="one"), candidate(0.4, text="one"), candidate(0.3),
    ]
    choice = choose(rank(found, READER), k=2)
    assert [entry.candidate.similarity for entry in choice.chosen] == [0.9, 0.5]
    assert [(entry.candidate.similarity, why) for entry, why in choice.passed_over] == [
        (0.8, "beyond the 2 asked for"), (0.7, A_THIRD), (0.6, A_COPY), (0.4, A_COPY),
        (0.3, "beyond the 2 asked for"),
    ]
