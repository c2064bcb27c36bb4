"""``make bench-scopes``: what row-level security costs a retrieval. Goal: under 10 %.

The same questions, asked in turn as a caller, whom PostgreSQL holds to its scopes, and as the owner of the tables,
whom no policy holds: the whole of a retrieval, with the real model and index, in one process. So that the time of one
side is not the weather of that second, each question is asked of both, one right after the other, in changing order.
"""

import os
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psycopg
from run import plant

from almanac.stack.postgres import SETTINGS, Postgres, stop
from models.session import Database
from tasks.answer.question import Question
from tasks.answer.retrieve import retrieve
from tasks.embed.minilm import MiniLM
from tasks.index import follow
from tasks.index.edge import EdgeIndex

CHUNKS = int(os.environ.get("CHUNKS", "20000"))
PAIRS = int(os.environ.get("PAIRS", "300"))
WARM = 20
QUESTIONS = [f"What was {word} at the {other}?" for word in ("measured", "found", "opened", "counted") for other in
             ("harbour", "valley", "market", "river", "school", "quarry", "bridge", "forest", "archive", "ferry")]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="almanac-bench-") as folder:
        server = Postgres(Path(folder) / "pg", SETTINGS)
        process = server.start()
        try:
            server.ensure_database("bench")
            db = Database(server.url("bench"))
            db.migrate()
            print(*measure(db, server.url("bench", driver="postgresql"), Path(folder) / "index"), sep="\n")
            db.close()
        finally:
            stop(process)


def measure(db: Database, url: str, folder: Path) -> list[str]:
    model = MiniLM()
    index = EdgeIndex(folder, model.dimensions)
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((CHUNKS, model.dimensions)).astype(np.float32)
    vectors = 0.8 * vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors += model.embed(QUESTIONS)[np.arange(CHUNKS) % len(QUESTIONS)]  # real questions must find something
    with psycopg.connect(url) as connection:
        plant(connection, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), model.name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    print("the index is filled", file=sys.stderr)
    follow.fill(db, model, index)
    caller = db.caller(["library"])

    def ask(whose: Database, n: int) -> float:
        question = Question(f"{QUESTIONS[n % len(QUESTIONS)]} {n}")
        started = time.perf_counter()
        assert retrieve(whose, model, index, question, datetime.now(UTC)).excerpts
        return 1000 * (time.perf_counter() - started)

    held: list[float] = []
    free: list[float] = []
    for n in range(-WARM, PAIRS):
        pair = [(held, caller), (free, db)]
        for times, whose in pair[:: 1 if n % 2 else -1]:
            times.append(ask(whose, n))
    held, free = held[WARM:], free[WARM:]
    more = statistics.median(one - other for one, other in zip(held, free, strict=True))
    return [
        f"## Row-level security on a retrieval at {CHUNKS:,} chunks, {PAIRS} questions, each asked of both", "",
        "| | p10 ms | p50 ms | p95 ms |", "|---|---|---|---|",
        *(f"| {name} | " + " | ".join(f"{it:.1f}" for it in np.percentile(times, (10, 50, 95))) + " |"
          for name, times in (("as a caller, held to its scopes", held), ("as the owner of the tables", free))),
        f"| median of the differences (goal: under 10 %) | {more:.2f}, which is {more / statistics.median(free):.1%} | | |",
    ]


if __name__ == "__main__":
    main()
