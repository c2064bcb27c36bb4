"""A version that cannot be cut or embedded is put aside with its reason, and holds up no other."""

from collections.abc import Sequence
from typing import Any

import pytest

from models.states import DocumentState
from tasks.chunk import cut
from tasks.curate import retry_document
from tasks.errors import Permanent, Transient
from tasks.index import follow
from tasks.ports import Vectors

pytestmark = pytest.mark.database
ODD = "The odd one cannot be taken."


def odd_cut(title: str, blocks: Any, count: Any, window: int) -> Any:
    if any("odd" in block.text for block in blocks):
        raise IndexError("a fault of ours")
    return cut(title, blocks, count, window)


def make_odd(embedder: Any, error: Exception) -> None:
    embed = embedder.embed

    def odd_embed(texts: Sequence[str]) -> Vectors:
        if any("odd" in text for text in texts):
            raise error
        vectors: Vectors = embed(texts)
        return vectors

    embedder.embed = odd_embed


def run(records: Any, index: Any, cut: Any = cut) -> list[follow.Indexed]:
    return follow.index_versions(records.db, records.embedder, index, cut, 100, 1000, 1000, records.now)


@pytest.fixture
def three(records: Any) -> Any:
    """The second of three documents is odd."""
    source = records.source()
    records.documents = [records.document(source, text) for text in ("First.", ODD, "Third.")]
    return records


def assert_put_aside(three: Any, edge: Any, reason: str) -> None:
    first, odd, third = map(three.row, three.documents)
    assert (first.state, third.state) == (DocumentState.INDEXED, DocumentState.INDEXED)
    assert (odd.state, odd.reason, odd.version_id) == (DocumentState.FAILED, reason, None)
    assert (follow.waiting(three.db), run(three, edge)) == (0, [])
    assert follow.verify(three.db, three.embedder, edge).agrees


def test_one_that_cannot_be_cut_is_put_aside(three: Any, edge: Any) -> None:
    assert len(run(three, edge, odd_cut)) == 2
    assert_put_aside(three, edge, "indexing it failed inside Almanac (IndexError)")


@pytest.mark.parametrize(("error", "reason"), [
    (ValueError("no such token"), "indexing it failed inside Almanac (ValueError)"),
    (Permanent("the model refuses it"), "it cannot be indexed: the model refuses it"),
])
def test_one_that_cannot_be_embedded_is_put_aside(
    three: Any, edge: Any, error: Exception, reason: str
) -> None:
    make_odd(three.embedder, error)
    assert len(run(three, edge)) == 2
    assert_put_aside(three, edge, reason)


def test_one_that_is_alone_in_its_batch_is_put_aside_too(records: Any, edge: Any) -> None:
    document = records.document(records.source(), ODD)
    assert run(records, edge, odd_cut) == []
    assert records.row(document).state == DocumentState.FAILED


def test_a_model_that_is_away_fails_the_run_and_nothing_is_put_aside(three: Any, edge: Any) -> None:
    make_odd(three.embedder, Transient("the model server does not answer"))
    with pytest.raises(Transient, match="does not answer"):
        run(three, edge)
    assert {three.row(document).state for document in three.documents} == {DocumentState.READ}
    assert follow.waiting(three.db) == 3


def test_a_model_that_fails_for_all_fails_the_run_and_nothing_is_put_aside(three: Any, edge: Any) -> None:
    three.embedder.fail_after = 0
    with pytest.raises(RuntimeError, match="out of order"):
        run(three, edge, odd_cut)
    assert follow.waiting(three.db) == 3


def test_what_answered_before_goes_on_answering(records: Any, edge: Any) -> None:
    document = records.document(records.source(), "The even one.")
    run(records, edge)
    records.version(document, ODD)
    assert run(records, edge, odd_cut) == []
    assert records.row(document).state == DocumentState.FAILED
    assert records.answers(edge, "The even one.") == ["The even one."]


def test_its_owner_can_have_it_tried_again(three: Any, edge: Any) -> None:
    run(three, edge, odd_cut)
    assert retry_document(three.db.caller(["library"]), three.documents[1], three.now)
    assert [done.document_id for done in run(three, edge)] == [three.documents[1]]


def test_a_newer_version_is_tried(three: Any, edge: Any) -> None:
    run(three, edge, odd_cut)
    newer = three.version(three.documents[1], "An even one.")
    assert [done.version_id for done in run(three, edge, odd_cut)] == [newer]
    assert three.row(three.documents[1]).state == DocumentState.INDEXED
