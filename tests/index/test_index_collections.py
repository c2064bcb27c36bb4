"""A new collection is filled while the old one answers, for a rebuild or for another model."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from sqlalchemy import func, select, update

from models.states import ChunkState, CollectionState
from models.tables import Chunk, ChunkVector, Collection, DocumentVersion
from tasks.errors import Transient
from tasks.index import collections, follow
from tasks.index.collections import EmbeddingModel
from tasks.index.edge import EdgeCollections, EdgeIndex
from tasks.ports import Entry, Filter, Vectors

pytestmark = pytest.mark.database
QUESTION = "boat number has left"
DOCUMENTS = 9


class Other:
    """Another model: what ``inner`` makes, turned round, and shorter."""

    name, dimensions, window = "other/model", 16, 64

    def __init__(self, inner: Any) -> None:
        self.inner, self.count = inner, inner.count
        self.embedded: list[str] = []
        self.away = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.away:
            raise Transient("it is away")
        self.embedded += texts
        vectors = -type(self.inner)().embed(texts)[:, :16]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])


class Watched:
    """An index that does something of ours before its first write."""

    def __init__(self, index: EdgeIndex, act: Callable[[], object]) -> None:
        self.index, self.act = index, act
        self.written: list[Entry] = []

    def upsert(self, entries: Sequence[Entry]) -> None:
        act, self.act = self.act, lambda: None
        act()
        self.index.upsert(entries)
        self.written += entries

    def __getattr__(self, name: str) -> Any:
        return getattr(self.index, name)


@pytest.fixture
def filled(records: Any, edge: EdgeIndex) -> Any:
    source = records.source()
    for i in range(DOCUMENTS):
        records.document(source, f"The boat number {i} has left.")
    records.run(edge)
    records.embedder.embedded.clear()
    return records


@pytest.fixture
def new(tmp_path: Path) -> Any:
    index = EdgeCollections(tmp_path / "next").open("a", 32)
    yield index
    index.close()


def fill(records: Any, index: Any, embedder: Any = None) -> dict[str, int]:
    return follow.fill(records.db, embedder or records.embedder, index).to_json()


def test_a_new_collection_is_filled_from_postgresql_alone(
    filled: Any, edge: EdgeIndex, new: EdgeIndex
) -> None:
    vector, where = filled.embedder.embed_query(QUESTION), Filter(["library"])
    assert fill(filled, new) == {"expected": 9, "written": 9, "removed": 0, "indexed": 9}
    assert new.nearest(vector, 9, where, -1) == edge.nearest(vector, 9, where, -1)
    assert new.containing("boat 7", 9, where) == edge.containing("boat 7", 9, where)
    assert filled.embedder.embedded == []
    assert follow.verify(filled.db, filled.embedder, new, None).compared == 9


def test_what_was_filled_before_a_stop_is_not_written_again(
    filled: Any, new: EdgeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.index.fill.PAGE", 2)
    stopped = Watched(new, lambda: None)
    stopped.act = lambda: setattr(stopped, "act", stop)

    def stop() -> None:
        raise Transient("stopped")

    with pytest.raises(Transient, match="stopped"):
        fill(filled, stopped)
    assert 0 < new.count() < DOCUMENTS
    again = Watched(new, lambda: None)
    before = new.count()
    assert fill(filled, again)["indexed"] == DOCUMENTS
    assert len(again.written) == DOCUMENTS - before
    assert follow.verify(filled.db, filled.embedder, new).agrees


def test_what_happens_while_it_is_filled_is_caught_up_with(
    filled: Any, edge: EdgeIndex, new: EdgeIndex
) -> None:
    first, second = (chunk.document_id for chunk in filled.chunks()[:2])
    filled.run(edge)

    def meanwhile() -> None:
        filled.document(filled.source(), "The late boat has left.")
        filled.version(first, "The boat came back.")
        filled.remove(second)
        filled.run(edge)
        with filled.db.begin() as session:
            session.execute(update(DocumentVersion).values(language="en"))

    fill(filled, Watched(new, meanwhile))
    assert follow.verify(filled.db, filled.embedder, edge).stale
    fill(filled, new)
    found = follow.verify(filled.db, filled.embedder, new)
    assert (found.agrees, found.expected, found.compared) == (True, DOCUMENTS, DOCUMENTS)
    assert filled.answers(new, "boat came back")[0] == "The boat came back."


def test_a_version_that_is_judged_anew_is_described_without_its_vectors(filled: Any, edge: EdgeIndex) -> None:
    chunk = filled.chunks()[0]
    with filled.db.begin() as session:
        session.execute(update(DocumentVersion).where(DocumentVersion.id == chunk.version_id)
                        .values(language="de"))
    assert list(follow.verify(filled.db, filled.embedder, edge).stale) == [chunk.id]
    follow.describe(filled.db, edge, [chunk.version_id])
    assert follow.verify(filled.db, filled.embedder, edge).agrees
    assert [hit.id for hit in edge.containing("boat", 9, Filter(["library"], languages=["de"]))] == [chunk.id]
    assert filled.embedder.embedded == []


def test_a_vector_or_a_word_that_is_not_the_records_is_found(filled: Any, edge: EdgeIndex) -> None:
    one, other = filled.chunks()[:2]
    for chunk, values in (one, {"vector": other.vector[::-1]}), (other, {"text": "something else"}):
        with filled.db.begin() as session:
            session.execute(update(Chunk).where(Chunk.id == chunk.id).values(**values))
    found = follow.verify(filled.db, filled.embedder, edge)
    assert (set(found.unlike), found.agrees, found.missing) == ({one.id, other.id}, False, set())


def test_another_model_embeds_what_is_there_while_the_old_one_answers(
    filled: Any, edge: EdgeIndex, tmp_path: Path
) -> None:
    other = Other(filled.embedder)
    new = EdgeIndex(tmp_path / "other", 16)
    assert fill(filled, new, other)["indexed"] == DOCUMENTS
    texts = [f"Harbour news\nThe boat number {i} has left." for i in range(DOCUMENTS)]
    assert sorted(other.embedded) == texts
    assert len(filled.answers(edge, QUESTION)) == DOCUMENTS
    assert {chunk.embedder for chunk in filled.chunks()} == {"hashing"}
    late = filled.document(filled.source(), "The late boat has left.")
    filled.run(edge)
    fill(filled, new, other)
    assert len(other.embedded) == DOCUMENTS + 1
    collections.move_vectors(filled.db, other.name)
    assert {chunk.embedder for chunk in filled.chunks()} == {"other/model"}
    assert filled.chunks(document=late)[0].embedder == "other/model"
    assert follow.verify(filled.db, other, new, None).agrees
    assert filled.db.execute(select(func.count()).select_from(ChunkVector)) == [(0,)]
    new.close()


def test_a_model_of_the_same_name_with_vectors_of_another_size_embeds_all_anew(
    filled: Any, tmp_path: Path
) -> None:
    other, new = Other(filled.embedder), EdgeIndex(tmp_path / "other", 16)
    other.name = filled.embedder.name
    fill(filled, new, other)
    collections.move_vectors(filled.db, other.name)
    assert follow.verify(filled.db, other, new, None).compared == len(other.embedded) == DOCUMENTS
    new.close()


def test_a_model_that_goes_away_half_way_embeds_nothing_twice(
    filled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.index.fill.AT_ONCE", 4)
    other, new = Other(filled.embedder), EdgeIndex(tmp_path / "other", 16)
    embed = other.embed

    def tire(texts: Sequence[str]) -> Vectors:
        other.away = len(other.embedded) >= 4
        return embed(texts)

    monkeypatch.setattr(other, "embed", tire)
    with pytest.raises(Transient, match="it is away"):
        fill(filled, new, other)
    monkeypatch.setattr(other, "embed", embed)
    other.away = False
    fill(filled, new, other)
    assert len(other.embedded) == len(set(other.embedded)) == DOCUMENTS
    new.close()


def test_a_pending_chunk_of_the_old_model_is_embedded_by_the_one_that_answers_now(
    filled: Any, tmp_path: Path
) -> None:
    other, new = Other(filled.embedder), EdgeIndex(tmp_path / "other", 16)
    fill(filled, new, other)
    with filled.db.begin() as session:  # as a crash would leave it
        last = filled.chunks()[0].id
        session.execute(update(Chunk).where(Chunk.id == last).values(state=ChunkState.PENDING))
    new.delete([last])
    follow.repair(filled.db, other, new)
    assert follow.verify(filled.db, other, new).agrees
    new.close()


def test_one_collection_answers_and_one_is_filled(records: Any) -> None:
    db, mini, bge = records.db, EmbeddingModel("mini/LM", 4), EmbeddingModel("bge", 8, "http://tei/v1")
    assert (collections.answering(db), collections.filling(db)) == (None, None)
    old = collections.begin(db, mini, CollectionState.ANSWERING)
    new = collections.begin(db, bge)
    assert collections.begin(db, bge._replace(address="http://moved/v1")).name == new.name
    assert collections.filling(db).address == "http://moved/v1"  # type: ignore[union-attr]
    newer = collections.begin(db, mini)  # the owner has thought better of it
    assert old.name.startswith("mini-LM-4-")
    assert len({old.name, new.name, newer.name}) == 3
    collections.switch(db, newer.name)
    assert collections.answering(db).name == newer.name  # type: ignore[union-attr]
    assert collections.filling(db) is None
    removed: list[str] = []

    class Kept:
        remove = staticmethod(removed.append)

    collections.sweep(db, Kept())  # type: ignore[arg-type]
    assert sorted(removed) == sorted([old.name, new.name])
    assert db.execute(select(Collection.name)) == [(newer.name,)]


class Moody:
    """An index that refuses by chance, before or after it has done what it was asked, and makes up ids."""

    def __init__(self, index: EdgeIndex, chance: Any) -> None:
        self.index, self.chance, self.refusals = index, chance, 0

    def upsert(self, entries: Sequence[Entry]) -> None:
        self._perhaps(lambda: self.index.upsert(entries))
        if entries and self.chance.random() < 0.2:
            self.index.upsert([Entry(id=uuid4(), document_id=uuid4(), version_id=uuid4(), source_id=uuid4(),
                                     scopes=["library"], vector=entries[0].vector, text="ghost")])

    def delete(self, ids: Sequence[Any]) -> None:
        self._perhaps(lambda: self.index.delete(ids))

    def count(self) -> int:
        self._perhaps(lambda: None)
        return self.index.count()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.index, name)

    def _perhaps(self, work: Callable[[], None]) -> None:
        mood = self.chance.random()
        if mood > 0.3:
            return work()
        if mood < 0.15:
            work()
        self.refusals += 1
        raise Transient("the disk of the index is full")


def test_whatever_the_engine_refuses_or_makes_up_both_sides_agree_in_the_end(
    records: Any, edge: EdgeIndex
) -> None:
    chance = np.random.default_rng(6)
    moody, source = Moody(edge, chance), records.source()
    documents = [records.document(source, f"The boat number {i} has left.") for i in range(12)]
    for day in range(26):
        one = documents[chance.integers(len(documents))]
        if records.row(one).state != "removed":
            records.remove(one) if day % 13 == 12 else records.version(one, f"Boat on day {day}.")
        try:
            records.run(moody, limit=3)
        except Transient:
            assert len(records.answers(moody, QUESTION)) == len(records.chunks(ChunkState.LIVE))
    assert moody.refusals > 12
    follow.repair(records.db, records.embedder, edge)
    records.run(edge)
    assert follow.verify(records.db, records.embedder, edge, None).agrees
    live = records.chunks(ChunkState.LIVE)
    assert len({chunk.document_id for chunk in live}) == len(live)
    assert records.embedder.embedded == list(dict.fromkeys(records.embedder.embedded))
