"""``make bench-index``: the index made again from PostgreSQL beside the bare engine, and what it costs to follow.

CHUNKS says how many. The bare engine is given the same points, vectors and words ready in memory, and the same
fields to filter by. Nothing of the web, of Prefect or of HTTP is in these figures.
"""

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import psutil
import psycopg
from run import plant
from sqlalchemy import text

from almanac.stack.postgres import Postgres, stop
from models.blocks import Block, BlockKind, digest, text_of
from models.session import Database
from models.tables import Document, DocumentVersion, Source
from tasks.chunk import cut
from tasks.embed.minilm import MiniLM
from tasks.index import follow
from tasks.index.apart import Apart
from tasks.index.check import LIVE
from tasks.index.edge import EdgeIndex
from tasks.index.fill import entries
from tasks.index.shard import config, create, point
from tasks.ports import Filter

CHUNKS = int(os.environ.get("CHUNKS", "200000"))
QUESTIONS = 200
LIBRARY = Filter(["library"])


def say(name: str, value: str) -> None:
    print(f"{name:58}{value}", flush=True)


def resident(pid: int | None = None) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6


class Spent(NamedTuple):
    """Seconds by the clock, and of processors: both sides' on a machine that does nothing else are alike."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} (CPU {self.cpu:.1f})"


class Stored:
    """The model whose vectors are planted: it is asked for nothing more."""

    name, dimensions, window = "all-MiniLM-L6-v2", 384, 254


def filled(db: Database, folder: Path) -> Spent:
    """What a rebuild takes until everything is written; then it gets its search graph."""
    index = Apart(folder, Stored.dimensions)
    index.count()  # it has started
    child = psutil.Process(index._process.pid)
    before = sum(child.cpu_times()[:2])
    began, cpu = time.perf_counter(), time.process_time()
    follow.fill(db, Stored(), index)
    spent = Spent(time.perf_counter() - began, time.process_time() - cpu + sum(child.cpu_times()[:2]) - before)
    say("  of the process that fills, MB resident", f"{resident(index._process.pid):.0f}")
    began = time.perf_counter()
    index.finish()
    index.close()
    say("  its search graph, seconds", f"{time.perf_counter() - began:.1f}")
    return spent


def bare(db: Database, folder: Path) -> Spent:
    """What the bare engine takes to write the same points, from memory, 500 at a time."""
    import qdrant_edge as engine

    shard = create(folder, config(Stored.dimensions, 20_000))
    seconds = cpu = 0.0
    for page in entries(db, Stored(), LIVE):
        made = [point(entry) for entry in page]
        parts = [[(it.id, it.vector, it.payload) for it in made[i : i + 500]] for i in range(0, len(made), 500)]
        began, used = time.perf_counter(), time.process_time()
        for part in parts:
            shard.update(engine.UpdateOperation.upsert_points([engine.Point(*it) for it in part]))
        shard.flush()
        seconds += time.perf_counter() - began
        cpu += time.process_time() - used
    shard.close()
    return Spent(seconds, cpu)


def asked(name: str, ask: Callable[[int], object]) -> None:
    times = []
    for number in range(QUESTIONS):
        began = time.perf_counter()
        ask(number)
        times.append(1000 * (time.perf_counter() - began))
    say(f"  {name}, p50 and p95 ms", f"{statistics.median(times):.2f} {np.percentile(times, 95):.2f}")


def searches(folder: Path, vectors: np.ndarray) -> None:
    before = resident()
    index = EdgeIndex(folder, Stored.dimensions)
    words = ["harbour market quarry", "the council measured the tide", "bridge ferry archive"]
    asked("nearest", lambda n: index.nearest(vectors[n], 64, LIBRARY, -1))
    asked("containing", lambda n: index.containing(words[n % 3], 64, LIBRARY))
    say("  of an open index, MB more resident", f"{resident() - before:.0f}")
    index.close()


def changed_paragraph(db: Database, folder: Path) -> None:
    """A document of forty chunks, and each of some paragraphs changed in turn."""
    chance, model, index = random.Random(1), MiniLM(), EdgeIndex(folder, 384)
    nouns = ["harbour", "tide", "council", "ledger", "owl", "engine", "valley", "glass", "winter", "bridge"]

    def paragraph() -> str:
        return " ".join(f"The {chance.choice(nouns)} and the {chance.choice(nouns)} were seen on day {n}." for n in range(12))

    texts = [paragraph() for _ in range(52)]
    with db.begin() as session:
        source = Source(kind="documentation", name="Long", url="https://long.example/")
        session.add(source)
        session.flush()
        document = Document(source_id=source.id, url=source.url, key=source.url, state="read")
        session.add(document)
        session.flush()
    found = []
    for number in range(12):
        if number:
            texts[chance.randrange(len(texts))] = paragraph()
        blocks = [Block(BlockKind.PARAGRAPH, text) for text in texts]
        with db.begin() as session:
            session.add(DocumentVersion(
                id=uuid4(), document_id=document.id, number=number + 1, title="Long", blocks=[it.to_json() for it in blocks],
                text=text_of(blocks), content_hash=digest(text_of(blocks)), final_url=source.url, extractor="none",
                read_at=datetime.now(UTC)))
        [done] = follow.index_versions(db, model, index, cut, 1, 99, 99, datetime.now(UTC))
        found.append((done.chunks, done.embedded))
    say("chunks of a document, of which one paragraph changed", str(found[0][0]))
    say("  embedded after each of 11 changes (goal: at most 3)", " ".join(str(new) for _, new in found[1:]))
    index.close()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="almanac-bench-") as scratch:
        server = Postgres(Path(scratch) / "home")
        process = server.start()
        try:
            server.ensure_database("bench")
            db = Database(server.url("bench"))
            db.migrate()
            changed_paragraph(db, Path(scratch) / "small")
            vectors = np.random.default_rng(7).standard_normal((CHUNKS, 384)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            db.execute(text("TRUNCATE source CASCADE"))
            with psycopg.connect(server.url("bench", driver="postgresql")) as connection:
                plant(connection, vectors)
            measure(db, Path(scratch), vectors)
            db.close()
        finally:
            stop(process)


def measure(db: Database, scratch: Path, vectors: np.ndarray) -> None:
    before = resident()
    ours = filled(db, scratch / "ours")
    say("  of the process that asks it, MB more resident", f"{resident() - before:.0f}")
    say(f"a rebuild of {CHUNKS:,} chunks, seconds", str(ours))
    floor = bare(db, scratch / "bare")
    say("the bare engine's upsert of the same points, seconds", str(floor))
    say("  ratio (goal: at most 1.3)", f"{ours.wall / floor.wall:.2f}")
    searches(scratch / "ours", vectors)


if __name__ == "__main__":
    sys.exit(main())
