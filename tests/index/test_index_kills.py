"""kill -9 at seeded moments of indexing and of a rebuild: what answers goes on, and all ends as it should.

ALMANAC_KILLS says how often; ``make test-kills`` does it fifty times.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from almanac.settings import Settings
from almanac.wiring import Library
from models.states import ChunkState, CollectionState, DocumentState
from models.tables import Collection
from tasks.index import follow

pytestmark = [pytest.mark.database, pytest.mark.timeout(1800)]

KILLS = int(os.environ.get("ALMANAC_KILLS", "3"))
SEED = int(os.environ.get("ALMANAC_KILLS_SEED", "1"))
NEW = 12  # documents between two kills: three batches
SCRIPT = Path(__file__).with_name("indexing_process.py")


class Process:
    """Begins the library's work, and may end it in the middle."""

    def __init__(self, url: str, home: Path) -> None:
        path = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
        self._parent = subprocess.Popen(
            [sys.executable, str(SCRIPT), url, str(home)], env=os.environ | path, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, until: float | None = None) -> int:
        """Its status in the end; killed after so many seconds."""
        assert self._parent.stdin
        assert self._parent.stdout
        print(file=self._parent.stdin, flush=True)
        pid = int(self._parent.stdout.readline())
        if until is not None:
            time.sleep(until)
            os.kill(pid, signal.SIGKILL)  # or what is left of it: nobody has waited for it yet
        print(file=self._parent.stdin, flush=True)
        return int(self._parent.stdout.readline())

    def close(self) -> None:
        self._parent.kill()
        self._parent.wait()


@pytest.fixture
def process(records: Any, home: Path) -> Iterator[Process]:
    running = Process(records.db.url, home)
    yield running
    running.close()


def collections(records: Any) -> list[tuple[str, str]]:
    with records.db.begin() as session:
        return [(row.state, row.name) for row in session.scalars(select(Collection))]


def test_whenever_indexing_or_a_rebuild_is_killed_it_goes_on_where_it_was(
    records: Any, process: Process, home: Path
) -> None:
    chance, source = random.Random(SEED), records.source()
    documents = [records.document(source, text(number)) for number in range(NEW)]
    began = time.monotonic()
    assert process.run() == 0
    whole, killed = time.monotonic() - began, 0
    for _ in range(KILLS):
        documents += [records.document(source, text(len(documents) + number)) for number in range(NEW)]
        for document in chance.sample(documents, 2):
            records.version(document, text(chance.randrange(10**6)))
        killed += process.run(until=chance.uniform(0, whole)) == signal.SIGKILL
        assert [state for state, _ in collections(records)].count(CollectionState.ANSWERING) == 1
    assert killed
    assert process.run() == 0
    for document in documents:
        newest = records.versions(document)[-1]
        row = records.row(document)
        assert (row.state, row.version_id) == (DocumentState.INDEXED, newest.id)
        assert {chunk.version_id for chunk in records.chunks(ChunkState.LIVE, document)} == {newest.id}
    assert {chunk.state for chunk in records.chunks()} <= {ChunkState.LIVE, ChunkState.RETIRED}
    [(state, name)] = collections(records)
    assert state == CollectionState.ANSWERING
    assert [folder.name for folder in (home / "index").iterdir() if folder.is_dir()] == [name]
    library = Library(Settings(home=home))
    library.db, library.bundled = records.db, records.embedder
    found = follow.verify(library.db, library.embedder, library.index, sample=None)
    library.index.close()  # type: ignore[attr-defined] - of the embedded one
    assert found.agrees, found.to_json()
    assert found.compared == len(records.chunks(ChunkState.LIVE))


def text(number: int) -> str:
    chance = random.Random(number)
    words = ["harbour", "tide", "ledger", "owl", "valley", "glass", "winter", "bridge", "market", "signal"]
    return "\n\n".join(" ".join(chance.choices(words, k=40)).capitalize() + f" {number}." for _ in range(3))
