"""What every adapter of the Index port keeps to."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

from tasks.errors import StageError
from tasks.ports import Embedder, Entry, Index

Make = Callable[..., list[Entry]]
TEXTS = ["the pier is closed", "the pier is open", "bread and yeast"]


def test_the_nearest_come_first_with_their_raw_cosine(
    index: Index, embedder: Embedder, entries: Make
) -> None:
    made = entries(TEXTS)
    index.upsert(made)
    query = embedder.embed_query("the pier is closed")
    hits = index.search(query, 3, ["library"], -1)
    assert [hit.id for hit in hits] == [entry.id for entry in made]
    cosines = [float(entry.vector @ query[0]) for entry in made]
    assert [hit.similarity for hit in hits] == pytest.approx(cosines, abs=1e-5)


def test_the_limit_is_kept_and_less_than_one_is_nothing(index: Index, entries: Make) -> None:
    index.upsert(entries(TEXTS))
    vector = entries(TEXTS)[0].vector
    assert [len(index.search(vector, limit, ["library"], -1)) for limit in (2, 1, 0, -1)] == [2, 1, 0, 0]


def test_what_is_less_alike_than_the_minimum_is_left_out(index: Index, entries: Make) -> None:
    made = entries(TEXTS)
    index.upsert(made)
    second = index.search(made[0].vector, 2, ["library"], -1)[1].similarity
    assert len(index.search(made[0].vector, 3, ["library"], second - 1e-4)) == 2
    assert len(index.search(made[0].vector, 3, ["library"], second + 1e-4)) == 1


@pytest.mark.parametrize(("scopes", "readers", "readable"), [
    (["library"], ["library"], True),
    (["library"], ["library", "family"], True),
    (["family", "library"], ["library", "family", "work"], True),
    (["family", "library"], ["library"], False),  # every scope of a chunk is needed, not any
    (["family"], ["library"], False),
    (["family"], ["Family"], False),
    (["family"], [], False),
])
def test_every_scope_of_a_chunk_must_be_the_readers(
    index: Index, entries: Make, scopes: Sequence[str], readers: Sequence[str], readable: bool
) -> None:
    made = entries(TEXTS[:1], scopes)
    index.upsert(made)
    assert [hit.id for hit in index.search(made[0].vector, 9, readers, -1)] == [made[0].id] * readable


def test_foreign_chunks_do_not_push_out_readable_ones(index: Index, entries: Make) -> None:
    index.upsert(entries([f"the pier is closed {i}" for i in range(300)], ["family"]))
    index.upsert(entries(["the pier is closed"]))
    assert len(index.search(entries(["the pier is closed 7"])[0].vector, 1, ["library"], -1)) == 1


def test_writing_an_id_again_replaces_it(index: Index, entries: Make) -> None:
    pier, _, bread = entries(TEXTS)
    index.upsert([pier])
    index.upsert([replace(pier, vector=bread.vector, scopes=["family"])])
    assert index.count() == 1
    assert index.search(bread.vector, 1, ["library"], -1) == []
    assert index.search(bread.vector, 1, ["family"], -1)[0].similarity == pytest.approx(1, abs=1e-5)


def test_deleting_is_by_id_and_may_be_repeated(index: Index, entries: Make) -> None:
    made = entries(TEXTS)
    index.upsert(made)
    for _ in range(2):
        index.delete([made[0].id, uuid4()])
    assert set(index.ids()) == {made[1].id, made[2].id}
    assert index.count() == 2


def test_an_empty_index_answers_with_nothing(index: Index, entries: Make) -> None:
    index.upsert([])
    index.delete([])
    assert (index.count(), list(index.ids())) == (0, [])
    assert index.search(entries(TEXTS)[0].vector, 5, ["library"], -1) == []


def test_every_id_is_listed_once(index: Index, entries: Make) -> None:
    made = entries([f"text {i}" for i in range(6_001)])
    index.upsert(made)
    assert sorted(index.ids()) == sorted(entry.id for entry in made)


def test_vectors_of_another_size_are_refused_and_nothing_is_written(index: Index, entries: Make) -> None:
    good, other, _ = entries(TEXTS)
    bad = replace(other, vector=np.ones(7, np.float32))
    with pytest.raises(StageError, match="32 dimensions"):
        index.upsert([good, bad])
    assert index.count() == 0


def test_a_closed_index_says_so(index: Index, entries: Make) -> None:
    index.close()
    index.close()
    with pytest.raises(StageError, match="closed"):
        index.search(entries(TEXTS)[0].vector, 1, ["library"], -1)


def test_threads_may_write_and_ask_at_once(index: Index, entries: Make) -> None:
    made = entries([f"text {i}" for i in range(400)])

    def work(i: int) -> int:
        index.upsert(made[i * 20 : i * 20 + 20])
        index.delete([made[i * 20].id])
        return len(index.search(made[i * 20 + 1].vector, 1, ["library"], 0.999))

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(work, range(20))) == 20
    assert index.count() == 380
