"""What came lately: counted once and in its place, by story, against its history, and as it ages."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from models.states import DocumentState
from models.tables import Document, DocumentVersion, Source
from tasks.answer.ageing import ageing, life
from tasks.answer.happenings import happenings
from tasks.answer.today import STEPS, today
from tasks.answer.trends import DAYS, Term, rising, trends

pytestmark = pytest.mark.database

MINE = ["library"]
DAY = timedelta(days=1)


@pytest.fixture
def now() -> datetime:
    return datetime.fromisoformat("2026-05-20T12:00:00+00:00")


def arrive(library: Any, source: Source, text: str, at: datetime, **values: Any) -> Document:
    """A document that answers since some time."""
    document: Document = library.document(source, text, **values)
    answers(library, document, at)
    return document


def answers(library: Any, document: Document, at: datetime) -> None:
    """What was said last of it answers since then."""
    with library.db.begin() as session:
        newest = session.query(DocumentVersion).filter_by(document_id=document.id).order_by(
            DocumentVersion.number.desc()).first()
        newest.indexed_at = at


def test_what_arrived_changed_and_failed_is_counted_by_source_and_over_time(
    library: Any, now: datetime
) -> None:
    times = library.source("Times")
    post = library.source("Post", failures=3, health="the server answered 503")
    arrive(library, times, "one", now - DAY / 48)
    changed = arrive(library, times, "two", now - 3 * DAY)
    library.say(changed, "two and a half")
    answers(library, changed, now - DAY / 2)
    arrive(library, post, "before", now - 2 * DAY)
    for text in ("three", "four"):
        library.change(arrive(library, post, text, now - 9 * DAY), state=DocumentState.WAITING,
                       failing_since=now - DAY / 4, reason="the server answered 503")
    library.change(arrive(library, post, "five", now - 9 * DAY), state=DocumentState.QUARANTINED)
    told = today(library.db, MINE, now - DAY, now)
    assert told["counts"] == {"arrived": 1, "changed": 1, "failed": 2}
    assert [(it["source"], it["arrived"], it["changed"], it["failed"]) for it in told["sources"]] == [
        ("Times", 1, 1, 0), ("Post", 0, 0, 2)]
    assert len(told["steps"]) == STEPS
    assert told["steps"][-1] == {"arrived": 1, "changed": 0}
    assert told["steps"][STEPS // 2]["changed"] == 1
    assert [(it["document_id"], it["version"]) for it in told["changes"]] == [(str(changed.id), 2)]
    assert [(it["reason"], it["documents"]) for it in told["failures"]] == [("the server answered 503", 2)]
    assert [(it["source"], it["failures"]) for it in told["failing"]] == [("Post", 3)]
    assert told["quarantined"] == 1


def test_what_is_removed_or_not_the_readers_did_not_come(library: Any, now: datetime) -> None:
    gone = library.source("Gone", removed_at=now)
    library.change(arrive(library, gone, "one", now - DAY / 4), state=DocumentState.REMOVED)
    arrive(library, library.source("Hers", scopes=["ada"]), "two", now - DAY / 4)
    library.change(arrive(library, library.source(), "three", now - DAY / 4), state=DocumentState.REMOVED)
    told = today(library.db, MINE, now - DAY, now)
    assert told["counts"] == {"arrived": 0, "changed": 0, "failed": 0}
    assert happenings(library.db, "words", MINE, now - DAY)["documents"] == 0
    assert trends(library.db, MINE, DAY, now)["documents"] == [0] * (DAYS + 1)
    assert ageing(library.db, MINE, now)["documents"] == []


def test_what_several_sources_tell_of_one_event_is_a_story_in_the_order_of_its_telling(
    library: Any, now: datetime
) -> None:
    said = "ferry crews of Tern Line walk out in Bergen harbour over night shifts"
    papers = [library.source(name) for name in ("Times", "Post", "Herald")]
    names = {"entities": ["Tern Line", "Bergen"]}
    for n, paper in enumerate(papers):
        document = arrive(library, paper, f"{said} {n}", now - DAY / 4, title=f"Told {n}", days_old=1 - n / 4)
        library.analyse(document, "news", **names)
    library.analyse(arrive(library, papers[0], "owls counted in valley barns", now - DAY / 8, title="Owls",
                           days_old=0), "news", entities=["Owl Trust"])
    told = happenings(library.db, library.embedder.name, MINE, now - DAY)
    [story] = told["stories"]
    assert (story["sources"], story["told"]) == (3, 3)
    assert [it["title"] for it in story["documents"]] == ["Told 0", "Told 1", "Told 2"]
    assert [it["title"] for it in told["others"]] == ["Owls"]
    assert told["documents"] == 4


def test_what_rises_does_so_against_its_own_history(library: Any, now: datetime) -> None:
    source = library.source()

    def arrived(at: datetime, topic: str, count: int) -> None:
        for n in range(count):
            library.analyse(arrive(library, source, f"{topic} {at} {n}", at), topics=[topic])

    for days in range(1, 4):
        arrived(now - days * DAY - DAY / 2, "Owls", 4)
    arrived(now - DAY / 2, "owls", 4)
    arrived(now - DAY / 2, "Strikes", 12)
    told = trends(library.db, MINE, DAY, now)
    assert [(it["term"], it["documents"], it["expected"]) for it in told["topics"]] == [("Strikes", 12, 0.0)]
    assert told["topics"][0]["history"] == [0, 0, 0, 0, 0, 0, 12]
    assert told["documents"] == [0, 0, 0, 4, 4, 4, 16]
    assert told["known"] == 3
    assert told["entities"] == []


@pytest.mark.parametrize(
    ("counts", "totals", "rises"),
    [
        ((0, 0, 0, 9), (10, 10, 10, 30), True),
        ((3, 3, 3, 9), (10, 10, 10, 30), False),  # three times as much arrived of everything
        ((0, 0, 0, 2), (10, 10, 10, 10), False),  # too few to say
        ((1, 0, 2, 8), (10, 10, 10, 10), True),
        ((6, 7, 6, 8), (10, 10, 10, 10), False),
        ((9, 9, 9, 3), (10, 10, 10, 10), False),
    ],
)
def test_a_term_rises_by_its_share_of_what_arrives(
    counts: tuple[int, ...], totals: tuple[int, ...], rises: bool
) -> None:
    assert bool(rising([Term("topic", "owls", counts)], totals)) is rises


def test_a_document_stands_on_the_curve_of_its_type(library: Any, now: datetime) -> None:
    feed = library.source()
    news = library.analyse(arrive(library, feed, "one", now - 3 * DAY, title="News", days_old=3), "news")
    arrive(library, feed, "two", now - DAY, title="Undated")
    told = ageing(library.db, MINE, now)
    assert told["half_lives"]["news"] == 3
    assert told["half_lives"]["reference"] is None
    assert told["counts"] == {"news": 1}
    placed = {it["title"]: it for it in told["documents"]}
    assert placed["News"] | {"document_id": str(news.id), "type": "news", "age": 3.0, "freshness": 0.5,
                             "is_published": True} == placed["News"]
    assert (placed["Undated"]["type"], placed["Undated"]["is_published"]) == ("time_sensitive", False)
    assert len(told["documents"]) == 2


def test_a_documents_scores_are_told_as_they_were_and_will_be(library: Any, now: datetime) -> None:
    asked = "harbour ferry strike crew wages talks"
    document = arrive(library, library.source(), asked, now, title="Strike", days_old=3)
    library.analyse(document, "news")
    found = library.ask(asked, now=now)
    told = life(library.db, document.id, MINE, now + 3 * DAY)
    assert told is not None
    assert (told["age"], told["freshness"], told["half_life"], told["weight"]) == (6.0, 0.25, 3.0, 0.1)
    assert told["ahead"][1] == {"days": 3.0, "freshness": 0.125}
    [one] = told["asked"]
    assert (one["query"], one["used"], one["age"]) == (asked, True, 3.0)
    assert one["score"]["total"] == pytest.approx(found.excerpts[0].score.total, abs=1e-4)
    assert one["now"] == pytest.approx(one["score"]["total"] - 0.1 * (0.5 - 0.25), abs=1e-4)
    assert life(library.db, document.id, ["ada"], now) is None
