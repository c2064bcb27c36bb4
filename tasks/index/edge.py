"""The embedded index: Qdrant Edge in this process, in a folder that one process at a time may hold."""

import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeVar, cast
from uuid import UUID

import qdrant_edge as engine

from tasks.errors import StageError, Transient
from tasks.index.folder import Folder, identity, usable
from tasks.index.points import DENSE, WORDS, is_empty, require_size, same_payload, stale, unlike
from tasks.index.shard import (
    UNOPTIMISED,
    Named,
    carry,
    config,
    create,
    load,
    point,
    query,
    translated,
    vectors_of,
    without_graph,
)
from tasks.index.words import question
from tasks.ports import Entry, Filter, Hit, Index, Payload, Vectors

BATCH = 500  # points a write, in which the engine keeps Python's lock for some 20 ms
PAGE = 5_000
QUIET = 5.0  # seconds without a write before they get one: what is written meanwhile is written twice
OF_OLD = "all-MiniLM-L6-v2"  # the folder of releases whose index knew no words
CONFIG = "edge_config.json"  # without which the engine opens nothing
OPTIMISER = Path(__file__).with_name("optimise.py")

log = logging.getLogger(__name__)
T = TypeVar("T")


class EdgeIndex:
    """Implements ports.Index in a folder.

    A shard that cannot be read, or that holds vectors of another size, is moved aside and begun anew; then
    ``fresh`` says that there is nothing in it. What ``upsert`` has returned from survives a kill and a power
    cut; what ``delete`` has, a kill. Many new points are given a search graph on a copy, in a process of its
    own, while this one answers and writes. Where the folder was removed or replaced, questions are answered
    as before, nothing is counted, and the next write makes it anew or opens what is there.
    """

    def __init__(self, folder: Path, dimensions: int, unoptimised: int = UNOPTIMISED,
                 quiet: float = QUIET) -> None:
        """Open the index, or make it. Raises Transient while another process has it open."""
        self.dimensions = dimensions
        self.fresh = False
        self._unoptimised = unoptimised
        self._quiet = quiet
        self._last_write = 0.0
        self._closing = Event()
        self._config = config(dimensions, unoptimised)
        self._writing = Lock()  # one writer; taken before the other
        self._handle = Lock()  # guards the open shard
        self._touched: set[UUID] = set()  # ids written since the optimiser's copy was made
        self._optimiser: Thread | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._folder = Folder(folder)
        try:
            self._shard: engine.EdgeShard | None = self._open()
        except BaseException:
            self._folder.let_go()
            raise

    def upsert(self, entries: Sequence[Entry]) -> None:
        require_size((entry.vector for entry in entries), self.dimensions)
        for part in parts(entries):
            self._write([entry.id for entry in part],
                        engine.UpdateOperation.upsert_points([point(entry) for entry in part]))
        if entries:
            self._flush()
            self._optimise_if_due()

    def describe(self, payloads: Sequence[Payload]) -> None:
        for stored, ids in same_payload(payloads):
            there = engine.Filter(must=[engine.HasIdCondition(set(ids))])
            self._write(ids, engine.UpdateOperation.overwrite_payload_by_filter(there, stored))
        if payloads:
            self._flush()

    def delete(self, ids: Sequence[UUID]) -> None:
        for part in parts(ids):
            self._write(part, engine.UpdateOperation.delete_points(list(part)))

    def nearest(self, vector: Vectors, limit: int, where: Filter, minimum: float) -> list[Hit]:
        require_size([vector.ravel()], self.dimensions)
        return [Hit(chunk, similarity=score)
                for chunk, score in self._ask(DENSE, vector.ravel().tolist(), limit, where, minimum)]

    def containing(self, words: str, limit: int, where: Filter) -> list[Hit]:
        asked = question(words)
        return [Hit(chunk, words=score) for chunk, score in
                (self._ask(WORDS, engine.SparseVector(*asked), limit, where) if asked.indices else ())]

    def _ask(self, using: str, vector: Named, limit: int, where: Filter,
             minimum: float | None = None) -> list[tuple[UUID, float]]:
        if is_empty(limit, where):
            return []
        with self._use("be searched") as open_shard:
            found = query(open_shard, using, vector, limit, minimum, where)
        return sorted(((cast(UUID, hit.id), hit.score) for hit in found), key=lambda it: (-it[1], it[0]))

    def count(self) -> int:
        if not self._is_there():
            return 0
        with self._use("be counted") as open_shard:
            return open_shard.count(engine.CountRequest(exact=True))

    def ids(self) -> Iterator[UUID]:
        offset: engine.PointId | None = None
        while self._is_there():
            with self._use("be listed") as open_shard:
                records, offset = open_shard.scroll(engine.ScrollRequest(
                    offset=offset, limit=PAGE, with_payload=False, with_vector=False))
            yield from (cast(UUID, record.id) for record in records)
            if offset is None:
                return

    def optimise(self) -> None:
        """Build the search graph now, in this process, which does nothing else meanwhile."""
        with self._writing, self._use("be optimised") as open_shard:
            open_shard.optimize()
            open_shard.flush()

    def stale(self, payloads: Sequence[Payload]) -> set[UUID]:
        records = self._records(payloads, with_vector=False)
        return stale(payloads, {cast(UUID, record.id): record.payload for record in records})

    def unlike(self, entries: Sequence[Entry]) -> set[UUID]:
        records = self._records(entries, with_vector=True)
        return unlike(entries, {cast(UUID, record.id): vectors_of(record) for record in records})

    def _records(self, payloads: Sequence[Payload], with_vector: bool) -> Iterator[engine.Record]:
        for part in parts(payloads):
            if self._is_there():
                with self._use("be read") as open_shard:
                    yield from open_shard.retrieve([payload.id for payload in part], with_payload=True,
                                                   with_vector=with_vector)

    def close(self) -> None:
        """Write everything down and let go of the folder. Closing twice is closing once."""
        self._closing.set()
        with self._handle:
            last, self._shard = self._shard, None
            if self._child:
                self._child.kill()
        if self._optimiser:
            self._optimiser.join()
        if last:
            try:
                if self._is_there():
                    with translated("be closed"):
                        last.flush()
                        last.close()
            finally:
                self._folder.let_go()

    @contextmanager
    def _use(self, doing: str) -> Iterator[engine.EdgeShard]:
        with self._handle, translated(doing):
            if self._shard is None:
                raise Transient("the index is closed")
            yield self._shard

    def _write(self, ids: Sequence[UUID], operation: engine.UpdateOperation) -> None:
        with self._writing:
            self._be_there()
            self._folder.require_room()
            with self._use("be written") as open_shard:
                open_shard.update(operation)
            self._last_write = monotonic()
            self._touched.update(ids if self._optimiser else ())

    def _flush(self) -> None:
        with self._writing, self._use("be written") as open_shard:
            open_shard.flush()

    def _is_there(self) -> bool:
        """Whether the open shard is what is in the folder, and this process holds that."""
        with self._handle:
            return self._folder.is_held() and self._shard_is_there()

    def _shard_is_there(self) -> bool:
        path = self._folder.shard(self._number)
        return identity(path) == self._identity and (path / CONFIG).exists()

    def _be_there(self) -> None:
        """Open what is in the folder, or make it, when that is not the open shard any more."""
        if self._is_there():
            return
        with self._use("be opened again"):
            self._folder.hold_again()
            if not self._shard_is_there():
                self._shard = self._open()  # the one that was open is gone from the disk
                log.warning("the index in %s was removed or replaced: it is filled again from the records",
                            self._folder.path)

    def _open(self) -> engine.EdgeShard:
        """The shard in use, made where there is none that can be read."""
        with usable(self._folder.path):
            number = self._folder.current
            path = self._folder.shard(number)
            for left_over in set(self._folder.path.glob("shard-*")) - {path}:
                shutil.rmtree(left_over)
            shard = self._load(path)
            self.fresh = shard is None
            shard = shard or create(path, self._config)
        self._number, self._identity = number, identity(path)
        return shard

    def _load(self, path: Path) -> engine.EdgeShard | None:
        """The shard at ``path``; none where there is none, or where it had to be moved aside."""
        if path.exists():
            try:
                return load(path, self._config)
            except Transient as error:
                aside = path.with_name("unreadable")
                log.warning("%s; it is made anew, and what was there is in %s", error, aside)
                shutil.rmtree(aside, ignore_errors=True)
                path.rename(aside)
        return None

    def _due(self) -> bool:
        with self._use("be measured") as open_shard:
            return without_graph(open_shard) >= self._unoptimised

    def _optimise_if_due(self) -> None:
        with self._writing:
            if not self._optimiser and self._due():
                self._optimiser = Thread(target=self._optimise, name="optimise", daemon=True)
                self._optimiser.start()

    def _optimise(self) -> None:
        """Replace the shard by optimised copies of it; whatever goes wrong, the one that is open stays."""
        try:
            while self._due():
                while (rest := self._last_write + self._quiet - monotonic()) > 0:
                    if self._closing.wait(rest):
                        return
                self._replace()
        except (StageError, OSError) as error:
            if self._shard:
                log.warning("the index goes on without a search graph for what is new: %s", error)
                self._unoptimised *= 2  # before it is tried again
        self._optimiser = None

    def _replace(self) -> None:
        old, new = self._number, self._number + 1
        try:
            self._copy(self._folder.shard(old), self._folder.shard(new))
            self._run(self._folder.shard(new))
            self._switch(new)
        finally:
            shutil.rmtree(self._folder.shard(new if self._number == old else old), ignore_errors=True)

    def _copy(self, original: Path, copy: Path) -> None:
        with self._writing:
            with self._use("be written") as open_shard:
                open_shard.flush()
            shutil.copytree(original, copy)
            self._touched = set()

    def _run(self, copy: Path) -> None:
        with self._use("be optimised"):
            self._child = subprocess.Popen([sys.executable, "-I", str(OPTIMISER), str(copy)],
                                           stdin=subprocess.DEVNULL)
        if status := self._child.wait():
            raise Transient(f"its optimiser ended with status {status}")

    def _switch(self, number: int) -> None:
        """Bring the optimised copy up to date and use it from now on."""
        optimised = load(self._folder.shard(number), self._config)
        if without_graph(optimised) >= optimised.info().points_count:
            raise Transient("its optimiser did nothing")
        while len(self._touched) > BATCH:
            with self._writing, self._use("be read") as open_shard:
                part = [self._touched.pop() for _ in range(BATCH)]
                carry(part, open_shard, optimised)
        with self._writing, self._use("be read") as open_shard:
            carry(list(self._touched), open_shard, optimised)
            optimised.flush()
            self._folder.current = number
            self._shard, self._number = optimised, number
            self._identity = identity(self._folder.shard(number))
            open_shard.close()


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items, as many at a time as the engine is given."""
    return (items[i : i + BATCH] for i in range(0, len(items), BATCH))


class EdgeCollections:
    """Implements ports.Collections: each is a folder in this one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        shutil.rmtree(folder / OF_OLD, ignore_errors=True)

    def open(self, name: str, dimensions: int) -> EdgeIndex:
        return EdgeIndex(self._folder / name, dimensions)

    @contextmanager
    def filling(self, name: str, dimensions: int) -> Iterator[Index]:
        from tasks.index.apart import Apart

        apart = Apart(self._folder / name, dimensions)
        try:
            yield apart
            apart.finish()
        finally:
            apart.close()

    def remove(self, name: str) -> None:
        with usable(self._folder / name):
            shutil.rmtree(self._folder / name, ignore_errors=True)
