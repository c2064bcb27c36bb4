"""``make bench-keep``: 1,000 notes that are known already, kept again, beside bare hashing and one query.

The notes have some 2,000 characters each, and a URI; they are kept by a caller whom row-level security holds. Bare is
what nobody can do without, over psycopg alone: one statement for the SHA-256 of the texts, and one for the documents
with these hashes. Goal: at most 3 times. What hashing in this process would cost is said beside it: PostgreSQL's
SHA-256 uses no instructions made for it.
"""

import asyncio
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from almanac.stack.postgres import SETTINGS, Postgres, stop
from models.session import Database
from tasks.extract import note
from tasks.keep.given import Given
from tasks.keep.identity import Outcome
from tasks.keep.texts import keep_texts

NOTES, ROUNDS = 1_000, 21
NOW = datetime(2026, 3, 1, tzinfo=UTC)
HASH = "SELECT sha256(convert_to(given, 'UTF8')) FROM unnest(%b::text[]) AS given"
QUERY = "SELECT id, given_hash FROM document WHERE given_hash = ANY(%s) AND scopes = %s AND state <> 'removed'"


class InProcess:
    async def parse(self, parser: str, body: bytes, context: Any) -> dict[str, Any]:
        return note.parse(body)


def notes() -> list[Given]:
    return [
        Given(("library",), f"# Note {n}\n\n" + f"On day {n} the ferry left at the turn of the tide. " * 40,
              uri=f"https://notes.example/{n}")
        for n in range(NOTES)
    ]


def uuid_of(digest: bytes) -> UUID:
    raw = bytearray(digest[:16])
    raw[6], raw[8] = raw[6] & 15 | 128, raw[8] & 63 | 128
    return UUID(bytes=bytes(raw))


def timed(work: Callable[[], object]) -> list[float]:
    """Milliseconds of each round, the first not counted."""
    rounds = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        work()
        rounds.append(1000 * (time.perf_counter() - started))
    return rounds[1:]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="almanac-bench-") as folder:
        server = Postgres(Path(folder) / "pg", SETTINGS)
        process = server.start()
        try:
            server.ensure_database("bench")
            db = Database(server.url("bench"))
            db.migrate()
            measure(db.caller(["library"]), server.url("bench", driver="postgresql"))
            db.close()
        finally:
            stop(process)


def measure(db: Database, url: str) -> None:
    given, parser = notes(), InProcess()
    started = time.perf_counter()
    asyncio.run(keep_texts(db, parser, given, NOW))
    print(f"first time: {time.perf_counter() - started:.1f} s for {NOTES} notes")
    with psycopg.connect(url, autocommit=True) as connection:
        texts = [it.text or "" for it in given]

        def look(hashes: list[UUID]) -> None:
            assert len(connection.execute(QUERY, (hashes, ["library"])).fetchall()) == NOTES

        def bare() -> None:
            rows = connection.execute(HASH, (texts,), binary=True).fetchall()
            look([uuid_of(row[0]) for row in rows])

        def in_process() -> None:
            look([uuid_of(hashlib.sha256(it.encode()).digest()) for it in texts])

        def ours() -> None:
            kept = asyncio.run(keep_texts(db, parser, given, NOW))
            assert {it.outcome for it in kept} == {Outcome.UNCHANGED}

        measured = {"kept again": timed(ours), "bare": timed(bare), "bare, hashed in process": timed(in_process)}
    for name, rounds in measured.items():
        print(f"{name}: {statistics.median(rounds):.1f} ms ({min(rounds):.1f} to {max(rounds):.1f})")
    us, them, quick = (statistics.median(rounds) for rounds in measured.values())
    print(f"ratio: {us / them:.2f} (goal: at most 3); beside hashing in process {us / quick:.2f}")


if __name__ == "__main__":
    main()
