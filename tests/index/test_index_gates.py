"""The gate stands before the index: what it refuses is put aside, and what answered goes on."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from models.states import ChunkState, DocumentState, Severity, Verdict
from models.tables import DocumentVersion, GateResult
from tasks.chunk import cut
from tasks.curate import retry_document
from tasks.errors import Transient
from tasks.gates import decisions
from tasks.index import follow
from tasks.ports import Remark

pytestmark = pytest.mark.database
MINE = ["library"]


class Words:
    """Refuses versions that say "bad", chunks that say "odd" or, for good, "nan"; notes "hm"."""

    def __init__(self, records: Any) -> None:
        self.records = records
        self.asked: list[tuple[str, list[UUID]]] = []
        self.error: Exception | None = None

    def versions(self, versions: Sequence[UUID]) -> list[Remark]:
        self.asked.append(("versions", list(versions)))
        if self.error:
            raise self.error
        with self.records.db.begin() as session:
            rows = session.execute(
                select(DocumentVersion.id, DocumentVersion.text).where(DocumentVersion.id.in_(versions))
            ).all()
        return [
            Remark("versions", f"no {word}", severity, f"it says {word}", word, row.text, version_id=row.id)
            for row in rows
            for word, severity in (
                ("bad", Severity.CRITICAL),
                ("worse", Severity.CRITICAL),
                ("hm", Severity.WARNING),
            )
            if word in row.text
        ]

    def chunks(self, chunks: Sequence[Mapping[str, Any]], window: int, dimensions: int) -> list[Remark]:
        self.asked.append(("chunks", sorted({chunk["version_id"] for chunk in chunks})))
        assert (window, dimensions) == (self.records.embedder.window, self.records.embedder.dimensions)
        return [
            Remark(
                "chunks", f"no {word}", severity, f"a chunk says {word}", word, version_id=chunk["version_id"]
            )
            for chunk in chunks
            for word, severity in (("odd", Severity.CRITICAL), ("nan", Severity.FATAL))
            if word in chunk["text"]
        ]


@pytest.fixture
def gate(records: Any) -> Words:
    return Words(records)


@pytest.fixture
def source(records: Any) -> UUID:
    found: UUID = records.source()
    return found


def run(records: Any, index: Any, gate: Any, limit: int = 100) -> list[UUID]:
    return [
        done.version_id
        for done in follow.index_versions(
            records.db, records.embedder, index, cut, limit, 1000, 1000, records.now, gate=gate
        )
    ]


def results(records: Any) -> list[tuple[str, str, str]]:
    with records.db.begin() as session:
        return [
            (it.expectation, it.severity, it.reason)
            for it in session.scalars(select(GateResult).order_by(GateResult.expectation))
        ]


def test_a_refused_version_is_quarantined_with_every_reason_and_its_neighbours_are_indexed(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    good, bad = records.document(source, "Good."), records.document(source, "A bad and worse one.")
    assert len(run(records, edge, gate)) == 1
    row = records.row(bad)
    assert (row.state, row.reason, row.version_id) == (
        DocumentState.QUARANTINED,
        "it says bad; it says worse",
        None,
    )
    assert records.row(good).state == DocumentState.INDEXED
    assert results(records) == [
        ("no bad", "critical", "it says bad"),
        ("no worse", "critical", "it says worse"),
    ]
    assert (follow.waiting(records.db), run(records, edge, gate)) == (0, [])
    assert len(gate.asked) == 2
    assert records.chunks(document=bad) == []


def test_what_is_only_noted_is_indexed(records: Any, edge: Any, gate: Words, source: UUID) -> None:
    document = records.document(source, "Well, hm.")
    assert len(run(records, edge, gate)) == 1
    assert (records.row(document).state, results(records)) == (
        DocumentState.INDEXED,
        [("no hm", "warning", "it says hm")],
    )


@pytest.mark.parametrize("text", ["A bad one.", "An odd one."])
def test_a_refused_new_version_leaves_the_good_old_one_answering(
    records: Any, edge: Any, gate: Words, source: UUID, text: str
) -> None:
    document = records.document(source, "Good.")
    [old] = run(records, edge, gate)
    records.version(document, text)
    assert run(records, edge, gate) == []
    assert (records.row(document).state, records.row(document).version_id) == (DocumentState.QUARANTINED, old)
    assert records.answers(edge, "Good.") == ["Good."]
    assert follow.verify(records.db, records.embedder, edge).agrees
    assert len(records.chunks(ChunkState.LIVE)) == 1


@pytest.mark.parametrize(("text", "asked_again"), [("A bad one.", ["chunks"]), ("An odd one.", [])])
def test_a_released_one_is_indexed_and_asked_only_what_it_was_not_asked(
    records: Any, edge: Any, gate: Words, source: UUID, text: str, asked_again: list[str]
) -> None:
    document = records.document(source, text)
    run(records, edge, gate)
    gate.asked.clear()
    assert decisions.release(records.db.caller(MINE), document)
    assert records.row(document).state == DocumentState.READ
    assert len(run(records, edge, gate)) == 1
    assert [which for which, versions in gate.asked if versions] == asked_again
    assert records.row(document).state == DocumentState.INDEXED
    assert records.answers(edge, text) == [text]
    assert not decisions.release(records.db.caller(MINE), document)


def test_what_is_refused_for_good_cannot_be_released_but_made_anew(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    document = records.document(source, "A nan one.")
    run(records, edge, gate)
    with pytest.raises(ValueError, match="cannot be indexed as it is: a chunk says nan"):
        decisions.release(records.db.caller(MINE), document)
    assert retry_document(records.db.caller(MINE), document, records.now)
    records.change(document, state=DocumentState.READ)  # as reading leaves it, where nothing changed
    gate.asked.clear()
    run(records, edge, gate)
    assert [which for which, versions in gate.asked if versions] == ["chunks"]


def test_a_rejected_one_is_never_indexed(records: Any, edge: Any, gate: Words, source: UUID) -> None:
    document = records.document(source, "A bad one.")
    run(records, edge, gate)
    assert decisions.reject(records.db.caller(MINE), document)
    row = records.row(document)
    assert (row.state, row.reason, run(records, edge, gate)) == (
        DocumentState.REJECTED,
        "rejected by its owner",
        [],
    )
    assert records.versions(document)[0].verdict == Verdict.REJECTED


def test_its_owner_may_change_his_mind(records: Any, edge: Any, gate: Words, source: UUID) -> None:
    document = records.document(source, "A bad one.")
    run(records, edge, gate)
    decisions.reject(records.db.caller(MINE), document)
    assert decisions.release(records.db.caller(MINE), document)
    assert len(run(records, edge, gate)) == 1


@pytest.mark.parametrize("indexed", [True, False])
def test_what_was_released_may_be_rejected_after_all_and_what_it_replaced_answers_again(
    records: Any, edge: Any, gate: Words, source: UUID, indexed: bool
) -> None:
    document = records.document(source, "Good.\n\nAnd more.")
    [old] = run(records, edge, gate)
    records.version(document, "Good.\n\nA bad one.")
    run(records, edge, gate)
    assert decisions.release(records.db.caller(MINE), document)
    if indexed:
        run(records, edge, gate)
    assert decisions.reject(records.db.caller(MINE), document)
    assert "A bad one." not in "".join(records.answers(edge, "A bad one."))
    assert follow.waiting(records.db) == int(indexed)  # what an index run has to take out
    records.embedder.embedded.clear()
    run(records, edge, gate)
    row = records.row(document)
    assert (row.state, row.reason, row.version_id) == (DocumentState.REJECTED, "rejected by its owner", old)
    assert records.answers(edge, "Good. And more.") == ["Good.\n\nAnd more."]
    assert records.embedder.embedded == []
    assert follow.verify(records.db, records.embedder, edge).agrees
    assert decisions.release(records.db.caller(MINE), document)
    assert len(run(records, edge, gate)) == 1
    assert records.answers(edge, "A bad one.") == ["Good.\n\nA bad one."]


def test_a_first_version_that_was_released_leaves_nothing_when_it_is_rejected(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    document = records.document(source, "A bad one.")
    run(records, edge, gate)
    decisions.release(records.db.caller(MINE), document)
    run(records, edge, gate)
    assert decisions.reject(records.db.caller(MINE), document)
    run(records, edge, gate)
    assert (records.row(document).version_id, edge.count()) == (None, 0)
    assert records.row(document).state == DocumentState.REJECTED


def test_what_is_rejected_while_it_is_being_indexed_does_not_answer(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    document = records.document(source, "A bad one.")
    run(records, edge, gate)
    decisions.release(records.db.caller(MINE), document)
    write = edge.upsert

    def reject_meanwhile(entries: Any) -> None:
        assert decisions.reject(records.db.caller(MINE), document)
        write(entries)

    edge.upsert = reject_meanwhile
    run(records, edge, gate)
    edge.upsert = write
    run(records, edge, gate)
    assert (records.row(document).version_id, edge.count()) == (None, 0)
    assert records.chunks(ChunkState.LIVE) == []


def test_a_page_that_changed_is_judged_anew(records: Any, edge: Any, gate: Words, source: UUID) -> None:
    document = records.document(source, "A bad one.")
    run(records, edge, gate)
    decisions.reject(records.db.caller(MINE), document)
    newer = records.version(document, "A good one.")
    assert run(records, edge, gate) == [newer]
    assert records.row(document).state == DocumentState.INDEXED


def test_nothing_is_decided_where_nothing_was_refused_or_by_whom_may_not_read_it(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    good, bad = records.document(source, "Good."), records.document(source, "Bad: bad.")
    run(records, edge, gate)
    assert not decisions.release(records.db.caller(MINE), good)
    assert not decisions.release(records.db.caller(["family"]), bad)
    assert not decisions.reject(records.db.caller(["family"]), bad)


def test_a_gate_that_is_away_holds_the_batch_and_nothing_passes_unjudged(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    document = records.document(source, "Good.")
    gate.error = Transient("the quality gate does not answer")
    with pytest.raises(Transient, match="does not answer"):
        run(records, edge, gate)
    assert (records.row(document).state, follow.waiting(records.db)) == (DocumentState.READ, 1)
    gate.error = None
    assert len(run(records, edge, gate)) == 1


def test_a_batch_of_which_nothing_is_left_does_not_hold_up_the_next(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    for number in range(3):
        records.document(source, f"Bad {number}: bad.")
    good = records.document(source, "Good.")
    assert len(run(records, edge, gate, limit=2)) == 1
    assert records.row(good).state == DocumentState.INDEXED


def test_what_a_later_look_has_said_stands(records: Any, edge: Any, gate: Words, source: UUID) -> None:
    document = records.document(source, "A bad one.")
    records.change(document, state=DocumentState.WAITING, reason="HTTP 503")
    run(records, edge, gate)
    assert (records.row(document).state, records.row(document).reason) == (DocumentState.WAITING, "HTTP 503")
    assert records.versions(document)[0].verdict == Verdict.QUARANTINED


def test_a_flag_of_a_source_is_replaced_at_its_next_batch(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    flags = [Remark("sources", "as many items", Severity.WARNING, "fewer items", "0.1", source_id=source)]
    judge = gate.versions
    gate.versions = lambda versions: judge(versions) + flags  # type: ignore[method-assign]
    for text in ("One.", "Two."):
        records.document(source, text)
        run(records, edge, gate)
        assert results(records) == [("as many items", "warning", "fewer items")]
    flags.clear()
    records.document(source, "Three.")
    run(records, edge, gate)
    assert results(records) == []


def test_the_report_says_what_waits_for_a_decision_and_why(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    documents = [records.document(source, f"Bad {number}: bad, hm.") for number in range(3)]
    records.document(source, "hm")
    run(records, edge, gate)
    decisions.reject(records.db.caller(MINE), documents[0])
    report = decisions.report(records.db.caller(MINE))
    assert report["counts"] == {"quarantined": 2, "rejected": 1}
    assert len(report["results"]) == 7
    waiting = decisions.report(records.db.caller(MINE), Verdict.QUARANTINED, Severity.CRITICAL)["results"]
    assert {it["document_id"] for it in waiting} == set(map(str, documents[1:]))
    assert {(it["reason"], it["observed"], it["state"], it["title"]) for it in waiting} == {
        ("it says bad", "bad", "quarantined", "Harbour news")
    }
    assert decisions.report(records.db.caller(["family"])) == {
        "results": [],
        "next": None,
        "sources": [],
        "counts": {},
    }


def test_pages_of_the_report_hold_each_result_once(
    records: Any, edge: Any, gate: Words, source: UUID
) -> None:
    for number in range(5):
        records.document(source, f"Bad {number}: bad.")
    run(records, edge, gate)
    first = decisions.report(records.db.caller(MINE), limit=3)
    second = decisions.report(records.db.caller(MINE), limit=3, after=first["next"])
    assert (len(first["results"]), len(second["results"]), second["next"]) == (3, 2, None)
    assert len({it["id"] for page in (first, second) for it in page["results"]}) == 5
    with pytest.raises(ValueError, match="cursor"):
        decisions.report(records.db.caller(MINE), after="nonsense")
