"""What belongs to a reader: filters, interests, judgments; and that none of it costs a trip more."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import event

from models.tables import Interest, UsageEvent
from tasks.answer import interests, judge
from tasks.answer.tuning import Tuning

pytestmark = pytest.mark.database

NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)
ASKED = "harbour ferry strike crew wages talks port union owners offer"
TURNED = " ".join(reversed(ASKED.split()))  # as near, and no copy
MINE = ["library"]


def titles(found: Any) -> list[str]:
    return sorted(excerpt.origin.title for excerpt in found.excerpts)


@pytest.fixture
def filed(library: Any) -> tuple[Any, Any]:
    """Three documents that differ in everything that can be filtered by; the index knows no filters."""
    feed, page = library.source("Feed"), library.source("Page")
    library.analyse(library.document(feed, ASKED, title="new", days_old=1), "news", "en")
    library.analyse(library.document(feed, TURNED, title="old", days_old=400), "opinion", "de")
    library.document(page, f"{TURNED[20:]} {TURNED[:19]}", title="undated")
    return library, feed


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["new", "old", "undated"]),
        ({"since": date(2026, 5, 1)}, ["new"]),
        ({"until": date(2026, 5, 1)}, ["old"]),
        ({"since": date(2026, 5, 19), "until": date(2026, 5, 19)}, ["new"]),  # noon of that day
        ({"until": datetime(2026, 5, 19, 12)}, ["old"]),  # before then
        ({"since": datetime(2026, 5, 19, 12, tzinfo=UTC)}, ["new"]),
        ({"content_types": ("opinion",)}, ["old"]),
        ({"content_types": ("opinion", "news")}, ["new", "old"]),
        ({"languages": ("en",)}, ["new"]),
        ({"content_types": ("opinion",), "languages": ("en",)}, []),
        ({"sources": (uuid4(),)}, []),
    ],
)
def test_what_the_index_offers_is_held_to_the_filters_once_more(
    filed: tuple[Any, Any], wanted: dict[str, Any], expected: list[str]
) -> None:
    library, _ = filed
    found = library.ask(ASKED, **wanted)
    assert titles(found) == expected
    if not expected:
        assert found.nothing == ("Nothing that the filters let through is close enough to the question: none "
                                 "is 0.30 similar or more.")


def test_a_filter_by_source_is_filled_up_from_behind_what_it_keeps_out(library: Any) -> None:
    wanted, other = library.source("Wanted"), library.source("Other")
    for n in range(80):
        library.document(other, f"{ASKED} {n}", title=f"other {n}")
    library.document(wanted, " ".join(ASKED.split()[:5]), title="wanted")
    assert titles(library.ask(ASKED, sources=(wanted.id,))) == ["wanted"]
    assert library.ask(ASKED, sources=(wanted.id,), min_similarity=0.8).nothing  # no filter lowers it


def test_a_rare_word_is_found_though_its_vector_is_far(fused_library: Any) -> None:
    library, source = fused_library, fused_library.source()
    for n in range(6):
        library.document(source, f"ferry crews talk about pay and hours in round {n}", title=f"talk {n}")
    library.document(source, "form XK-4471B is for the return of deposits and of keys and of parking cards "
                             "at the end of a lease that was made in writing before the reform", title="form")
    found = library.ask("what is XK-4471B for?")
    assert titles(found) == ["form"]
    assert library.ask("terraforming on Mars?").nothing


def test_asking_strengthens_interests_and_time_fades_them(library: Any) -> None:
    strike = library.document(library.source(), ASKED, title="strike")
    library.analyse(strike, topics=["labour"], keywords=["ferry strike", "tides"], entities=["Tern Line"])
    assert library.ask(ASKED).excerpts[0].score.interest == 0
    assert [(it["topic"], it["strength"]) for it in interests.listed(library.db, MINE, NOON)] == [
        ("ferry strike", 0.2), ("labour", 0.2)]  # what was named in full, and its topic
    again = library.ask(ASKED)
    assert again.excerpts[0].score.interest == pytest.approx(0.2)
    assert interests.listed(library.db, MINE, NOON)[0]["strength"] == pytest.approx(0.36)
    later = NOON + timedelta(days=30)
    assert interests.listed(library.db, MINE, later)[0]["strength"] == pytest.approx(0.18)
    assert library.ask(ASKED, now=later, scopes=("ada", "library")).excerpts[0].score.interest == 0
    assert interests.listed(library.db, MINE, NOON + timedelta(days=300)) == []
    assert interests.erase_faded(library.db, NOON) == 0
    assert interests.erase_faded(library.db, NOON + timedelta(days=300)) == 4  # Ada's, too


def test_an_interest_is_what_its_owner_says(library: Any) -> None:
    strike = library.document(library.source(), ASKED, title="strike")
    library.analyse(strike, topics=["labour"], keywords=["ferry strike"])
    interests.keep(library.db, MINE, " Ferry  STRIKE ", 0.0, NOON)
    interests.keep(library.db, MINE, "labour", 0.9, NOON)
    later = NOON + timedelta(days=3000)
    assert library.ask(ASKED, now=later).excerpts[0].score.interest == pytest.approx(0.9)
    told = interests.listed(library.db, MINE, later)
    assert [(it["topic"], it["strength"], it["kept"]) for it in told] == [
        ("labour", 0.9, True), ("ferry strike", 0.0, True)]
    assert interests.forget(library.db, MINE, "Labour") == 1
    assert interests.forget(library.db, MINE, "labour") == 0
    assert interests.forget(library.db, ["ada"]) == 0
    assert interests.forget(library.db, MINE) == 1
    assert interests.listed(library.db, MINE, later) == []
    for topic, strength in (("", 1.0), ("x" * 201, 1.0), ("a", 1.1), ("a", float("nan"))):
        with pytest.raises(ValueError):
            interests.keep(library.db, MINE, topic, strength, NOON)


def test_nothing_that_is_the_readers_costs_a_trip_more(library: Any) -> None:
    source = library.source()
    for n in range(9):
        library.analyse(library.document(source, f"{ASKED} {n}", title=str(n)), keywords=["ferry strike"])
    interests.keep(library.db, MINE, "labour", 0.9, NOON)
    said: list[str] = []
    event.listen(library.db.engine, "before_cursor_execute", lambda *args: said.append(args[2].split()[0]))
    library.ask(ASKED, since=date(2020, 1, 1), content_types=("news",))  # nothing: no record either
    library.ask(ASKED, content_types=("news",), languages=("en",), sources=(source.id,))
    assert said == ["WITH", "WITH", "WITH"]  # rows; rows, and a record that learns
    with library.db.begin() as session:
        assert session.query(Interest).count() == 2
        assert {row.query for row in session.query(UsageEvent)} == {ASKED}


def test_two_chunks_that_follow_each_other_are_one_excerpt_with_one_record(library: Any) -> None:
    library.document(library.source(), ASKED, "ferry strike crew wages 🐦 talks", title="A")
    found = library.ask(ASKED, k=3)
    [excerpt] = found.excerpts
    assert excerpt.text == f"{ASKED}\n\nferry strike crew wages 🐦 talks"
    assert (excerpt.origin.start, excerpt.origin.end) == (0, len(excerpt.text))
    citation = library.cite(found, "K1")
    assert citation.text == excerpt.text


def test_judgments_are_kept_changed_and_taken_back(library: Any) -> None:
    source = library.source()
    for n in range(3):
        library.document(source, f"{ASKED} {n}", title=str(n))
    found = library.ask(ASKED, k=2)
    assert judge.judge(library.db, found.retrieval_id, {"K1": True, "K2": False, "K9": True}, MINE, NOON) == [
        "K1", "K2"]
    assert judge.judge(library.db, found.retrieval_id, {"K2": True}, MINE, NOON + timedelta(1)) == ["K2"]
    assert judge.judge(library.db, found.retrieval_id, {"K1": True}, ["ada"], NOON) == []
    told = judge.judgments(library.db, MINE)
    assert [(it["query"], it["good"]) for it in told] == [(ASKED, True)] * 2
    assert judge.withdraw(library.db, told[0]["id"], ["ada"]) is False
    assert judge.withdraw(library.db, told[0]["id"], MINE) is True
    assert len(judge.judgments(library.db, MINE)) == 1


def test_a_replay_says_what_a_change_of_weights_would_do_and_leaves_no_trace(library: Any) -> None:
    trusted, other = library.source(weight=1.0), library.source(weight=0.0)
    library.document(other, TURNED, title="near", days_old=0)
    library.document(trusted, " ".join(ASKED.split()[:8]), title="trusted", days_old=0)
    found = library.ask(ASKED)
    label = next(e.label for e in found.excerpts if e.origin.title == "trusted")
    judge.judge(library.db, found.retrieval_id, {label: True}, MINE, NOON)
    unjudged = library.ask("ferry strike crew", now=NOON)
    judge.judge(library.db, unjudged.retrieval_id, {"K1": False}, MINE, NOON)  # nothing good: not replayed

    def replayed(**weights: float) -> list[judge.Replayed]:
        return judge.replay(library.db, library.embedder, library.index, MINE, NOON, 0.3,
                            Tuning(), Tuning().changed(weights, {}))

    said: list[str] = []
    event.listen(library.db.engine, "before_cursor_execute", lambda *args: said.append(args[2].split()[0]))
    [one] = replayed(source=0.0)
    assert (one.query, one.good) == (ASKED, 1)
    assert one.before == 1  # 0.6 * 0.894 + 0.1 * 1.0 against 0.6 * 1.0
    assert one.after == pytest.approx(0.6309, abs=1e-4)  # second: 1 / log2(3)
    assert not [word for word in said if word in {"INSERT", "UPDATE", "DELETE"}]


def test_ndcg_by_hand() -> None:
    one, two, three = uuid4(), uuid4(), uuid4()
    assert judge.ndcg([one, two], {one}) == 1
    assert judge.ndcg([two, one], {one}) == pytest.approx(0.6309, abs=1e-4)
    assert judge.ndcg([one, three, two], {one, two}) == pytest.approx(1.5 / (1 + 0.6309), abs=1e-4)
    assert judge.ndcg([], {one}) == 0
    assert judge.ndcg([*(uuid4() for _ in range(10)), one], {one}) == 0
