"""New versions go into the index, old ones out, and unchanged pieces are not embedded again."""

from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid5

import pytest
from sqlalchemy import update

from models.states import ChunkState, DocumentState, SourceKind
from models.tables import Source
from tasks.index import follow
from tasks.index.vectors import pack, unpack
from tasks.ports import Filter

pytestmark = pytest.mark.database
LONG = "# One\n\n" + "\n\n".join(
    f"Paragraph {i} tells of the boat number {i} and of its crew of {i} sailors who sing." for i in range(30))


def test_a_version_that_was_read_answers_once_it_is_indexed(records: Any, edge: Any) -> None:
    document = records.document(records.source(), "The pier is closed.")
    (version,) = records.versions(document)
    assert records.answers(edge, "The pier is closed.") == []
    (done,) = records.run(edge)
    assert (done.document_id, done.version_id, done.chunks, done.embedded) == (document, version.id, 1, 1)
    assert done.url == records.row(document).url
    assert records.answers(edge, "The pier is closed.") == ["The pier is closed."]
    row, (version,) = records.row(document), records.versions(document)
    assert (row.state, row.version_id) == (DocumentState.INDEXED, version.id)
    assert version.indexed_at is not None


def test_a_chunk_is_its_versions_text_at_its_place(records: Any, edge: Any) -> None:
    document = records.document(records.source(), LONG)
    records.run(edge)
    (version,) = records.versions(document)
    chunks = records.chunks(ChunkState.LIVE)
    assert len(chunks) > 5
    for position, chunk in enumerate(chunks):
        assert chunk.text == version.text[chunk.start : chunk.end]
        assert (chunk.id, chunk.position) == (uuid5(version.id, str(position)), position)
        assert (chunk.headings, chunk.embedder, chunk.scopes) == (["One"], "hashing", ["library"])
    assert all(before.start < after.start for before, after in pairwise(chunks))


def test_the_index_and_the_rows_hold_the_same_vectors(records: Any, edge: Any) -> None:
    records.document(records.source(), "The pier is closed.")
    records.run(edge)
    (chunk,) = records.chunks(ChunkState.LIVE)
    (hit,) = edge.nearest(unpack([chunk.vector])[0], 1, Filter(["library"]), 0)
    assert (hit.id, hit.similarity) == (chunk.id, pytest.approx(1, abs=1e-6))


def test_a_new_version_replaces_the_old_one_and_keeps_it_as_history(records: Any, edge: Any) -> None:
    document = records.document(records.source(), "The pier is closed.")
    records.run(edge)
    records.version(document, "The pier is open.")
    assert records.answers(edge, "The pier is open.") == ["The pier is closed."]
    records.run(edge)
    assert records.answers(edge, "The pier is closed.") == ["The pier is open."]
    assert [chunk.text for chunk in records.chunks(ChunkState.RETIRED)] == ["The pier is closed."]
    assert [version.superseded_at is None for version in records.versions(document)] == [False, True]
    assert edge.count() == 1


def test_only_what_changed_is_embedded_again(records: Any, edge: Any) -> None:
    document = records.document(records.source(), LONG)
    (first,) = records.run(edge)
    records.version(document, LONG.replace("boat number 14", "ship number 14"))
    records.embedder.embedded.clear()
    (second,) = records.run(edge)
    assert second.chunks == first.chunks > 10
    assert second.embedded == len(records.embedder.embedded) <= 3
    assert follow.verify(records.db, records.embedder, edge).agrees


def test_a_text_that_comes_back_is_not_embedded_again(records: Any, edge: Any) -> None:
    document = records.document(records.source(), LONG)
    records.run(edge)
    for text in ("Something else.", LONG):
        records.version(document, text)
        records.embedder.embedded.clear()
        records.run(edge)
    assert records.embedder.embedded == []


def test_vectors_of_another_embedder_are_not_reused(records: Any, edge: Any) -> None:
    document = records.document(records.source(), "The pier is closed.")
    records.run(edge)
    records.embedder.name = "another"
    records.version(document, "The pier is closed.")
    assert [done.embedded for done in records.run(edge)] == [1]


def test_only_the_newest_of_several_waiting_versions_is_indexed(records: Any, edge: Any) -> None:
    document = records.document(records.source(), "One.")
    records.version(document, "Two.")
    newest = records.version(document, "Three.")
    assert follow.waiting(records.db) == 1
    assert [done.version_id for done in records.run(edge)] == [newest]
    assert [version.indexed_at is None for version in records.versions(document)] == [True, True, False]
    assert [version.superseded_at is None for version in records.versions(document)] == [False, False, True]
    assert follow.waiting(records.db) == 0


def test_a_second_run_has_nothing_to_do(records: Any, edge: Any) -> None:
    records.document(records.source(), LONG)
    records.run(edge)
    records.embedder.embedded.clear()
    assert records.run(edge) == []
    assert records.embedder.embedded == []


def test_high_priorities_go_first_and_then_the_oldest(records: Any, edge: Any) -> None:
    source = records.source()
    documents = [records.document(source, f"Text {i}.", priority=[50, 50, 90][i]) for i in range(3)]
    order = [done.document_id for _ in range(3) for done in records.run(edge, limit=1)]
    assert order == [documents[2], documents[0], documents[1]]


def test_a_version_without_text_answers_with_nothing_and_does_not_wait(records: Any, edge: Any) -> None:
    document = records.document(records.source(), "The pier is closed.")
    records.run(edge)
    records.version(document, "")
    assert [done.chunks for done in records.run(edge)] == [0]
    assert (edge.count(), follow.waiting(records.db)) == (0, 0)


def test_scopes_come_from_the_version(records: Any, edge: Any) -> None:
    records.document(records.source(scopes=["family", "library"]), "The pier is closed.")
    records.run(edge)
    query = records.embedder.embed_query("The pier is closed.")
    assert edge.nearest(query, 9, Filter(["library"]), -1) == []
    assert len(edge.nearest(query, 9, Filter(["library", "family"]), -1)) == 1


@pytest.mark.parametrize("state", [DocumentState.REMOVED, DocumentState.DUPLICATE, DocumentState.QUARANTINED,
                                   DocumentState.SKIPPED])
def test_what_is_not_wanted_is_not_indexed(records: Any, edge: Any, state: DocumentState) -> None:
    document = records.document(records.source(), "The pier is closed.")
    records.change(document, state=state)
    assert follow.waiting(records.db) == 0
    assert records.run(edge) == []


def test_a_version_is_indexed_although_a_later_attempt_to_read_went_wrong(records: Any, edge: Any) -> None:
    document = records.document(records.source(), "The pier is closed.")
    records.change(document, state=DocumentState.WAITING, reason="the server did not answer")
    assert len(records.run(edge)) == 1
    row = records.row(document)
    assert (row.state, row.reason) == (DocumentState.WAITING, "the server did not answer")
    assert row.version_id is not None


def test_what_a_removed_document_said_is_taken_out(records: Any, edge: Any) -> None:
    source = records.source()
    documents = [records.document(source, f"The pier is closed, says {i}.") for i in range(2)]
    records.run(edge)
    records.remove(documents[0])
    assert follow.waiting(records.db) == 1
    records.run(edge)
    assert (edge.count(), follow.waiting(records.db)) == (1, 0)
    assert [chunk.document_id for chunk in records.chunks(ChunkState.RETIRED)] == [documents[0]]


def test_what_waits_for_a_removed_source_is_not_indexed(records: Any, edge: Any) -> None:
    source = records.source()
    records.document(source, "The pier is closed.")
    with records.db.begin() as session:
        session.execute(update(Source).where(Source.id == source).values(removed_at=records.now))
    assert records.run(edge) == []


def test_a_large_batch_takes_no_more_statements_than_a_small_one(records: Any, edge: Any) -> None:
    source = records.source()
    counts = []
    for documents in (1, 16):
        for i in range(documents):
            records.document(source, f"# Title {i}\n\n{LONG}")
        with records.statements() as seen:
            assert len(records.run(edge)) == documents
        counts.append(len(seen))
    assert counts[1] <= counts[0] < 26


def test_many_versions_are_indexed_in_batches_that_each_are_finished(records: Any, edge: Any) -> None:
    source = records.source()
    for i in range(20):
        records.document(source, f"Text {i}.")
    records.embedder.fail_after = 17
    with pytest.raises(RuntimeError, match="out of order"):
        records.run(edge)
    assert (edge.count(), follow.waiting(records.db)) == (16, 4)


def test_vectors_are_kept_in_half_precision() -> None:
    vectors = unpack(pack(unpack([b"\x00\x3c\x00\xc0"])))
    assert vectors.tolist() == [[1.0, -2.0]]
    assert (str(vectors.dtype), pack(vectors)) == ("float32", [b"\x00\x3c\x00\xc0"])
    assert len(unpack([])) == 0


class TestLimits:
    """Articles in an hour and in a day, counted from the rows."""

    def test_no_more_than_the_hour_allows(self, records: Any, edge: Any) -> None:
        source = records.source()
        for i in range(5):
            records.document(source, f"Text {i}.")
        assert len(records.run(edge, per_hour=3)) == 3
        assert follow.held(records.db, 3, 1000, records.now) == 2
        assert records.run(edge, per_hour=3) == []
        later = records.now + timedelta(minutes=61)
        assert len(records.run(edge, per_hour=3, now=later)) == 2
        assert follow.used(records.db, later) == (2, 5)

    def test_no_more_than_the_day_allows(self, records: Any, edge: Any) -> None:
        source = records.source()
        for i in range(5):
            records.document(source, f"Text {i}.")
        for hours, expected in ((0, 2), (2, 2), (4, 0), (25, 1)):
            now = records.now + timedelta(hours=hours)
            assert len(records.run(edge, per_hour=2, per_day=4, now=now)) == expected, hours

    def test_our_own_documentation_neither_counts_nor_waits(self, records: Any, edge: Any) -> None:
        feed, own = records.source(), records.source(SourceKind.DOCUMENTATION)
        for i in range(3):
            records.document(feed, f"Article {i}.")
            records.document(own, f"Page {i}.")
        assert len(records.run(edge, per_hour=1)) == 4
        assert follow.held(records.db, 1, 1000, records.now) == 2
        records.document(own, "Page 4.")
        assert len(records.run(edge, per_hour=1)) == 1

    def test_who_is_held_back_is_told_why_and_until_the_next_place_is_free(
        self, records: Any, edge: Any
    ) -> None:
        source, later = records.source(), records.now + timedelta(minutes=20)
        documents = [records.document(source, f"Text {i}.") for i in range(5)]
        documents.append(records.document(records.source(SourceKind.DOCUMENTATION)))

        def holds(per_hour: int, per_day: int = 1000) -> dict[UUID, dict[str, str]]:
            told = follow.holds(records.db, documents, per_hour, per_day, later)
            return {document: hold.to_json() for document, hold in told.items()}

        records.run(edge, limit=1)
        records.run(edge, limit=2, now=later)
        assert holds(per_hour=4) == {}
        waiting = set(documents[3:5])
        for limit, used_place in ((3, records.now), (2, later), (1, later)):
            hold = {"reason": f"3 of {limit} articles this hour are indexed",
                    "until": (used_place + timedelta(hours=1)).isoformat()}
            assert holds(per_hour=limit) == dict.fromkeys(waiting, hold)
        day = {"reason": "3 of 3 articles this day are indexed",
               "until": (records.now + timedelta(days=1)).isoformat()}
        assert holds(per_hour=3, per_day=3) == dict.fromkeys(waiting, day)
        assert follow.current_hold(records.db, 4, 4, later) is None
        now_free = records.now + timedelta(hours=1)
        assert follow.holds(records.db, documents, 3, 1000, now_free) == {}
