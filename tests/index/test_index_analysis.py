"""Versions are analysed before they are indexed: once each, within the limits; a failure loses nothing."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, update

from models.analysis import Analysis, Article
from models.states import ChunkState, ContentType, DocumentState
from models.tables import DocumentVersion, VersionAnalysis
from tasks.analyse.follow import analyse_versions, catch_up, reanalyse, recheck
from tasks.chunk import cut
from tasks.errors import Transient
from tasks.index import follow

pytestmark = pytest.mark.database
FIRST = UUID(int=0)


class Reader:
    """An analyser that says what it is told to, of texts that it can; keeps what it was asked for."""

    def __init__(self, name: str = "reader 1") -> None:
        self.name, self.asked = name, list[str]()
        self.kind, self.note = ContentType.NEWS, None
        self.trouble: Callable[[str], Exception | None] = lambda text: None

    def analyse(self, articles: Sequence[Article]) -> Iterator[Analysis]:
        for article in articles:
            self.asked.append(article.text)
            if error := self.trouble(article.text):
                raise error
            yield Analysis(
                ["ships"],
                ["Dale"],
                ["pier"],
                article.text[:20],
                "transport",
                self.kind,
                "en",
                0.5,
                self.name,
                ["its wording"],
                self.note,
            )


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def run(records: Any, edge: Any, reader: Reader) -> Callable[..., list[follow.Indexed]]:
    """An index run as the flow makes it."""

    def index(per_hour: int = 1000, now: Any = records.now) -> list[follow.Indexed]:
        return follow.index_versions(
            records.db,
            records.embedder,
            edge,
            cut,
            100,
            per_hour,
            1000,
            now,
            analyse=partial(analyse_versions, records.db, reader, now=now),
        )

    return index


def stored(records: Any) -> dict[UUID, VersionAnalysis]:
    with records.db.begin() as session:
        return {row.version_id: row for row in session.scalars(select(VersionAnalysis))}


def test_a_version_that_answers_has_been_analysed(records: Any, run: Any, reader: Reader) -> None:
    document = records.document(records.source(), "The pier is closed.")
    run()
    [version] = records.versions(document)
    row = stored(records)[version.id]
    assert (row.content_type, row.category, row.topics, row.entities) == (
        "news",
        "transport",
        ["ships"],
        ["Dale"],
    )
    assert (row.analyser, row.reasons, row.confidence, row.scopes) == (
        "reader 1",
        ["its wording"],
        0.5,
        ["library"],
    )
    assert (row.analysed_at, row.note) == (records.now, None)
    assert records.row(document).state == DocumentState.INDEXED


def test_a_version_is_analysed_once_whatever_becomes_of_its_embedding(
    records: Any, run: Any, reader: Reader
) -> None:
    records.document(records.source(), "The pier is closed.")
    records.embedder.fail_after = 0
    with pytest.raises(RuntimeError):
        run()
    assert len(stored(records)) == 1
    records.embedder.fail_after = None
    assert len(run()) == 1
    assert reader.asked == ["The pier is closed."]


def test_another_version_of_the_analyser_is_asked_again(records: Any, run: Any, reader: Reader) -> None:
    records.document(records.source(), "The pier is closed.")
    records.embedder.fail_after = 0
    with pytest.raises(RuntimeError):
        run()
    records.embedder.fail_after, reader.name = None, "reader 2"
    run()
    assert len(reader.asked) == 2
    assert [row.analyser for row in stored(records).values()] == ["reader 2"]


def test_a_text_that_comes_back_brings_its_analysis_with_it(records: Any, run: Any, reader: Reader) -> None:
    document = records.document(records.source(), "The pier is closed.")
    run()
    for text in ("The pier is open.", "The pier is closed."):
        records.version(document, text)
        run()
    assert reader.asked == ["The pier is closed.", "The pier is open."]
    assert len(stored(records)) == 3


def test_a_fallback_is_not_lent(records: Any, run: Any, reader: Reader) -> None:
    document = records.document(records.source(), "The pier is closed.")
    reader.note = "judged by another"
    run()
    records.version(document, "The pier is open.")
    run()
    records.version(document, "The pier is closed.")
    run()
    assert len(reader.asked) == 3


def test_a_model_that_is_away_holds_the_queue_and_nothing_is_lost(
    records: Any, edge: Any, run: Any, reader: Reader
) -> None:
    source = records.source()
    documents = [records.document(source, f"Article {i}.") for i in range(4)]
    away = Transient("the model server cannot be reached")
    reader.trouble = lambda text: away if len(reader.asked) == 3 else None
    with pytest.raises(Transient):
        run()
    assert {records.row(it).state for it in documents} == {DocumentState.READ}
    assert len(stored(records)) == 2  # what was judged by then is kept
    assert (follow.waiting(records.db), edge.count()) == (4, 0)
    reader.trouble = lambda text: None
    assert len(run()) == 4
    assert len(reader.asked) == 5  # none of the two again
    assert {records.row(it).state for it in documents} == {DocumentState.INDEXED}


def test_an_article_that_our_own_code_cannot_analyse_is_indexed_all_the_same(
    records: Any, run: Any, reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    source = records.source()
    for i in range(3):
        records.document(source, f"Article {i}.")
    reader.trouble = lambda text: IndexError("a fault of ours") if "1" in text else None
    assert len(run()) == 3
    assert len(stored(records)) == 2
    assert "Analysing https://s.example/" in caplog.text


def test_what_is_analysed_and_then_refused_counts_against_the_limit(records: Any, run: Any) -> None:
    source = records.source()
    refused, waiting = records.document(source, "Junk."), records.document(source, "The pier is closed.")
    assert len(run(per_hour=1)) == 1
    records.change(refused, state=DocumentState.QUARANTINED)
    with records.db.begin() as session:  # as a gate does it: analysed, and never indexed
        session.execute(
            update(DocumentVersion).where(DocumentVersion.document_id == refused).values(indexed_at=None)
        )
    assert follow.used(records.db, records.now) == (1, 1)
    assert run(per_hour=1) == []
    hold = follow.current_hold(records.db, 1, 1000, records.now)
    assert hold is not None
    assert hold.until == records.now + timedelta(hours=1)
    later = records.now + timedelta(hours=1, seconds=1)
    assert [it.document_id for it in run(per_hour=1, now=later)] == [waiting]


def test_what_waits_for_the_model_does_not_use_up_the_limit(records: Any, run: Any, reader: Reader) -> None:
    records.document(records.source(), "The pier is closed.")
    records.embedder.fail_after = 0
    with pytest.raises(RuntimeError):
        run(per_hour=1)
    records.embedder.fail_after = None
    assert len(run(per_hour=1)) == 1


def test_what_another_analyser_judged_is_judged_again_in_batches_and_nothing_is_embedded(
    records: Any, run: Any, reader: Reader
) -> None:
    source = records.source()
    for i in range(5):
        records.document(source, f"Article {i}.")
    run()
    embedded = len(records.embedder.embedded)
    better, last, seen = Reader("reader 2"), FIRST, []
    better.kind = ContentType.OPINION
    while done := reanalyse(records.db, better, 2, last, records.now):
        assert len(done) <= 2
        assert all((it.before, it.now, it.changed) == ("news", "opinion", True) for it in done)
        last = done[-1].version_id
        seen += done
    assert len({it.version_id for it in seen}) == 5
    assert len(records.embedder.embedded) == embedded
    assert {row.analyser for row in stored(records).values()} == {"reader 2"}
    assert reanalyse(records.db, better, 100, FIRST, records.now) == []


def test_fallbacks_and_what_has_no_analysis_are_judged_again_too(
    records: Any, run: Any, reader: Reader
) -> None:
    source = records.source()
    for i in range(3):
        records.document(source, f"Article {i}.")
    reader.trouble = lambda text: IndexError("a fault of ours") if "0" in text else None
    run()
    with records.db.begin() as session:
        one = session.scalars(select(VersionAnalysis.version_id).limit(1)).one()
        session.execute(
            update(VersionAnalysis).where(VersionAnalysis.version_id == one).values(note="judged by another")
        )
    reader.trouble = lambda text: None
    done = reanalyse(records.db, reader, 100, FIRST, records.now)
    assert sorted((it.before is None, it.changed) for it in done) == [(False, False), (True, True)]


def test_an_article_that_cannot_be_analysed_does_not_stop_the_batches(records: Any, run: Any) -> None:
    source = records.source()
    for i in range(3):
        records.document(source, f"Article {i}.")
    run()
    odd, last, count = Reader("reader 2"), FIRST, 0
    odd.trouble = lambda text: IndexError("a fault of ours")
    while done := reanalyse(records.db, odd, 1, last, records.now):
        last, count = done[-1].version_id, count + 1
        assert not done[0].changed
    assert count == 3


def test_named_documents_are_judged_again_whoever_did_and_removed_ones_are_not(
    records: Any, run: Any, reader: Reader
) -> None:
    source = records.source()
    one, gone, _ = (records.document(source, f"Article {i}.") for i in range(3))
    run()
    records.remove(gone)
    done = reanalyse(records.db, reader, 100, FIRST, records.now, [one, gone])
    assert [it.document_id for it in done] == [one]


@pytest.mark.parametrize(("judged_by", "now_by", "is_left"), [
    (None, "built-in 2", True), (None, "a model, prompt 1", True),
    ("built-in 1", "built-in 2", True), ("built-in 2", "built-in 2", False),
    ("built-in 1", "a model, prompt 1", False), ("a model, prompt 1", "built-in 2", False),
])
def test_what_nobody_judged_or_an_earlier_release_did_is_caught_up_with_in_portions(
    records: Any, edge: Any, run: Any, reader: Reader, judged_by: str | None, now_by: str, is_left: bool
) -> None:
    source = records.source()
    for i in range(5):
        records.document(source, f"Article {i}.")
    reader.name = judged_by or reader.name
    if judged_by:
        run()
    else:
        records.run(edge)  # as an earlier release did
    portions = [len(catch_up(records.db, Reader(now_by), 2, records.now)) for _ in range(4)]
    assert portions == ([2, 2, 1, 0] if is_left else [0, 0, 0, 0])


def test_what_cannot_be_judged_holds_up_nothing_else(records: Any, edge: Any) -> None:
    source = records.source()
    for i in range(8):
        records.document(source, f"Article {i}.")
    records.run(edge)
    odd = Reader("built-in 1")
    odd.trouble = lambda text: IndexError("a fault of ours") if int(text[8]) < 4 else None
    for _ in range(200):
        catch_up(records.db, odd, 2, records.now)
        if len(stored(records)) == 4:
            break
    assert len(stored(records)) == 4


def test_the_index_learns_of_a_new_content_type_without_an_embedding(
    records: Any, edge: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = records.document(records.source(), "The pier is closed.")
    run()
    [version] = records.versions(document)
    written: list[UUID] = []
    describe = edge.describe
    monkeypatch.setattr(
        edge, "describe", lambda payloads: (written.extend(it.id for it in payloads), describe(payloads))
    )
    embedded = len(records.embedder.embedded)
    follow.describe(records.db, edge, [version.id])
    assert written == [chunk.id for chunk in records.chunks(ChunkState.LIVE)]
    assert len(records.embedder.embedded) == embedded


def test_what_is_marked_for_another_look_gets_it_once_and_says_why(
    records: Any, run: Any, reader: Reader
) -> None:
    source = records.source()
    marked, other, gone = (records.document(source, f"Article {i}.") for i in range(3))
    unread = records.document(source)
    run()
    for document in (marked, gone, unread):
        records.change(document, recheck="kept again with another title")
    records.remove(gone)
    reader.asked.clear()
    reader.kind = ContentType.OPINION
    done = recheck(records.db, reader, 100, records.now)
    assert [(it.document_id, it.changed) for it in done] == [(marked, True)]
    assert reader.asked == ["Article 0."]
    row = records.row(marked)
    assert (row.recheck, row.reason) == (None, "looked at again: kept again with another title")
    assert recheck(records.db, reader, 100, records.now) == []
    assert records.row(other).reason != row.reason
    assert records.row(unread).recheck  # it is analysed when it is indexed


def test_a_mark_that_is_made_meanwhile_stays_and_what_cannot_be_analysed_loses_its(
    records: Any, run: Any, reader: Reader
) -> None:
    document = records.document(records.source(), "Article.")
    run()
    records.change(document, recheck="first")

    def marks_anew(text: str) -> None:
        records.change(document, recheck="second")

    reader.trouble = marks_anew
    assert len(recheck(records.db, reader, 100, records.now)) == 1
    assert records.row(document).recheck == "second"
    reader.trouble = lambda text: ValueError("odd")
    assert [it.now for it in recheck(records.db, reader, 100, records.now)] == [None]
    row = records.row(document)
    assert (row.recheck, row.reason) == (None, "another look at it failed: second")
