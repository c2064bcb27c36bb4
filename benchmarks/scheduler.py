"""``make bench-scheduler``: one pass over 1,000 due sources beside bare conditional requests, in one run.

A site of its own answers on forty loopback addresses, in a process of its own: 990 feeds with 304, ten with a
new item. Both sides ask the same addresses, as many at once, with the same validators. A pass is what a tick
does without Prefect: find what is due, look at each through the door and the jail, write what came of it.
CPU is that of the process and of the jail's; PostgreSQL's is said beside it. Then again with 100,000 documents.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
from hosts import HOSTS, Answer, address, serve
from sqlalchemy import event, insert, text

from almanac.stack.postgres import SETTINGS, Postgres, stop
from almanac.wiring import PARSERS
from models.session import Database
from models.tables import Poll, Source
from tasks.discover.poll import due_sources, poll_source
from tasks.extract.jail import Jail
from tasks.ports import Read
from tasks.web.door import Door
from tasks.web.policy import Policy

SOURCES, CHANGED, AT_ONCE = 1000, 10, 16
ROUNDS = int(os.environ.get("ROUNDS", "5"))
DOCUMENTS = (1_000, 100_000)
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
PLAN = {  # what a pass asks that could grow with what is stored
    "due sources": "SELECT id FROM source WHERE next_poll_at <= now() AND removed_at IS NULL AND NOT paused",
    "known documents": "SELECT id FROM document WHERE key = ANY('{a,b}') AND state <> 'removed'",
    "own items": "SELECT id FROM document WHERE source_id = '00000000-0000-0000-0000-000000000000' "
                 "AND item_key = ANY('{a,b}')",
}


def feeds() -> Answer:
    """Conditional requests are answered with 304, those below /changed with another item each."""
    asked = 0

    def changed() -> bytes:
        nonlocal asked
        asked += 1
        item = f"<item><title>Ferry {asked}</title><link>https://a.example/new/{asked}</link></item>"
        body = f"<rss version='2.0'><channel><title>Ferries</title>{item}</channel></rss>".encode()
        head = f'HTTP/1.1 200 X\r\ncontent-type: text/xml\r\netag: "n{asked}"\r\ncontent-length: {len(body)}\r\n\r\n'
        return head.encode() + body

    async def answer(path: bytes) -> bytes:
        return changed() if path.startswith(b"/changed") else b'HTTP/1.1 304 X\r\netag: "1"\r\n\r\n'

    return answer


def addresses(port: int) -> list[str]:
    return [address(port, number, f"{'changed' if number < CHANGED else 'feed'}/{number}")
            for number in range(SOURCES)]


def plant(db: Database, urls: list[str]) -> None:
    """The sources as a good poll an hour ago has left them."""
    with db.begin() as session:
        made = insert(Source).returning(Source.id)
        rows = [{"kind": "feed", "url": url, "name": url, "every_seconds": 3600, "next_poll_at": NOW, "etag": '"1"',
                 "body_hash": "x"} for url in urls]
        ids = session.scalars(made, rows).all()
        session.execute(insert(Poll), [
            {"source_id": source_id, "started_at": NOW - HOUR, "finished_at": NOW - HOUR, "outcome": "new",
             "reason": "1 new", "http_status": 200} for source_id in ids])


def fill(db: Database, count: int) -> None:
    """Documents up to ``count``, spread over the sources."""
    with db.begin() as session:
        session.execute(text("""
            INSERT INTO document (id, source_id, scopes, url, key, item_key, item_hash, state, reason, attempts, priority)
            SELECT gen_random_uuid(), ids[1 + n % 1000], '{library}', 'https://b.example/' || n,
                   'https://b.example/' || n, 'guid:' || n, md5(n::text), 'indexed', 'indexed', 0, 50
            FROM generate_series((SELECT count(*) FROM document) + 1, :count) n, (SELECT array_agg(id) ids FROM source) s
        """), {"count": count})
    db.execute(text("VACUUM ANALYZE"))


class Meter:
    """CPU seconds of this process with the jail's, and of PostgreSQL with its servers."""

    def __init__(self, postgres: int) -> None:
        self.own, self.postgres = psutil.Process(), psutil.Process(postgres)

    def read(self) -> tuple[float, float]:
        servers = [self.postgres, *self.postgres.children(recursive=True)]
        away = {server.pid for server in servers}
        mine = [self.own, *(child for child in self.own.children(recursive=True) if child.pid not in away)]
        return cpu(mine), cpu(servers)

    async def of(self, work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
        before = self.read()
        await work()
        return tuple(after - first for after, first in zip(self.read(), before, strict=True))


def cpu(processes: list[psutil.Process]) -> float:
    seconds = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
            seconds += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return seconds


async def at_once(work: Callable[[Any], Awaitable[object]], things: list[Any]) -> None:
    room = asyncio.Semaphore(AT_ONCE)

    async def one(thing: Any) -> None:
        async with room:
            await work(thing)

    await asyncio.gather(*map(one, things))


async def one_pass(db: Database, door: Door, jail: Jail, now: datetime) -> None:
    async def look(source_id: Any) -> None:
        await poll_source(db, door, jail, source_id, now, nobody)

    ids = due_sources(db, now)
    assert len(ids) == SOURCES
    await at_once(look, ids)


async def nobody(document_id: object, now: datetime) -> Read | None:
    return None


async def bare(client: httpx.AsyncClient, urls: list[str]) -> None:
    async def ask(url: str) -> None:
        (await client.get(url, headers={"if-none-match": '"1"'})).read()

    await at_once(ask, urls)


@contextmanager
def counted(db: Database) -> Iterator[list[str]]:
    said: list[str] = []

    def note(conn: object, cursor: object, statement: str, *rest: object) -> None:
        said.append(statement)

    event.listen(db.engine, "before_cursor_execute", note)
    yield said
    event.remove(db.engine, "before_cursor_execute", note)


async def compare(db: Database, meter: Meter, port: int) -> dict[str, Any]:
    urls, now = addresses(port), NOW
    plant(db, urls)
    door = Door(Policy("127.0.1.0/24"), host_delay=0, in_flight=AT_ONCE)
    jail = Jail(PARSERS)
    told: dict[str, Any] = {}
    limits = httpx.Limits(max_connections=AT_ONCE * 2, max_keepalive_connections=HOSTS)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:
        for count in DOCUMENTS:
            fill(db, count)
            await bare(client, urls)
            await one_pass(db, door, jail, now)  # robots.txt, connections, the jail's processes
            asked, passes, servers, megabytes = [], [], [], []
            for _ in range(ROUNDS):
                now += HOUR
                asked.append((await meter.of(lambda: bare(client, urls)))[0])
                with counted(db) as statements:
                    mine, postgres = await meter.of(lambda now=now: one_pass(db, door, jail, now))
                passes.append(mine)
                servers.append(postgres)
                megabytes.append(meter.own.memory_info().rss / 1e6)
            told[f"{count:,} documents"] = {
                "bare": asked, "pass": passes, "postgresql": servers, "megabytes": megabytes,
                "ratio": statistics.median(passes) / statistics.median(asked),
                "statements a source": len(statements) / SOURCES,
            }
            now += HOUR
    jail.close()
    door.close()
    return told


def report(told: dict[str, Any], db: Database) -> None:
    for documents, figures in told.items():
        print(f"{documents}, {SOURCES} sources, {SOURCES - CHANGED} unchanged, {ROUNDS} rounds; CPU seconds a pass")
        for name in ("bare", "pass", "postgresql"):
            seconds = figures[name]
            print(f"  {name:<12}{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})")
        print(f"  pass to bare {figures['ratio']:.2f}; {figures['statements a source']:.2f} statements a source; "
              f"MB resident {', '.join(f'{each:.0f}' for each in figures['megabytes'])}")
    for what, query in PLAN.items():
        plan = db.execute(text(f"EXPLAIN {query}"))
        print(f"{what}: {' / '.join(str(row[0]).strip() for row in plan[:2])}")
    print(json.dumps({name: {key: figures[key] for key in ("ratio", "statements a source")} for name, figures in told.items()}))


def main() -> None:
    site = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True)
    assert site.stdout
    with tempfile.TemporaryDirectory() as folder:
        postgres = Postgres(Path(folder), SETTINGS)
        process = postgres.start()
        try:
            postgres.ensure_database("bench")
            db = Database(postgres.url("bench"))
            db.migrate()
            told = asyncio.run(compare(db, Meter(process.pid), int(site.stdout.readline())))
            report(told, db)
            db.close()
        finally:
            stop(process)
            site.kill()
            site.wait()


if __name__ == "__main__":
    asyncio.run(serve(feeds())) if "serve" in sys.argv else main()
