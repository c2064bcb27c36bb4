"""The folder of the embedded index, when somebody removes, replaces or blocks it while it is open."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import Transient
from tasks.index import follow
from tasks.index.edge import EdgeIndex
from tasks.ports import Entry, Filter

LIBRARY = Filter(["library"])
Make = Callable[..., list[Entry]]
TEXTS = ["the pier is closed", "the pier is open", "bread and yeast"]
REMOVALS = ["index", "index/shard-1", "index/shard-1/edge_config.json", "index/lock"]


@pytest.fixture
def filled(edge: EdgeIndex, entries: Make) -> EdgeIndex:
    """Three entries, in the folder ``index``."""
    edge.upsert(entries(TEXTS))
    return edge


def remove(path: Path) -> None:
    path.unlink() if path.is_file() else shutil.rmtree(path)


@pytest.mark.parametrize("removed", REMOVALS[:3])
def test_what_is_not_on_disk_is_not_counted(filled: EdgeIndex, tmp_path: Path, removed: str) -> None:
    remove(tmp_path / removed)
    assert (filled.count(), list(filled.ids())) == (0, [])


@pytest.mark.parametrize("removed", REMOVALS)
def test_questions_are_answered_although_the_folder_is_gone(
    filled: EdgeIndex, entries: Make, tmp_path: Path, removed: str
) -> None:
    remove(tmp_path / removed)
    filled.count()
    assert len(filled.nearest(entries(TEXTS)[0].vector, 9, LIBRARY, -1)) == 3


@pytest.mark.parametrize("removed", REMOVALS)
def test_the_next_write_makes_the_folder_anew_and_lasts(
    filled: EdgeIndex, entries: Make, tmp_path: Path, removed: str
) -> None:
    remove(tmp_path / removed)
    filled.delete([])
    filled.upsert(entries(["late"]))
    held = 4 if removed == "index/lock" else 1
    assert filled.count() == held
    with pytest.raises(Transient, match="is open in process"):
        EdgeIndex(tmp_path / "index", 32)
    filled.close()
    again = EdgeIndex(tmp_path / "index", 32)
    assert (again.fresh, again.count()) == (False, held)
    again.close()


def test_a_delete_makes_the_folder_anew_too(filled: EdgeIndex, entries: Make, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "index")
    filled.delete([entries(TEXTS)[0].id])
    assert (filled.fresh, filled.count()) == (True, 0)


def test_another_folder_in_its_place_is_the_one_that_counts(
    filled: EdgeIndex, entries: Make, tmp_path: Path
) -> None:
    other = EdgeIndex(tmp_path / "other", 32)
    other.upsert(entries(["restored one", "restored two"]))
    other.close()
    (tmp_path / "index").rename(tmp_path / "aside")
    (tmp_path / "other").rename(tmp_path / "index")
    filled.upsert(entries(["late"]))
    assert (filled.fresh, filled.count()) == (False, 3)


def test_an_index_whose_folder_is_gone_can_be_closed(filled: EdgeIndex, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "index")
    filled.close()
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("blocked", ["home", "home/index"])
def test_a_file_in_the_place_of_the_folder_is_one_clear_line(tmp_path: Path, blocked: str) -> None:
    (tmp_path / blocked).parent.mkdir(exist_ok=True)
    (tmp_path / blocked).write_text("")
    with pytest.raises(Transient) as refused:
        EdgeIndex(tmp_path / "home" / "index" / "model", 32)
    assert refused.value.reason == (
        f"the index cannot be kept in {tmp_path}/home/index/model, since {tmp_path / blocked} "
        "is not a folder: move it away")


def test_a_file_that_comes_into_the_place_of_the_open_folder_is_told_and_outlived(
    filled: EdgeIndex, entries: Make, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "index")
    (tmp_path / "index").write_text("")
    for _ in range(2):
        with pytest.raises(Transient, match="is not a folder: move it away"):
            filled.upsert(entries(["late"]))
        assert len(filled.nearest(entries(TEXTS)[0].vector, 9, LIBRARY, -1)) == 3
    (tmp_path / "index").unlink()
    filled.upsert(entries(["late"]))
    assert filled.count() == 1


def test_a_full_disk_is_told_before_anything_is_written(
    filled: EdgeIndex, entries: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tasks.index.folder.ROOM", 2**62)
        with pytest.raises(Transient, match=r"the disk .* has \d+ MB left and needs \d+: make room"):
            filled.upsert(entries(["late"]))
        assert filled.count() == 3
    filled.upsert(entries(["late"]))
    assert filled.count() == 4


def test_a_graph_that_is_being_built_when_the_folder_goes_harms_nothing(
    tmp_path: Path, entries: Make
) -> None:
    index = EdgeIndex(tmp_path / "index", 32, unoptimised=1_000, quiet=0.3)
    index.upsert(entries([f"text {i}" for i in range(1_000)]))
    shutil.rmtree(tmp_path / "index")
    index.upsert(entries(["late"]))
    assert index._optimiser is None or index._optimiser.join(60) is None
    index.upsert(entries(["later"]))
    assert index.count() == 2
    index.close()


@pytest.mark.database
class TestFilledAgain:
    """What was in the folder comes back from PostgreSQL."""

    @pytest.fixture
    def library(self, records: Any, edge: EdgeIndex, tmp_path: Path) -> Iterator[Any]:
        """Five documents, indexed; then the folder is removed."""
        source = records.source()
        for i in range(5):
            records.document(source, f"The boat number {i} has left.")
        records.run(edge)
        records.embedder.embedded.clear()
        shutil.rmtree(tmp_path / "index")
        yield records
        assert follow.verify(records.db, records.embedder, edge).agrees

    def test_by_the_next_run_although_nothing_waits(self, library: Any, edge: EdgeIndex) -> None:
        assert library.run(edge) == []
        assert (edge.count(), library.embedder.embedded) == (5, [])

    def test_by_the_next_run_together_with_what_is_new(self, library: Any, edge: EdgeIndex) -> None:
        library.document(library.source(), "The pier is closed.")
        assert len(library.run(edge)) == 1
        assert (edge.count(), len(library.embedder.embedded)) == (6, 1)

    def test_by_a_rebuild_after_a_check_that_says_so(self, library: Any, edge: EdgeIndex) -> None:
        assert len(follow.verify(library.db, library.embedder, edge).missing) == 5
        assert follow.fill(library.db, library.embedder, edge).to_json() == {
            "expected": 5, "written": 5, "removed": 0, "indexed": 5}

    def test_by_the_run_after_the_one_in_which_it_went(
        self, library: Any, edge: EdgeIndex, tmp_path: Path
    ) -> None:
        embed = library.embedder.embed

        def embed_and_remove(texts: list[str]) -> Any:
            shutil.rmtree(tmp_path / "index")
            return embed(texts)

        library.document(library.source(), "The pier is closed.")
        library.embedder.embed = embed_and_remove
        assert len(library.run(edge)) == 1
        library.embedder.embed = embed
        assert edge.count() == 1
        library.run(edge)
        assert edge.count() == 6
