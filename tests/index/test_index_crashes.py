"""A crash at any step leaves the old version answering until the switch, and the next run puts all right."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from models.states import ChunkState, DocumentState
from tasks.index import follow
from tasks.index.edge import EdgeIndex
from tasks.ports import Entry

pytestmark = pytest.mark.database
OLD = "# Pier\n\nThe pier is closed.\n\n# Tides\n\nThe tide is high."
NEW = "# Pier\n\nThe pier is open.\n\n# Tides\n\nThe tide is high."
OLD_ANSWERS = ["Pier\n\nThe pier is closed.", "Tides\n\nThe tide is high."]
NEW_ANSWERS = ["Pier\n\nThe pier is open.", "Tides\n\nThe tide is high."]


class CrashError(Exception):
    pass


class Crashing:
    """An index whose first write of a kind fails, before or after it is done; it can be asked as ever."""

    def __init__(self, index: EdgeIndex, step: str, when: str) -> None:
        self.index, self.step, self.when = index, step, when
        self.crashed = False

    def upsert(self, entries: Sequence[Entry]) -> None:
        self._around("upsert", lambda: self.index.upsert(entries))

    def delete(self, ids: Sequence[UUID]) -> None:
        self._around("delete", lambda: self.index.delete(ids))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.index, name)

    def _around(self, step: str, work: Any) -> None:
        fails = step == self.step and not self.crashed
        self.crashed = self.crashed or fails
        if fails and self.when == "before":
            raise CrashError
        work()
        if fails and self.when == "after":
            raise CrashError


@pytest.mark.parametrize(("step", "when", "meanwhile"), [
    ("upsert", "before", OLD_ANSWERS),
    ("upsert", "after", OLD_ANSWERS),
    ("delete", "before", NEW_ANSWERS),
    ("delete", "after", NEW_ANSWERS),
])
def test_a_crash_at_a_write_is_finished_by_the_next_run(
    records: Any, edge: Any, step: str, when: str, meanwhile: list[str]
) -> None:
    document = records.document(records.source(), OLD)
    records.run(edge)
    new = records.version(document, NEW)
    with pytest.raises(CrashError):
        records.run(Crashing(edge, step, when))
    assert sorted(records.answers(edge, "pier tide high open closed is")) == meanwhile
    records.embedder.embedded.clear()
    records.run(edge)
    assert records.embedder.embedded == []  # what was embedded is in the rows
    assert_settled(records, edge, document, new)


def test_a_crash_at_any_transaction_is_finished_by_the_next_run(
    records: Any, edge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = records.document(records.source(), OLD)
    records.run(edge)
    for failing in range(1, 100):
        old, new = records.row(document).version_id, records.version(document, f"{NEW}\n\nTake {failing}.")
        with monkeypatch.context() as patch:
            patch.setattr(records.db, "begin", crash_at(failing, records.db.begin))
            try:
                records.run(edge)
            except CrashError:
                pass
            else:
                break
        answering = records.row(document).version_id
        assert answering in {old, new}
        assert {chunk.version_id for chunk in records.chunks(ChunkState.LIVE)} == {answering}
        assert len(records.answers(edge, "pier tide high open closed is")) == 2
        records.run(edge)
        assert_settled(records, edge, document, new)
    assert 8 < failing < 20


def crash_at(number: int, begin: Callable[[], Any]) -> Callable[[], Any]:
    """``begin`` as it is, but for one transaction."""
    numbers = count(1)

    def begin_or_crash() -> Any:
        if next(numbers) == number:
            raise CrashError
        return begin()

    return begin_or_crash


def test_repair_alone_finishes_what_was_begun(records: Any, edge: Any) -> None:
    document = records.document(records.source(), OLD)
    (version,) = records.versions(document)
    with pytest.raises(CrashError):
        records.run(Crashing(edge, "upsert", "after"))
    follow.repair(records.db, records.embedder, edge)
    assert_settled(records, edge, document, version.id)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_document_that_is_removed_after_a_crash_does_not_come_back(
    records: Any, edge: Any, when: str
) -> None:
    document = records.document(records.source(), OLD)
    with pytest.raises(CrashError):
        records.run(Crashing(edge, "upsert", when))
    records.remove(document)
    records.run(edge)
    assert (edge.count(), records.chunks(ChunkState.LIVE), records.chunks(ChunkState.PENDING)) == (0, [], [])
    assert records.row(document).state == DocumentState.REMOVED
    assert records.row(document).version_id is None


def test_a_document_that_is_removed_while_it_is_indexed_does_not_come_back(records: Any, edge: Any) -> None:
    document = records.document(records.source(), OLD)

    class Removing(Crashing):
        def _around(self, step: str, work: Any) -> None:
            work()
            records.remove(document)

    records.run(Removing(edge, "", ""))
    assert (edge.count(), records.row(document).version_id) == (0, None)
    assert {chunk.state for chunk in records.chunks()} == {ChunkState.RETIRED}


def test_an_embedder_that_fails_leaves_everything_as_it_was(records: Any, edge: Any) -> None:
    document = records.document(records.source(), OLD)
    records.run(edge)
    records.version(document, NEW)
    records.embedder.fail_after = 0
    with pytest.raises(RuntimeError, match="out of order"):
        records.run(edge)
    assert sorted(records.answers(edge, "pier tide high open closed is")) == OLD_ANSWERS
    assert records.chunks(ChunkState.PENDING) == []
    assert follow.verify(records.db, records.embedder, edge).agrees


def assert_settled(records: Any, edge: Any, document: UUID, version: UUID) -> None:
    """The version answers, it alone and once, and both sides agree."""
    live = records.chunks(ChunkState.LIVE)
    assert {chunk.version_id for chunk in live} == {version}
    assert len({chunk.position for chunk in live}) == len(live) == edge.count() == 2
    assert {chunk.state for chunk in records.chunks()} <= {ChunkState.LIVE, ChunkState.RETIRED}
    assert follow.verify(records.db, records.embedder, edge).agrees
    assert records.row(document).version_id == version
    assert follow.waiting(records.db) == 0
