"""Two runs on one PostgreSQL and one index: nothing is indexed twice, nothing is left, nothing is undone."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event, Thread
from typing import Any
from uuid import UUID

import pytest
from small_library import Vault
from sqlalchemy import func, update

from models.session import Database
from models.states import ChunkState, DocumentState
from models.tables import DocumentVersion
from tasks.chunk import cut
from tasks.errors import Transient
from tasks.index import follow
from tasks.index.claim import claim
from tasks.ports import Entry

pytestmark = pytest.mark.database
KILLED = """
import sys
from datetime import UTC, datetime
from models.session import Database
from small_library import Hashes, Vault
from tasks.chunk import cut
from tasks.index import follow

class Stuck(Vault):
    def upsert(self, entries):
        print("stuck", flush=True)
        sys.stdin.read()

same = Hashes()
same.name, same.dimensions = "hashing", 32  # as those who go on call theirs
follow.index_versions(Database(sys.argv[1]), same, Stuck(), cut, 9, 99, 99, datetime.now(UTC), "doomed")
"""


class Pausing(Vault):
    """An index that, asked to write, waits until it is told to go on."""

    def __init__(self, vault: Vault) -> None:
        self.entries = vault.entries
        self.paused, self.go_on = Event(), Event()

    def upsert(self, entries: Sequence[Entry]) -> None:
        self.paused.set()
        assert self.go_on.wait(60)
        super().upsert(entries)


@pytest.fixture
def vault() -> Vault:
    return Vault()


@pytest.fixture
def pausing(records: Any, vault: Vault) -> Any:
    """Begins a run of its own that stops at its first write, and a function that lets it end."""
    index = Pausing(vault)
    run = Thread(target=records.run, args=(index,))

    def begin() -> Callable[[], None]:
        run.start()
        assert index.paused.wait(60)
        return end

    def end() -> None:
        index.go_on.set()
        run.join(60)

    yield begin
    end()


def expire_leases(db: Database) -> None:
    with db.begin() as session:
        session.execute(update(DocumentVersion).where(DocumentVersion.leased_until.is_not(None))
                        .values(leased_until=func.now() - timedelta(seconds=1)))


def assert_nothing_is_leased(records: Any, documents: Sequence[UUID]) -> None:
    assert {version.leased_by for document in documents for version in records.versions(document)} == {None}


def test_runs_side_by_side_index_each_version_once_and_leave_none(records: Any, vault: Vault) -> None:
    source = records.source()
    documents = [records.document(source, f"Text number {i}.") for i in range(60)]

    def run_until_nothing_is_left(_: int) -> list[UUID]:
        done: list[UUID] = []
        while found := records.run(vault, limit=4):
            done += [each.document_id for each in found]
        return done

    with ThreadPoolExecutor(4) as pool:
        done = [each for part in pool.map(run_until_nothing_is_left, range(4)) for each in part]
    assert sorted(done) == sorted(documents)
    assert len(records.embedder.embedded) == 60
    assert follow.verify(records.db, records.embedder, vault).to_json() == {
        "agrees": True, "expected": 60, "indexed": 60, "missing": 0, "orphans": 0, "stale": 0, "unlike": 0,
        "compared": 60}
    assert_nothing_is_leased(records, documents)


def test_runs_side_by_side_keep_the_hours_limit_together(records: Any, vault: Vault) -> None:
    source = records.source()
    for i in range(40):
        records.document(source, f"Text number {i}.")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: records.run(vault, limit=6, per_hour=10), range(8)))
    assert (vault.count(), follow.used(records.db, records.now)) == (10, (10, 10))


def test_what_is_being_indexed_counts_against_the_limit(records: Any) -> None:
    source = records.source()
    for i in range(5):
        records.document(source, f"Text number {i}.")
    taken = [len(claim(records.db, holder, 3, 4, 1000, records.now)) for holder in ("a/1", "b/1", "c/1")]
    assert taken == [3, 1, 0]
    assert follow.held(records.db, 4, 1000, records.now) == 1


def test_what_another_run_has_begun_is_left_to_it(records: Any, vault: Vault, pausing: Any) -> None:
    document = records.document(records.source(), "The pier is closed.")
    end = pausing()
    assert follow.waiting(records.db) == 0
    assert records.run(vault) == []
    follow.repair(records.db, records.embedder, vault)
    assert [chunk.state for chunk in records.chunks()] == [ChunkState.PENDING]
    end()
    assert records.answers(vault, "The pier is closed.") == ["The pier is closed."]
    assert_nothing_is_leased(records, [document])


def test_a_killed_process_leaves_its_work_to_others_by_time(records: Any, vault: Vault) -> None:
    document = records.document(records.source(), "The pier is closed.")
    path = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    with subprocess.Popen([sys.executable, "-c", KILLED, records.db.url], env=path, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as doomed:
        assert doomed.stdout
        assert doomed.stdout.readline() == b"stuck\n"
        doomed.kill()
    assert records.run(vault) == []
    (version,) = records.versions(document)
    assert version.leased_by.startswith("doomed/")
    expire_leases(records.db)
    records.run(vault)
    assert records.embedder.embedded == []  # the vectors were in the rows
    assert records.row(document).state == "indexed"
    assert follow.verify(records.db, records.embedder, vault).agrees


def test_a_process_that_starts_again_gives_back_what_it_had(records: Any, vault: Vault) -> None:
    records.document(records.source(), "The pier is closed.")
    claim(records.db, "library/1", 9, 9, 9, records.now)
    assert records.run(vault) == []
    assert [follow.release(records.db, name) for name in ("lib", "library_", "library")] == [0, 0, 1]
    assert len(records.run(vault)) == 1


def test_a_run_that_fails_gives_back_what_it_had(records: Any, vault: Vault) -> None:
    document = records.document(records.source(), "The pier is closed.")
    records.embedder.fail_after = 0
    with pytest.raises(RuntimeError, match="out of order"):
        records.run(vault)
    assert_nothing_is_leased(records, [document])


def test_the_late_end_of_a_paused_run_does_not_undo_a_newer_version(
    records: Any, vault: Vault, pausing: Any
) -> None:
    document = records.document(records.source(), "The pier is closed.")
    end = pausing()
    newer = records.version(document, "The pier is open.")
    assert [done.version_id for done in records.run(vault)] == [newer]
    end()
    assert records.answers(vault, "The pier") == ["The pier is open."]
    assert records.row(document).version_id == newer
    assert follow.verify(records.db, records.embedder, vault).agrees


def test_the_late_end_of_a_paused_run_does_not_undo_what_another_finished_for_it(
    records: Any, vault: Vault, pausing: Any
) -> None:
    document = records.document(records.source(), "The pier is closed.")
    (version,) = records.versions(document)
    end = pausing()
    expire_leases(records.db)
    records.run(vault)
    assert records.row(document).version_id == version.id
    end()
    assert [chunk.state for chunk in records.chunks()] == [ChunkState.LIVE]
    assert len(records.embedder.embedded) == 1
    assert follow.verify(records.db, records.embedder, vault).agrees


def test_the_late_end_of_a_paused_run_does_not_bring_back_what_was_removed(
    records: Any, vault: Vault, pausing: Any
) -> None:
    document = records.document(records.source(), "The pier is closed.")
    end = pausing()
    expire_leases(records.db)
    records.remove(document)
    records.run(vault)
    end()
    assert (vault.count(), records.row(document).state) == (0, DocumentState.REMOVED)


def test_chunks_of_a_lease_that_was_lost_are_not_stored(records: Any, vault: Vault) -> None:
    document = records.document(records.source(), "The pier is closed.")
    embed = records.embedder.embed

    def embed_slowly(texts: Sequence[str]) -> Any:
        records.embedder.embed = embed
        expire_leases(records.db)
        assert len(records.run(vault)) == 1
        return embed(texts)

    records.embedder.embed = embed_slowly
    records.run(vault)
    assert [chunk.state for chunk in records.chunks()] == [ChunkState.LIVE]
    assert records.row(document).state == DocumentState.INDEXED


def test_a_lease_is_renewed_while_a_batch_is_embedded(
    records: Any, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.index.claim.LEASE", timedelta(seconds=2))
    monkeypatch.setattr("tasks.index.claim.RENEWAL_SECONDS", 0.1)
    document = records.document(records.source(), "The pier is closed.")
    embed, untils = records.embedder.embed, set()

    def embed_slowly(texts: Sequence[str]) -> Any:
        while len(untils) < 3:
            untils.add(records.versions(document)[0].leased_until)
        return embed(texts)

    records.embedder.embed = embed_slowly
    assert len(records.run(vault)) == 1


def test_an_index_that_fails_leaves_the_versions_to_the_next_run(records: Any, vault: Vault) -> None:
    class Away(Vault):
        def upsert(self, entries: Sequence[Entry]) -> None:
            raise Transient("the index does not answer")

    records.document(records.source(), "The pier is closed.")
    with pytest.raises(Transient, match="does not answer"):
        records.run(Away())
    follow.index_versions(records.db, records.embedder, vault, cut, 9, 9, 9, records.now)
    assert records.answers(vault, "The pier is closed.") == ["The pier is closed."]
