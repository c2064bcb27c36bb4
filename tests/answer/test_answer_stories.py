"""A story label: excerpts of different sources about one event, and nothing else."""

import csv
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from tasks.answer.about import About
from tasks.answer.candidates import Candidate
from tasks.answer.origin import Origin
from tasks.answer.stories import label, named

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
BERGEN = About(entities=("Tern Line", "Bergen"))


def report(cosine: float = 1.0, days_old: float | None = 0, *, source: UUID | None = None,
           about: About = BERGEN,
           kind: str = "feed", content_type: str | None = "news", title: str = "A title", text: str = "",
           document: UUID | None = None) -> Candidate:
    """``cosine`` to the report of which it is 1."""
    vector = np.array([cosine, np.sqrt(1 - cosine**2)], dtype=np.float32)
    published = NOW - timedelta(days=days_old) if days_old is not None else None
    origin = Origin(title, "https://a.example/", "A", None, published, NOW, "hash", 0, len(text))
    return Candidate(0.5, uuid4(), uuid4(), document or uuid4(), text, [], origin, kind, 0.5, NOW, None,
                     source_id=source or uuid4(), vector=vector, about=about, content_type=content_type)


@pytest.mark.parametrize(
    ("other", "together"),
    [
        (report(0.60), True),  # two names in common
        (report(0.50), False),  # too far in meaning
        (report(0.60, about=About(entities=("Bergen",))), False),  # one name is not enough for that
        (report(0.70, about=About(entities=("Bergen",))), True),
        (report(0.90, about=About(entities=("Patras",))), False),  # the same in another place
        (report(0.80, about=About()), True),  # names nobody, and says nearly the same
        (report(0.70, about=About()), False),
        (report(0.95, 8), False),  # a week and a day before
        (report(0.60, 6), True),  # a correction, days later
        (report(0.95, content_type="reference"), False),  # what always holds is no event
        (report(0.95, None, kind="page", content_type=None), False),  # nor a page without a date
        (report(0.95, kind="page", content_type=None), True),
    ],
)
def test_one_event_is_told_by_meaning_names_and_time(other: Candidate, together: bool) -> None:
    expected = ["S1", "S1"] if together else [None, None]
    assert label([report(), other]) == label([other, report()]) == expected


def test_one_source_alone_tells_no_story() -> None:
    source = uuid4()
    assert label([report(source=source), report(0.9, source=source)]) == [None, None]
    assert label([report(source=source), report(0.9, source=source), report(0.8)]) == ["S1"] * 3


def test_stories_are_numbered_by_their_best_excerpt() -> None:
    owls = About(entities=("Barn Owl", "Hule"))
    assert label([report(0.0, about=owls), report(), report(0.2, about=About(entities=("Riga", "Ada"))),
                  report(0.9), report(0.05, about=owls)]) == ["S1", "S2", None, "S2", "S1"]
    assert label([]) == []


def test_two_excerpts_of_one_document_are_of_one_story() -> None:
    document, source = uuid4(), uuid4()
    first = report(document=document, source=source)
    assert label([first, report(0.1, document=document, source=source), report(0.9)]) == ["S1"] * 3


def test_without_an_analysis_names_are_what_has_a_capital_inside_a_sentence() -> None:
    found = report(about=About(), title="Crews of the Tern Line stop",
                   text="They did so on Monday in Bergen. Nobody knows for how long.")
    assert named(found) == {"tern line", "bergen"}


@pytest.mark.model
def test_on_our_own_reports_pairs_are_found_as_well_as_is_said() -> None:
    from tasks.embed.minilm import MiniLM

    with (Path(__file__).parent / "stories.csv").open(newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file, delimiter="\t"))
    vectors = MiniLM().embed([f"{row['title']}\n{row['text']}" for row in rows])
    told = [report(days_old=-int(row["days"]), about=About(), content_type=None, title=row["title"],
                   text=row["text"])._replace(vector=vector)
            for row, vector in zip(rows, vectors, strict=True)]
    pairs = set(combinations(range(len(rows)), 2))
    labels = label(told)
    found = {(one, other) for one, other in pairs if labels[one] and labels[one] == labels[other]}
    right = {(one, other) for one, other in pairs if rows[one]["event"] == rows[other]["event"]}
    precision, recall = len(found & right) / len(found), len(found & right) / len(right)
    assert min(precision, recall) >= 0.88
