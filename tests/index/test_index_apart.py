"""The embedded index in a process of its own: what it is asked, how it ends, and who notices."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.errors import Permanent, Transient
from tasks.index.apart import Apart
from tasks.index.edge import EdgeCollections, EdgeIndex
from tasks.ports import Entry, Filter

Make = Callable[..., list[Entry]]
LIBRARY = Filter(["library"])


def test_it_is_asked_as_any_other(apart: Apart, entries: Make) -> None:
    pier, bread = entries(["the pier", "bread"])
    apart.upsert([pier, bread])
    apart.delete([bread.id])
    apart.describe([pier])
    assert (apart.count(), list(apart.ids())) == (1, [pier.id])
    assert (apart.stale([pier]), apart.unlike([pier, bread])) == (set(), {bread.id})
    assert [hit.id for hit in apart.nearest(pier.vector, 9, LIBRARY, -1)] == [pier.id]
    assert [hit.id for hit in apart.containing("pier", 9, LIBRARY)] == [pier.id]


def test_what_it_refuses_is_told_by_the_next_call(apart: Apart, entries: Make) -> None:
    good, bad = entries(["one", "two"])
    apart.upsert([replace(bad, vector=bad.vector[:8])])
    with pytest.raises(Permanent, match="32 dimensions"):
        apart.upsert([good])
    apart.upsert([good])
    assert apart.count() == 1


def test_a_folder_that_another_has_open_is_not_to_be_had(tmp_path: Path) -> None:
    other, locked = EdgeIndex(tmp_path, 32), Apart(tmp_path, 32)
    with pytest.raises(Transient, match="is open in process"):
        locked.count()
    locked.close()
    other.close()


def test_what_was_filled_is_optimised_and_can_be_opened(tmp_path: Path, entries: Make) -> None:
    collections = EdgeCollections(tmp_path)
    with collections.filling("a", 32) as index:
        index.upsert(entries([f"text {i}" for i in range(900)]))
    opened = collections.open("a", 32)
    assert (opened.fresh, opened.count()) == (False, 900)
    opened.close()


def test_a_process_that_is_killed_is_noticed_and_what_it_wrote_stays(tmp_path: Path, entries: Make) -> None:
    index = Apart(tmp_path, 32)
    index.upsert(entries(["one"]))
    assert index.count() == 1
    os.kill(index._process.pid, signal.SIGKILL)
    with pytest.raises(Transient, match="goes on from there"):
        index.count()
    index.close()
    again = Apart(tmp_path, 32)
    assert again.count() == 1
    again.close()
