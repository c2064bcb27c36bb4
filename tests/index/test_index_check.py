"""The index and PostgreSQL compared, and the index made again from PostgreSQL alone."""

import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from tasks.index import follow
from tasks.index.edge import EdgeIndex
from tasks.ports import Entry, Filter

LIBRARY = Filter(["library"])
pytestmark = pytest.mark.database


@pytest.fixture
def filled(records: Any, edge: Any) -> Any:
    """Five documents of one chunk each, indexed."""
    source = records.source()
    for i in range(5):
        records.document(source, f"The boat number {i} has left.")
    records.run(edge)
    return records


def orphan() -> Entry:
    return Entry(id=uuid4(), document_id=uuid4(), version_id=uuid4(), source_id=uuid4(), scopes=["library"],
                 vector=np.ones(32, np.float32))


def test_both_sides_agree_after_a_run(filled: Any, edge: Any) -> None:
    assert follow.verify(filled.db, filled.embedder, edge).to_json() == {
        "agrees": True, "expected": 5, "indexed": 5, "missing": 0, "orphans": 0, "stale": 0, "unlike": 0,
        "compared": 5}


def test_what_is_missing_and_what_is_strange_is_named(filled: Any, edge: Any) -> None:
    lost, strange = filled.chunks()[0].id, orphan()
    edge.delete([lost])
    edge.upsert([strange])
    found = follow.verify(filled.db, filled.embedder, edge)
    assert (list(found.missing), list(found.orphans), found.agrees) == ([lost], [strange.id], False)


def test_a_rebuild_needs_nothing_but_postgresql(filled: Any, edge: Any, tmp_path: Path) -> None:
    questions = [filled.embedder.embed_query(f"boat number {i}") for i in range(5)]
    before = [edge.nearest(question, 5, LIBRARY, -1) for question in questions]
    edge.close()
    shutil.rmtree(tmp_path / "index")
    again = EdgeIndex(tmp_path / "index", 32)
    filled.embedder.embedded.clear()
    done = follow.fill(filled.db, filled.embedder, again)
    assert done.to_json() == {"expected": 5, "written": 5, "removed": 0, "indexed": 5}
    assert filled.embedder.embedded == []
    assert [again.nearest(question, 5, LIBRARY, -1) for question in questions] == before
    again.close()


def test_filling_writes_what_is_missing_and_takes_out_what_nobody_knows_of(filled: Any, edge: Any) -> None:
    edge.delete([filled.chunks()[0].id])
    edge.upsert([orphan(), orphan()])
    assert follow.fill(filled.db, filled.embedder, edge).to_json() == {
        "expected": 5, "written": 1, "removed": 2, "indexed": 5}
    assert follow.verify(filled.db, filled.embedder, edge).agrees


def test_an_index_that_lost_something_is_filled_by_a_repair(filled: Any, edge: Any) -> None:
    edge.delete([chunk.id for chunk in filled.chunks()[:2]])
    follow.repair(filled.db, filled.embedder, edge)
    assert follow.verify(filled.db, filled.embedder, edge).agrees


def test_an_index_that_lost_everything_is_filled_by_the_next_run(filled: Any, edge: Any) -> None:
    edge.delete([chunk.id for chunk in filled.chunks()])
    filled.embedder.embedded.clear()
    filled.run(edge)
    assert follow.verify(filled.db, filled.embedder, edge).agrees
    assert filled.embedder.embedded == []


def test_an_index_of_another_library_is_emptied_of_it(filled: Any, edge: Any) -> None:
    edge.upsert([orphan() for _ in range(7)])
    follow.repair(filled.db, filled.embedder, edge)
    assert follow.verify(filled.db, filled.embedder, edge).agrees


def test_what_is_on_its_way_out_is_neither_missing_nor_strange(filled: Any, edge: Any) -> None:
    filled.remove(filled.chunks()[0].document_id)
    found = follow.verify(filled.db, filled.embedder, edge)
    assert (found.expected, found.indexed, found.agrees) == (4, 5, True)
