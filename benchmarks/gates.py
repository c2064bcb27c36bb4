"""``make bench-gates``: what the quality gates cost for each 500 versions, in batches as the index run makes them.

Seconds of CPU and memory, of the process that measures and of the one that judges; the import of Great
Expectations is told apart, since it is paid once for as long as batches come.
"""

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import psutil
from articles import PARAGRAPHS, sentence

from almanac.stack.postgres import Postgres, stop
from models.blocks import Block, BlockKind, digest, place, text_of
from models.session import Database
from models.tables import Document, DocumentVersion, Source
from tasks.gates.examiner import Examiner
from tasks.gates.gate import Gates

VERSIONS, BATCH, DIMENSIONS, WINDOW = 500, 16, 384, 256


@contextmanager
def database(folder: Path) -> Iterator[Database]:
    server = Postgres(folder)
    process = server.start()
    try:
        server.ensure_database("bench")
        db = Database(server.url("bench"))
        db.migrate()
        yield db
        db.close()
    finally:
        stop(process)


def plant(db: Database) -> list[UUID]:
    """Versions of some 900 words, as reading leaves them."""
    chance, made, now = random.Random(7), [], datetime.now(UTC)
    source = Source(id=uuid4(), kind="feed", name="Bench", url="https://bench.example/")
    with db.begin() as session:
        session.add(source)
        session.flush()
        for number in range(VERSIONS):
            url = f"https://bench.example/{number}"
            blocks = [Block(BlockKind.PARAGRAPH, " ".join(sentence(chance) for _ in range(8))) for _ in range(PARAGRAPHS)]
            document = Document(id=uuid4(), source_id=source.id, url=url, key=url, state="read")
            session.add(document)
            session.flush()
            version = DocumentVersion(
                id=uuid4(), document_id=document.id, number=1, blocks=[block.to_json() for block in blocks],
                text=text_of(blocks), content_hash=digest(text_of(blocks)), title=f"Report {number}", language="en",
                final_url=url, extractor="bench", read_at=now + timedelta(seconds=number))
            session.add(version)
            made.append(version.id)
    return made


def chunks_of(db: Database, versions: list[UUID], vector: bytes) -> list[dict[str, object]]:
    rows = []
    with db.begin() as session:
        for version in versions:
            blocks = map(Block.from_json, session.get_one(DocumentVersion, version).blocks)
            rows += [{"version_id": version, "start": it.start, "end": it.end, "text": it.block.text, "tokens": 180,
                      "digest": it.block.text, "vector": vector} for it in place(blocks)]
    return rows


def cpu(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system


def measure(scratch: Path) -> list[str]:
    """The lines of a report."""
    examiner = Examiner()
    with database(scratch) as db:
        versions = plant(db)
        gate = Gates(db, examiner)
        started = time.perf_counter()
        gate.versions(versions[:1])
        first = time.perf_counter() - started
        here, there = psutil.Process(), psutil.Process(examiner.pid)
        imported = cpu(there)
        vector = (np.ones(DIMENSIONS) / DIMENSIONS**0.5).astype("<f2").tobytes()
        batches = [versions[at:at + BATCH] for at in range(0, VERSIONS, BATCH)]
        chunks = [chunks_of(db, batch, vector) for batch in batches]
        before_here, started, refused, counted = cpu(here), time.perf_counter(), 0, 0
        for batch, rows in zip(batches, chunks, strict=True):
            refused += sum(it.refuses for it in gate.versions(batch)) + len(gate.chunks(rows, WINDOW, DIMENSIONS))
            counted += len(rows)
        seconds = time.perf_counter() - started
        used_here, used_there = cpu(here) - before_here, cpu(there) - imported
        memory = there.memory_info().rss / 1e6
    examiner.close()
    assert not refused, "a synthetic version was refused"
    return [
        f"## Quality gates: {VERSIONS} versions, {counted:,} chunks, in batches of {BATCH}", "",
        "| | |", "|---|---|",
        f"| wall, once it is warm | {seconds:.1f} s: {1000 * seconds / VERSIONS:.0f} ms a version |",
        f"| CPU of measuring, in the library | {used_here:.1f} s |",
        f"| CPU of judging, in a process of its own | {used_there:.1f} s |",
        f"| the first batch, with the import of Great Expectations | {first:.1f} s wall, {imported:.1f} s CPU |",
        f"| memory of the process that judges, while batches come | {memory:.0f} MB |", "",
    ]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="almanac-gates-") as scratch:
        sys.stdout.write("\n".join(measure(Path(scratch))))


if __name__ == "__main__":
    main()
