"""The embedded engine: what is on disk after a kill, who may open it, and what becomes of a broken folder."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.errors import Transient
from tasks.index.edge import EdgeIndex
from tasks.ports import Entry, Filter

LIBRARY = Filter(["library"])
Make = Callable[..., list[Entry]]
WRITER = """
import sys
from pathlib import Path
from uuid import UUID
import numpy as np
from tasks.index.edge import EdgeIndex
from tasks.ports import Entry, Filter

index = EdgeIndex(Path(sys.argv[1]), 32)
vector = np.ones(32, np.float32)
number = 0
while True:
    ids = [UUID(int=number + i) for i in range(20)]
    index.upsert([Entry(id=id_, document_id=id_, version_id=id_, source_id=id_, scopes=["library"],
                        vector=vector, text="bread") for id_ in ids])
    index.delete(ids[:1])
    number += 20
    print(number, flush=True)
"""


def open_index(folder: Path, dimensions: int = 32, unoptimised: int = 1000) -> EdgeIndex:
    return EdgeIndex(folder, dimensions, unoptimised, quiet=0)


def test_a_new_folder_is_fresh_and_one_that_was_closed_is_not(tmp_path: Path, entries: Make) -> None:
    index = open_index(tmp_path / "a" / "index")
    assert index.fresh
    index.upsert(entries(["one", "two"]))
    index.close()
    again = open_index(tmp_path / "a" / "index")
    assert (again.fresh, again.count()) == (False, 2)
    again.close()


def test_one_at_a_time_may_have_the_index_open(tmp_path: Path) -> None:
    index = open_index(tmp_path)
    with pytest.raises(Transient, match=r"is open in process \d+: stop that first"):
        open_index(tmp_path)
    index.close()
    open_index(tmp_path).close()


def test_kill_9_loses_nothing_that_was_written(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        said = [int(line) for line, _ in zip(writer.stdout, range(10), strict=False)]
        writer.send_signal(signal.SIGKILL)
        said += [int(line) for line in writer.stdout.read().split()]
    index = open_index(tmp_path)
    held = {id_.int for id_ in index.ids()}
    index.close()
    assert not index.fresh
    written = {number for number in range(said[-1]) if number % 20}
    assert written <= held
    assert not {number for number in held if number < said[-1] and number % 20 == 0}


def test_vectors_of_another_size_make_a_new_index_and_keep_the_old_aside(
    tmp_path: Path, entries: Make
) -> None:
    first = open_index(tmp_path)
    first.upsert(entries(["one"]))
    first.close()
    other = open_index(tmp_path, dimensions=8)
    assert (other.fresh, other.count()) == (True, 0)
    other.close()
    assert (tmp_path / "unreadable" / "edge_config.json").exists()


@pytest.mark.parametrize(("damaged", "left"), [
    ("segments/*/segment.json", None),
    ("segments/*/*.mappings", b"\x99" * 99),
    ("segments/*/vector_storage-dense/*/*", None),  # opens well, with points that are never found
    ("segments/*/vector_storage-dense/*/status.dat", b""),  # the engine panics
    ("wal/first-index", b""),
    ("edge_config.json", b"{"),
])
def test_a_damaged_index_is_moved_aside_and_begun_anew(
    damaged: str, left: bytes | None, tmp_path: Path, entries: Make
) -> None:
    index = open_index(tmp_path)
    index.upsert(entries(["one", "two"]))
    index.close()
    for file in (tmp_path / "shard-1").glob(damaged):
        file.unlink() if left is None else file.write_bytes(left)
    anew = open_index(tmp_path)
    assert (anew.fresh, anew.count()) == (True, 0)
    anew.upsert(entries(["one"]))
    assert len(anew.nearest(entries(["one"])[0].vector, 9, LIBRARY, 0.9)) == 1
    anew.close()
    assert (tmp_path / "unreadable").exists()


def test_many_points_are_optimised_while_the_index_is_used(tmp_path: Path, entries: Make) -> None:
    index = open_index(tmp_path)
    made = entries([f"text {i}" for i in range(1_500)])
    index.upsert(made[:1_000])
    late = 1_000
    while not (tmp_path / "current").exists():
        index.upsert(made[late : late + 5])
        index.delete([made[late].id])
        assert index.nearest(made[0].vector, 1, LIBRARY, 0.999)
        late = min(late + 5, 1_490)
        time.sleep(0.01)
    gone = {made[i].id for i in range(1_000, late, 5)}
    assert {entry.id for entry in made[:1_000]} <= set(index.ids())
    assert not gone & set(index.ids())
    index.close()
    again = open_index(tmp_path)
    number = (tmp_path / "current").read_text()
    assert [path.name for path in tmp_path.glob("shard-*")] == [f"shard-{number}"]
    assert (again.fresh, again.count()) == (False, late - len(gone))
    assert all(again.nearest(entry.vector, 1, LIBRARY, 0.999)[0].id == entry.id for entry in made[:200:20])
    again.close()


@pytest.mark.parametrize("quiet", [0, 60])
def test_closing_does_not_wait_for_the_optimiser(tmp_path: Path, entries: Make, quiet: float) -> None:
    index = EdgeIndex(tmp_path, 32, 1_000, quiet)
    index.upsert(entries([f"text {i}" for i in range(1_000)]))
    began = time.monotonic()
    index.close()
    assert time.monotonic() - began < 30
    again = open_index(tmp_path)
    assert again.count() == 1_000
    again.close()


def test_a_copy_that_was_being_optimised_at_a_kill_is_swept_away(tmp_path: Path, entries: Make) -> None:
    index = open_index(tmp_path)
    index.upsert(entries(["one"]))
    index.close()
    (tmp_path / "shard-2").mkdir()
    (tmp_path / "shard-2" / "edge_config.json").write_text("{}")
    again = open_index(tmp_path)
    assert (again.count(), (tmp_path / "shard-2").exists()) == (1, False)
    again.close()


def test_an_optimiser_that_fails_leaves_the_index_as_it_is(
    tmp_path: Path, entries: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tasks.index.edge.OPTIMISER", tmp_path / "missing.py")
    index = open_index(tmp_path)
    index.upsert(entries([f"text {i}" for i in range(1_000)]))
    while "search graph" not in caplog.text:
        time.sleep(0.01)
    index.upsert(entries(["late"]))
    assert index.count() == 1_001
    index.close()
    assert [path.name for path in tmp_path.glob("shard-*")] == ["shard-1"]
