"""What every adapter of the Index port keeps to."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid4

import numpy as np
import pytest

from tasks.errors import StageError
from tasks.ports import Embedder, Entry, Filter, Index

Make = Callable[..., list[Entry]]
LIBRARY = Filter(["library"])
TEXTS = ["the pier is closed", "the pier is open", "bread and yeast"]


def test_the_nearest_come_first_with_their_raw_cosine(
    index: Index, embedder: Embedder, entries: Make
) -> None:
    made = entries(TEXTS)
    index.upsert(made)
    query = embedder.embed_query("the pier is closed")
    hits = index.nearest(query, 3, LIBRARY, -1)
    assert [hit.id for hit in hits] == [entry.id for entry in made]
    cosines = [float(entry.vector @ query[0]) for entry in made]
    assert [hit.similarity for hit in hits] == pytest.approx(cosines, abs=1e-5)


def test_the_limit_is_kept_and_less_than_one_is_nothing(index: Index, entries: Make) -> None:
    index.upsert(entries(TEXTS))
    vector = entries(TEXTS)[0].vector
    assert [len(index.nearest(vector, limit, LIBRARY, -1)) for limit in (2, 1, 0, -1)] == [2, 1, 0, 0]


def test_what_is_less_alike_than_the_minimum_is_left_out(index: Index, entries: Make) -> None:
    made = entries(TEXTS)
    index.upsert(made)
    second = index.nearest(made[0].vector, 2, LIBRARY, -1)[1].similarity
    assert len(index.nearest(made[0].vector, 3, LIBRARY, second - 1e-4)) == 2
    assert len(index.nearest(made[0].vector, 3, LIBRARY, second + 1e-4)) == 1


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
    where = Filter(readers)
    for hits in index.nearest(made[0].vector, 9, where, -1), index.containing("pier", 9, where):
        assert [hit.id for hit in hits] == [made[0].id] * readable


def test_foreign_chunks_do_not_push_out_readable_ones(index: Index, entries: Make) -> None:
    index.upsert(entries([f"the pier is closed {i}" for i in range(300)], ["family"]))
    index.upsert(entries(["the pier is closed"]))
    assert len(index.nearest(entries(["the pier is closed 7"])[0].vector, 1, LIBRARY, -1)) == 1


def test_writing_an_id_again_replaces_it(index: Index, entries: Make) -> None:
    pier, _, bread = entries(TEXTS)
    index.upsert([pier])
    index.upsert([replace(pier, vector=bread.vector, scopes=["family"])])
    assert index.count() == 1
    assert index.nearest(bread.vector, 1, LIBRARY, -1) == []
    assert index.nearest(bread.vector, 1, Filter(["family"]), -1)[0].similarity == pytest.approx(1, abs=1e-5)


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
    assert index.nearest(entries(TEXTS)[0].vector, 5, LIBRARY, -1) == []


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
        index.nearest(entries(TEXTS)[0].vector, 1, LIBRARY, -1)


def test_threads_may_write_and_ask_at_once(index: Index, entries: Make) -> None:
    made = entries([f"text {i}" for i in range(400)])

    def work(i: int) -> int:
        index.upsert(made[i * 20 : i * 20 + 20])
        index.delete([made[i * 20].id])
        return len(index.nearest(made[i * 20 + 1].vector, 1, LIBRARY, 0.999))

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(work, range(20))) == 20
    assert index.count() == 380


def test_words_are_found_by_how_rare_they_are_and_how_often_they_are_said(
    index: Index, entries: Make
) -> None:
    made = entries(["the pier is closed, the pier", "the pier is open", "bread and yeast", "pier bread"])
    index.upsert(made)
    pier, mixed, nothing = (index.containing(words, 9, LIBRARY) for words in ("pier", "yeast pier", "quark"))
    assert {hit.id for hit in pier} == {made[0].id, made[1].id, made[3].id}
    assert pier[0].id == made[0].id
    assert mixed[0].id == made[2].id  # which one text says, not three
    assert nothing == []
    assert all(hit.similarity is None and hit.words and hit.words > 0 for hit in [*pier, *mixed])
    assert [hit.id for hit in index.containing("yeast pier", 1, LIBRARY)] == [made[2].id]


@pytest.mark.parametrize("words", ["", "  ", "?!", "the"])
def test_words_that_say_nothing_find_nothing(index: Index, entries: Make, words: str) -> None:
    index.upsert(entries(["the pier is closed", ""]))
    assert index.containing(words, 9, LIBRARY) == []
    assert index.count() == 2


MARCH, MAY = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=2))


@pytest.mark.parametrize(("where", "found"), [
    (Filter(["library"]), {"pier", "bread", "odd"}),
    (Filter(["library"], sources=[UUID(int=7)]), {"pier"}),
    (Filter(["library"], sources=[UUID(int=7), UUID(int=8)]), {"pier", "bread"}),
    (Filter(["library"], sources=[]), set()),
    (Filter(["library"], since=MARCH), {"pier", "bread"}),  # what has no date is left out
    (Filter(["library"], since=MARCH + timedelta(seconds=1)), {"bread"}),
    (Filter(["library"], until=MAY), {"pier"}),
    (Filter(["library"], until=datetime(2026, 5, 1, 2, 0, 1, tzinfo=BERLIN)), {"pier", "bread"}),
    (Filter(["library"], since=MARCH, until=MAY, languages=["en"]), {"pier"}),
    (Filter(["library"], content_types=["news", "opinion"]), {"pier"}),
    (Filter(["library"], content_types=["reference"]), set()),
    (Filter(["library"], languages=["de"]), {"bread"}),
    (Filter(["library"], languages=["de"], content_types=["news"]), set()),
    (Filter(["family"], languages=["de"]), set()),
    (Filter([]), set()),
])
def test_filters_hold_for_both_searches(index: Index, entries: Make, where: Filter, found: set[str]) -> None:
    pier, bread, odd = entries(["a word of the pier", "a word of bread", "a word that is odd"])
    index.upsert([
        replace(pier, source_id=UUID(int=7), published_at=MARCH, content_type="news", language="en"),
        replace(bread, source_id=UUID(int=8), published_at=MAY, language="de"), odd])
    names = {pier.id: "pier", bread.id: "bread", odd.id: "odd"}
    assert {names[hit.id] for hit in index.nearest(pier.vector, 9, where, -1)} == found
    assert {names[hit.id] for hit in index.containing("word", 9, where)} == found


def test_a_payload_is_written_anew_without_its_vector(index: Index, entries: Make) -> None:
    pier, _, bread = entries(TEXTS)
    index.upsert([pier])
    index.describe([replace(pier, content_type="opinion", scopes=["family"]), bread])
    family = Filter(["family"], content_types=["opinion"])
    assert index.count() == 1  # what is not there does not come by being described
    assert index.nearest(pier.vector, 9, LIBRARY, -1) == []
    assert index.nearest(pier.vector, 9, family, -1)[0].similarity == pytest.approx(1, abs=1e-5)
    assert [hit.id for hit in index.containing("pier", 9, family)] == [pier.id]


def test_what_is_held_otherwise_is_named(index: Index, entries: Make) -> None:
    pier, other, bread = entries(TEXTS)
    index.upsert([pier, other])
    assert (index.stale([pier, other]), index.unlike([pier, other])) == (set(), set())
    assert index.stale([replace(pier, language="en"), other, bread]) == {pier.id, bread.id}
    assert index.unlike([replace(pier, vector=bread.vector), other, bread]) == {pier.id, bread.id}
    assert index.unlike([replace(pier, text="other words"), replace(other, scopes=["x"])]) == {pier.id}
    index.upsert([replace(pier, language="en", published_at=MARCH)])
    index.describe([replace(other, language="de")])
    assert index.stale([pier, other]) == {pier.id, other.id}
    assert index.stale([replace(other, language="de")]) == set()
