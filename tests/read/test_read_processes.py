"""Many processes on one PostgreSQL: each document is read once, whatever becomes of a process."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import func, insert, select

from models.session import Database
from models.tables import Document, DocumentVersion, Source

pytestmark = pytest.mark.database
SCRIPT = Path(__file__).with_name("reading_process.py")
LEASE = 3.0  # seconds, of the processes that will be killed or stopped
BATCH = 50

Start = Callable[..., "Reader"]


class Reader:
    """One process of ``reading_process.py``."""

    def __init__(self, db: Database, name: str, folder: Path, lease: float, *hang: int) -> None:
        arguments = [db.url, name, str(folder), str(lease), *map(str, hang)]
        self.folder = folder
        command = [sys.executable, str(SCRIPT), *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{word}\n"

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> int:
        return self.process.wait(250)

    def lines(self, kind: str) -> list[str]:
        return (self.folder / f"{self.process.pid}.{kind}").read_text().splitlines()


@pytest.fixture
def start(db: Database, tmp_path: Path) -> Iterator[Start]:
    """Start processes that wait for ``go``; none outlives the test."""
    started = []

    def begin(name: str, lease: float = 60, *hang: int) -> Reader:
        started.append(Reader(db, name, tmp_path, lease, *hang))
        return started[-1]

    yield begin
    for reader in started:
        with suppress(ProcessLookupError):
            reader.process.kill()
        reader.process.communicate()


def plant(db: Database, documents: int) -> None:
    now = datetime.now(UTC)
    source = uuid4()
    with db.begin() as session:
        session.add(Source(id=source, kind="feed", name="Site", url="https://site.example/feed"))
        session.flush()
        session.execute(insert(Document), [
            {"id": uuid4(), "source_id": source, "url": f"https://host-{n % 100}.example/{n}",
             "key": f"https://host-{n % 100}.example/{n}", "due_at": now}
            for n in range(documents)])


def held(db: Database, name: str) -> int:
    """How many documents are leased to processes of a name."""
    [row] = db.execute(select(func.count()).where(Document.leased_by.startswith(f"{name}/")))
    return int(row[0])


def read_once(db: Database) -> bool:
    """Nothing is due, leased or read into two versions."""
    [left] = db.execute(select(func.count()).select_from(Document).where(
        (Document.state != "read") | Document.due_at.is_not(None) | Document.leased_by.is_not(None)))
    [most] = db.execute(select(func.max(DocumentVersion.number)))
    return (left[0], most[0]) == (0, 1)


@pytest.mark.parametrize("processes", [2, 4, 8])
def test_processes_share_the_documents_with_none_done_twice_and_none_left(
    db: Database, start: Start, processes: int
) -> None:
    plant(db, 2000)
    readers = [start("same-name") for _ in range(processes)]
    for reader in readers:
        reader.says("ready")
    for reader in readers:
        reader.go()
    assert [reader.end() for reader in readers] == [0] * processes
    fetched = Counter(url for reader in readers for url in reader.lines("fetched"))
    assert (len(fetched), set(fetched.values())) == (2000, {1})
    assert all(reader.lines("saved") for reader in readers)
    assert read_once(db)


def test_what_a_killed_process_had_taken_is_read_by_others_when_its_lease_ends(
    db: Database, start: Start
) -> None:
    plant(db, 300)
    victim, other = start("victim", LEASE, BATCH + 10), start("other", LEASE)
    for reader in (victim, other):
        reader.says("ready")
    victim.go()
    victim.says("hanging")
    victim.process.send_signal(signal.SIGKILL)
    victim.end()
    saved, left = set(victim.lines("saved")), held(db, "victim")
    assert 0 < left <= BATCH
    other.go()
    assert other.end() == 0
    again = set(victim.lines("fetched")) & set(other.lines("fetched"))
    assert not again & saved
    assert len(again) <= left
    assert read_once(db)


def test_a_process_that_lives_keeps_its_lease_however_long_a_page_takes(
    db: Database, start: Start, tmp_path: Path
) -> None:
    plant(db, BATCH)
    slow, other = start("slow", LEASE, 1), start("other", LEASE)
    for reader in (slow, other):
        reader.says("ready")
    slow.go()
    slow.says("hanging")
    other.go()
    time.sleep(1.5 * LEASE)
    assert (held(db, "slow"), other.lines("fetched")) == (BATCH, [])
    (tmp_path / "go").touch()
    assert (slow.end(), other.end()) == (0, 0)
    assert read_once(db)


def test_what_a_stopped_process_saves_after_its_lease_has_ended_is_dropped(
    db: Database, start: Start, tmp_path: Path
) -> None:
    plant(db, BATCH)
    stopped, other = start("stopped", LEASE, 1), start("other", LEASE)
    for reader in (stopped, other):
        reader.says("ready")
    stopped.go()
    stopped.says("hanging")
    stopped.process.send_signal(signal.SIGSTOP)
    other.go()
    assert other.end() == 0
    (tmp_path / "go").touch()
    stopped.process.send_signal(signal.SIGCONT)
    assert (stopped.end(), stopped.lines("saved"), len(other.lines("saved"))) == (0, [], BATCH)
    texts = db.execute(select(DocumentVersion.text))
    assert [text for (text,) in texts if not text.endswith("as other read it")] == []
    assert read_once(db)
