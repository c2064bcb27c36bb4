"""Retrieval over real rows: what is found, in which order, what is left out and what is recorded.

The question has ten words, and so has each text: of ``n`` words shared they are n / 10 alike.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from sqlalchemy import event, text

from models.blocks import digest
from models.states import ChunkState, DocumentState, SourceKind
from models.tables import Chunk, DocumentVersion, UsageEvent

pytestmark = pytest.mark.database

NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)
ASKED = "harbour ferry strike crew wages talks port union owners offer"
others = count()


def apart(*texts: str) -> list[str]:
    """Paragraphs with something else between them, so that they are no neighbours."""
    return [paragraph for text in texts for paragraph in (text, "something else")]


def alike(shared: int) -> str:
    return " ".join([*ASKED.split()[:shared], *(f"other{next(others)}" for _ in range(10 - shared))])


def titles(excerpts: Any) -> list[str]:
    return [excerpt.origin.title for excerpt in excerpts]


def recorded(library: Any) -> list[UsageEvent]:
    with library.db.begin() as session:
        return session.query(UsageEvent).all()


def test_the_order_and_the_scores_can_be_checked_by_hand(library: Any) -> None:
    tidings = library.source("Tidings", weight=0.5)
    herald = library.source("Herald", weight=1.0)
    manual = library.source("Manual", weight=0.2, kind=SourceKind.PAGE)
    for source, title, shared, days in [
        (tidings, "talks resume", 8, 0), (tidings, "talks begin", 8, 30), (herald, "analysis", 7, 60),
        (manual, "how ports work", 7, 3000), (tidings, "undated", 6, None), (herald, "barely alike", 4, 0),
        (herald, "not alike", 2, 0),
    ]:
        library.document(source, alike(shared), title=title, days_old=days)
    found = library.ask(ASKED)
    assert [(e.label, e.origin.title, round(e.score.total, 4)) for e in found.excerpts] == [
        # 0.60 similarity + 0.10 freshness + 0.10 source
        ("K1", "talks resume", 0.63),  # 0.48 + 0.100 + 0.05
        ("K2", "talks begin", 0.58),  # 0.48 + 0.050 + 0.05
        ("K3", "analysis", 0.545),  # 0.42 + 0.025 + 0.10
        ("K4", "how ports work", 0.54),  # 0.42 + 0.100 + 0.02
        ("K5", "undated", 0.51),  # 0.36 + 0.100 + 0.05
        ("K6", "barely alike", 0.44),  # 0.24 + 0.100 + 0.10
    ]
    assert (found.recent, found.nothing, found.dropped) == (False, None, [])


def test_a_question_about_the_recent_counts_freshness_double(library: Any) -> None:
    source = library.source(weight=0.5)
    library.document(source, alike(9), title="old but close", days_old=60)
    library.document(source, alike(8), title="new", days_old=0)
    # 0.54 + 0.025 + 0.05 = 0.615 and 0.48 + 0.10 + 0.05 = 0.63; a minute later both are as much used
    assert [round(e.score.total, 3) for e in library.ask(ASKED).excerpts] == [0.63, 0.615]
    # the word "latest" makes eleven: 8 / sqrt(110) = 0.7628 and 9 / sqrt(110) = 0.8581
    recent = library.ask(f"latest {ASKED}", now=NOON + timedelta(hours=6))
    assert recent.recent
    assert titles(recent.excerpts) == ["new", "old but close"]
    assert recent.excerpts[0].score.total == pytest.approx(0.6 * 0.7628 + 0.2 * 0.9942 + 0.05, abs=1e-3)


def test_what_an_address_said_before_it_failed_answers_and_says_since_when_it_fails(library: Any) -> None:
    well = library.document(library.source(), alike(9), title="well")
    gone = library.document(library.source(), alike(8), title="gone", failing_since=NOON - timedelta(days=2))
    found = library.ask(ASKED)
    since = {e.document_id: e.to_json()["citation"]["failing_since"] for e in found.excerpts}
    assert since == {well.id: None, gone.id: "2026-05-18T12:00:00+00:00"}
    cited = library.cite(found, "K2")
    assert cited.to_json()["failing_since"] == "2026-05-18T12:00:00+00:00"


def test_the_answer_has_the_shape_of_the_contract(library: Any) -> None:
    library.document(library.source(), alike(9), alike(8), alike(7), title="A", days_old=1, author="Ada")
    answer = json.loads(json.dumps(library.ask(ASKED, k=1).to_json()))
    assert answer.keys() == {
        "retrieval_id", "recent", "elapsed_ms", "excerpts", "dropped", "prompt", "nothing"
    }
    assert answer["elapsed_ms"].keys() == {"embed", "search", "rank", "total"}
    shape = {
        "label", "used", "text", "headings", "document_id", "version_id", "chunk_id", "story", "citation",
        "also_at", "score",
    }
    [used] = answer["excerpts"]
    assert used.keys() == shape
    assert (used["label"], used["used"], used["story"], used["headings"]) == ("K1", True, None, ["A"])
    assert used["citation"].keys() == {
        "title", "url", "source", "author", "published_at", "read_at", "content_hash", "start", "end",
        "failing_since", "external",
    }
    assert used["citation"]["published_at"] == "2026-05-19T12:00:00+00:00"
    assert used["score"].keys() == {
        "total", "similarity", "topic", "freshness", "source", "interest", "recently_used"
    }
    assert [(d["label"], d["used"], d["why"]) for d in answer["dropped"]] == [
        ("K2", False, "beyond the 1 asked for"), ("K3", False, "a third excerpt of its document")
    ]
    assert answer["dropped"][0].keys() == shape | {"why"}
    assert answer["prompt"].count("\n[K1]\n") == 1
    assert "[K2]" not in answer["prompt"]


def test_only_who_asks_for_it_gets_the_explanation(library: Any) -> None:
    library.document(library.source(), alike(8), days_old=0)
    assert "explanation" not in library.ask(ASKED).to_json()["excerpts"][0]
    explained = library.ask(ASKED, explain=True).to_json()["excerpts"][0]["explanation"]
    assert explained.startswith("0.60 * similarity 0.8000 + 0.15 * topic 0.0000 + 0.10 * freshness 1.0000")


def test_each_excerpt_is_its_versions_text_character_for_character(library: Any) -> None:
    library.document(library.source(), "🐦 filler é", alike(8), alike(7), "the end 𝄞")
    for excerpt in library.ask(ASKED).excerpts:
        with library.db.begin() as session:
            version = session.get(DocumentVersion, excerpt.version_id)
        assert excerpt.text == version.text[excerpt.origin.start : excerpt.origin.end]
        assert excerpt.origin.content_hash == digest(version.text)


def test_rows_that_are_not_live_are_passed_and_the_answer_is_filled_up_from_behind_them(library: Any) -> None:
    source = library.source()
    gone = library.document(source, *(alike(9) for _ in range(150)))
    with library.db.begin() as session:
        session.query(Chunk).filter_by(document_id=gone.id).update({"state": ChunkState.RETIRING})
    for n in range(3):
        library.document(source, alike(5), title=f"live {n}")
    assert sorted(titles(library.ask(ASKED).excerpts)) == ["live 0", "live 1", "live 2"]


def test_only_live_chunks_answer(library: Any) -> None:
    document = library.document(library.source(), alike(9))
    for state in ChunkState:
        with library.db.begin() as session:
            session.query(Chunk).filter_by(document_id=document.id).update({"state": state})
        assert len(library.ask(ASKED).excerpts) == (state is ChunkState.LIVE)


def test_ids_that_the_records_do_not_know_are_passed(library: Any) -> None:
    library.document(library.source(), alike(5), title="known")
    strayed = library.document(library.source(), alike(9))
    with library.db.begin() as session:
        session.query(Chunk).filter_by(document_id=strayed.id).delete()
    assert titles(library.ask(ASKED).excerpts) == ["known"]


def test_what_is_removed_answers_no_more_though_the_index_still_holds_it(library: Any) -> None:
    kept, dropped = library.source(), library.source()
    document = library.document(kept, alike(9))
    library.document(dropped, alike(8))
    library.change(document, state=DocumentState.REMOVED)
    library.change(dropped, removed_at=NOON)
    found = library.ask(ASKED)
    assert found.excerpts == []
    assert found.nothing


def test_a_reader_sees_only_what_all_of_their_scopes_allow(library: Any) -> None:
    library.document(library.source(), alike(6), title="everyone's")
    library.document(library.source(scopes=["family", "library"]), alike(7), title="the family's")
    library.document(library.source(scopes=["ada"]), alike(8), title="Ada's")
    library.document(library.source(), alike(9), title="Ada's among everyone's", scopes=["ada"])
    assert titles(library.ask(ASKED).excerpts) == ["everyone's"]
    assert titles(library.ask(ASKED, scopes=("library", "family")).excerpts) == ["the family's", "everyone's"]
    assert titles(library.ask(ASKED, scopes=("ada",)).excerpts) == ["Ada's"]


def test_one_long_article_and_its_copies_do_not_fill_the_list(library: Any) -> None:
    library.document(library.source(), *apart(*(alike(9) for _ in range(9))), title="long")
    wire = apart(alike(8), alike(8))
    for n in range(4):
        library.document(library.source(f"Copier {n}"), *wire, title="wire")
    near_copy = *wire, "and a footer of their own"
    library.document(library.source(), *near_copy, title="wire with a footer")
    for n in range(2):
        library.document(library.source(), alike(5), title=f"independent {n}")
    found = library.ask(ASKED, k=6)
    assert Counter(title.removesuffix(" with a footer") for title in titles(found.excerpts)) == {
        "long": 2, "wire": 2, "independent 0": 1, "independent 1": 1
    }
    assert len({excerpt.text for excerpt in found.excerpts}) == 6
    assert len({excerpt.chunk_id for excerpt in [*found.excerpts, *found.dropped]}) == 6 + 10


def test_a_document_that_fills_the_first_fetch_does_not_hide_the_others(library: Any) -> None:
    library.document(library.source(), *apart(*(alike(9) for _ in range(150))), title="long")
    library.document(library.source(), alike(5), title="short")
    assert titles(library.ask(ASKED, k=3).excerpts) == ["long", "long", "short"]


def test_every_document_has_its_turn_before_one_has_a_second(library: Any) -> None:
    library.document(library.source(), alike(9), "something else", alike(8), title="A")
    library.document(library.source(), alike(7), title="B")
    library.document(library.source(), alike(6), title="C")
    assert titles(library.ask(ASKED, k=3).excerpts) == ["A", "B", "C"]
    assert titles(library.ask(ASKED, k=4).excerpts) == ["A", "A", "B", "C"]


def test_nothing_relevant_is_an_answer_that_leaves_no_record(library: Any) -> None:
    library.document(library.source(), alike(2))
    found = library.ask(ASKED)
    assert (found.excerpts, found.dropped, found.prompt) == ([], [], "")
    assert found.nothing == (
        "Nothing in the library is close enough to the question: none is 0.30 similar or more."
    )
    assert recorded(library) == []


def test_the_question_may_ask_for_another_minimum_similarity(library: Any) -> None:
    library.document(library.source(), alike(2), title="far")
    library.document(library.source(), alike(6), title="near")
    assert titles(library.ask(ASKED).excerpts) == ["near"]
    assert titles(library.ask(ASKED, min_similarity=0.1).excerpts) == ["near", "far"]
    assert "0.90" in (library.ask(ASKED, min_similarity=0.9).nothing or "")


def test_the_budget_drops_the_lower_ranks_first_and_says_so(library: Any) -> None:
    for shared in (9, 8, 7):
        library.document(library.source(), alike(shared), title=str(shared))
    whole = library.embedder.count([library.ask(ASKED).prompt])[0]
    later = NOON + timedelta(days=1)
    assert titles(library.ask(ASKED, now=later, budget_tokens=whole).excerpts) == ["9", "8", "7"]
    found = library.ask(ASKED, now=later + timedelta(days=1), budget_tokens=whole - 1)
    assert titles(found.excerpts) == ["9", "8"]
    assert [(d.label, d.origin.title, d.why) for d in found.dropped] == [
        ("K3", "7", f"over the budget of {whole - 1} tokens")
    ]


def test_a_budget_of_nothing_returns_nothing_and_says_so(library: Any) -> None:
    library.document(library.source(), alike(9))
    found = library.ask(ASKED, budget_tokens=0)
    assert (found.excerpts, found.prompt) == ([], "")
    assert found.nothing == "A budget of 0 tokens has no room for an excerpt: give more, or leave it out."
    assert [(d.label, d.used, d.why) for d in found.dropped] == [("K1", False, "over the budget of 0 tokens")]


def test_the_block_never_costs_more_than_the_budget(library: Any) -> None:
    for shared in (9, 8, 7, 6):
        library.document(library.source("A source of many words"), alike(shared))
    for budget in (1, 40, 60, 75, 90, 120, 150, 1000):
        found = library.ask(ASKED, budget_tokens=budget)
        assert library.embedder.count([found.prompt])[0] <= budget
        assert len(found.excerpts) + len(found.dropped) == 4


def test_a_long_tail_is_not_reported(library: Any) -> None:
    for _ in range(40):
        library.document(library.source(), alike(5))
    found = library.ask(ASKED, k=6)
    assert (len(found.excerpts), len(found.dropped)) == (6, 10)


def test_no_label_is_given_without_a_record_and_none_twice(library: Any) -> None:
    for shared in range(4, 10):
        library.document(library.source(), *(alike(shared) for _ in range(3)))
    found = library.ask(f" {ASKED}\0 ", k=3, budget_tokens=110)
    given = [*found.excerpts, *found.dropped]
    assert [excerpt.label for excerpt in given] == [f"K{n}" for n in range(1, len(given) + 1)]
    rows = recorded(library)
    assert {(e.label, e.used, e.why, e.chunk_id, e.version_id, e.document_id) for e in rows} == {
        (e.label, e.used, e.why, e.chunk_id, e.version_id, e.document_id) for e in given
    }
    assert {(e.retrieval_id, e.query, e.happened_at) for e in rows} == {(found.retrieval_id, ASKED, NOON)}
    assert {excerpt.used for excerpt in given} == {True, False}


def test_a_document_used_lately_loses_a_little_and_less_with_each_hour(library: Any) -> None:
    library.document(library.source(), alike(9))
    library.ask(ASKED)
    for hours, expected in [(0, 0.05), (7, 0.0)]:
        found = library.ask(ASKED, now=NOON + timedelta(hours=hours))
        assert found.excerpts[0].score.recently_used == pytest.approx(expected)
    found = library.ask(ASKED, now=NOON + timedelta(hours=10))  # three hours after the last use
    assert found.excerpts[0].score.recently_used == pytest.approx(0.025)


def test_what_was_dropped_or_used_by_somebody_else_loses_nothing(library: Any) -> None:
    library.document(library.source(), alike(9), title="used by Ada")
    library.document(library.source(), alike(8), title="dropped")
    library.ask(ASKED, k=1, scopes=("ada", "library"))
    assert [e.score.recently_used for e in library.ask(ASKED).excerpts] == [0, 0]


def test_a_follow_up_is_answered_from_what_it_follows(library: Any) -> None:
    library.document(library.source(), alike(9), title="strike")
    library.document(library.source(), "terns nest on the pier", title="terns")
    assert library.ask("why?").nothing
    assert titles(library.ask("why?", previous=ASKED).excerpts) == ["strike"]
    changed = library.ask("terns nest on the pier", previous=ASKED, now=NOON + timedelta(days=1))
    assert changed.excerpts[0].origin.title == "terns"
    assert changed.excerpts[0].score.similarity == pytest.approx(1)


def test_beside_the_index_it_costs_one_statement_and_one_insert(library: Any) -> None:
    for _ in range(9):
        library.document(library.source(), alike(6))
    said: list[str] = []
    engine = library.reader().engine
    event.listen(engine, "before_cursor_execute", lambda *args: said.append(args[2].split()[0]))
    library.ask(ASKED)
    assert said == ["WITH", "INSERT"]


def test_what_was_used_is_readable_at_once_but_does_not_wait_for_the_disk(library: Any) -> None:
    """Nothing but usage may be lost in a crash of PostgreSQL: the next transaction waits again."""
    library.document(library.source(), ASKED)
    db = library.db
    db.execute(text(f"ALTER DATABASE {db.engine.url.database} SET synchronous_commit = on"))
    for each in (db, library.reader()):
        each.engine.dispose()
    db.execute(text("CREATE TABLE noted (waits text)"))
    db.execute(text("GRANT INSERT ON noted TO PUBLIC"))
    db.execute(text("""CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO noted VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$"""))
    db.execute(text("""CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON usage_event
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()"""))
    library.ask(ASKED)
    assert [row.waits for row in db.execute(text("SELECT waits FROM noted"))] == ["off"]
    assert [row.label for row in recorded(library)] == ["K1"]
    assert db.execute(text("SHOW synchronous_commit"))[0][0] == "on"
