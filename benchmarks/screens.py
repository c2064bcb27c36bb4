"""``make bench-screens``: what the first paint of each screen asks of the API, over DOCUMENTS=100000 planted ones.

The rows are as the flows leave them: a library that has read 500 articles a day, from 200 sources, about events
that several of them tell of. The requests are over HTTP, as the dashboard's, with a browser's worth of nothing else.
Writes benchmarks/SCREENS.md.
"""

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID, uuid4

import httpx
import numpy as np
import psycopg
import uvicorn

from almanac.api.app import create_app
from almanac.settings import Settings
from almanac.stack.postgres import SETTINGS, Postgres, stop
from almanac.wiring import Library
from models.session import Database
from tasks import curate
from tasks.index import follow
from tasks.ports import Embedder

DOCUMENTS = int(os.environ.get("DOCUMENTS", "100000"))
A_DAY, SOURCES, ROUNDS = 500, 200, 7
GOAL = 300.0  # milliseconds of each request
TOKEN = "the-token-of-a-benchmark"  # noqa: S105 - nobody else's
WHERE = ["Bergen", "Patras", "Odense", "Galway", "Trieste", "Gdansk", "Porto", "Lund", "Ghent", "Split"]
WHO = ["Tern Line", "Harbour Authority", "Ada Lind", "Northern Grid", "Marit Holm", "Quarry Union", "Delta Rail",
       "Institute for Tides", "Jonas Berg", "River Council"]
WHAT = ["ferry service", "tidal power", "housing", "rail freight", "bird counts", "flood defences", "school meals",
        "night trains", "harbour dredging", "heat pumps", "museum repairs", "oyster beds"]
DID = ["is delayed", "reopens", "is to be doubled", "faces a strike", "wins approval", "costs more", "is sold", "ends"]
TYPES = ["news"] * 5 + ["time_sensitive"] * 2 + ["opinion", "reference", "evergreen"]
SCREENS: dict[str, list[tuple[str, str, dict[str, Any] | None]]] = {  # what a first paint asks
    "Today": [("GET", "/v1/today?days=1", None), ("GET", "/v1/stories?days=1", None),
              ("GET", "/v1/trends?days=1", None)],
    "Today, 7 days": [("GET", "/v1/today?days=7", None), ("GET", "/v1/stories?days=7", None),
                       ("GET", "/v1/trends?days=7", None)],
    "Search": [("GET", "/v1/filters", None),
               ("POST", "/v1/retrieve", {"query": "Which ferry service is delayed in Bergen?", "explain": True})],
    "Freshness": [("GET", "/v1/freshness", None)],
    "Freshness of one": [("GET", "/v1/documents/{document}/freshness", None)],
    "Sources": [("GET", "/v1/sources/page?limit=50", None)],
    "Documents": [("GET", "/v1/sources/names", None), ("GET", "/v1/documents?limit=50", None)],
    "Documents, narrowed": [("GET", "/v1/documents?state=waiting&q=ferry&limit=50", None),
                            ("GET", "/v1/documents?content_type=opinion&q=oyster&limit=50", None)],
    "One document": [("GET", "/v1/documents/{document}", None), ("GET", "/v1/documents/{document}/chunks", None),
                     ("GET", "/v1/documents/{document}/gates", None)],
    "Quality": [("GET", "/v1/quality/rates?days=30", None), ("GET", "/v1/sources/names", None),
                ("GET", "/v1/quality/refusals?limit=20", None)],
    "System": [("GET", "/v1/system", None)],
}


class NoRuns:
    """Prefect is no part of what is measured."""

    async def start(self, flow: str, parameters: dict[str, Any]) -> UUID:
        return uuid4()

    async def state(self, run_id: UUID) -> str | None:
        return "completed"

    async def message(self, run_id: UUID) -> str | None:
        return None

    async def recent(self, limit: int) -> list[dict[str, Any]]:
        return []


def plant(connection: psycopg.Connection[Any], documents: int, embedder: Embedder) -> None:
    """Sources, and documents that arrived one after the other until now, each with one chunk."""
    chance, noise = random.Random(7), np.random.default_rng(7)
    now = datetime.now(UTC)
    papers = ["Post", "Journal", "Notes", "Weekly"]
    sources = [(uuid4(), f"{chance.choice(WHERE)} {papers[n % 4]} {n}") for n in range(SOURCES)]
    with copied(connection, "source", "id kind name url scopes priority weight include exclude limit_per_poll mode "
                "paused failures health last_polled_at next_poll_at every_seconds") as copy:
        for n, (identity, name) in enumerate(sources):
            ill = n % 25 == 3
            copy.write_row((identity, "feed", name, f"https://s{n}.example/feed", ["library"], 50, 0.5, [], [], 100,
                            "everything", False, 4 if ill else 0, "the server answered 503" if ill else "2 new",
                            now, now + timedelta(hours=1), 3600))
    polls(connection, sources, now)
    rows = [article(chance, n, now - timedelta(days=1) * (documents - n) / A_DAY, documents) for n in range(documents)]
    plant_documents(connection, rows, sources, chance)
    plant_versions(connection, rows)
    plant_chunks(connection, rows, noise, embedder)
    connection.execute("ANALYZE")


def article(chance: random.Random, n: int, at: datetime, documents: int) -> dict[str, Any]:
    """One of some articles about one event; each tenth is about what is on everybody's mind lately."""
    event = (n // 6) * 7 + (chance.random() < 0.1)
    dice = random.Random(event)
    recent = documents - n < A_DAY and dice.random() < 0.2
    what, who, where, did = (dice.choice(some) for some in (WHAT, WHO, WHERE, DID))
    what, who = ("night trains", "Delta Rail") if recent else (what, who)
    said = f"{what.capitalize()} {did} in {where}"
    title = said + ["", f", says {who}", ": what we know"][n % 3]
    text = (f"{title}. {who} said on {at:%A} that the {what} in {where} {did}. "
            f"It was the {n % 90 + 2}th report of its kind. ") * 3
    return {"n": n, "id": uuid4(), "version": uuid4(), "event": event, "at": at, "title": title, "text": text, "said": said,
            "topics": [what], "entities": [who, where], "type": TYPES[event % len(TYPES)]}


@contextmanager
def copied(connection: psycopg.Connection[Any], table: str, columns: str, types: str = "") -> Iterator[psycopg.Copy]:
    names = ", ".join(f'"{name}"' for name in columns.split())
    with connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        if types:
            copy.set_types(types.split())
        yield copy


def polls(connection: psycopg.Connection[Any], sources: list[tuple[UUID, str]], now: datetime) -> None:
    with copied(connection, "poll", "id source_id scopes started_at finished_at outcome reason items_seen items_new "
                "items_changed") as copy:
        for source, _ in sources:
            for hours in range(1, 101):
                at = now - timedelta(hours=hours)
                copy.write_row((uuid4(), source, ["library"], at, at, "unchanged", "not modified", 30, 0, 0))


def plant_documents(connection: psycopg.Connection[Any], rows: list[dict[str, Any]],
                    sources: list[tuple[UUID, str]], chance: random.Random) -> None:
    with copied(connection, "document", "id source_id scopes url key state reason attempts priority title version_id "
                "published_at discovered_at failing_since content_hash read_at") as copy:
        for it in rows:
            url = f"https://example.org/{it['n']}"
            fails = chance.random() < 0.01
            it["source"] = chance.choice(sources)[0]
            copy.write_row((it["id"], it["source"], ["library"], url, url, "waiting" if fails else "indexed",
                            "the server answered 503" if fails else "unchanged", 0, 50, it["title"], it["version"],
                            it["at"] - timedelta(minutes=20), it["at"], it["at"] if fails else None, str(it["n"]),
                            it["at"]))


def plant_versions(connection: psycopg.Connection[Any], rows: list[dict[str, Any]]) -> None:
    with copied(connection, "document_version", "id document_id scopes number blocks text content_hash title "
                "published_at final_url extractor read_at indexed_at superseded_at") as copy:
        for it in rows:
            said = (["library"], "[]", it["text"], str(it["n"]), it["title"], it["at"], "https://example.org/", "none")
            scopes, *rest = said
            changed = it["n"] % 20 == 0
            copy.write_row((it["version"], it["id"], scopes, 2 if changed else 1, *rest, it["at"], it["at"], None))
            if changed:
                before = it["at"] - timedelta(hours=5)
                copy.write_row((uuid4(), it["id"], scopes, 1, *rest, before, before, it["at"]))
    with copied(connection, "analysis", "version_id scopes topics entities keywords summary category content_type "
                "language confidence reasons analyser analysed_at") as copy:
        for it in rows:
            copy.write_row((it["version"], ["library"], it["topics"], it["entities"], ["harbour", "council"],
                            it["text"][:200], "politics", it["type"], "en", 0.9, [], "built-in/1", it["at"]))


def plant_chunks(connection: psycopg.Connection[Any], rows: list[dict[str, Any]], noise: np.random.Generator,
                 embedder: Embedder) -> None:
    """Vectors near that of what each says, so that questions find them, and nearest those of the same event."""
    said = sorted({it["said"] for it in rows})
    meanings = dict(zip(said, embedder.embed(said), strict=True))
    with copied(connection, "chunk", "id version_id document_id source_id scopes position text headings start end "
                "tokens digest vector embedder state",
                "uuid uuid uuid uuid text[] int4 text text[] int4 int4 int4 text bytea text text") as copy:
        for it in rows:
            apart = 0.02 * np.random.default_rng(it["event"]).standard_normal(384) + 0.015 * noise.standard_normal(384)
            vector = meanings[it["said"]] + apart
            vector = (vector / np.linalg.norm(vector)).astype("<f2")
            copy.write_row((uuid4(), it["version"], it["id"], it["source"], ["library"], 0, it["text"], [], 0,
                            len(it["text"]), 120, str(it["n"]), vector.tobytes(), embedder.name, "live"))


@contextmanager
def library(folder: Path, documents: int) -> Iterator[tuple[Library, str]]:
    """A planted library, and the address of its API."""
    server = Postgres(folder / "pg", SETTINGS)
    process = server.start()
    try:
        server.ensure_database("bench")
        url = server.url("bench")
        db = Database(url)
        db.migrate()
        curate.ensure_token(db, TOKEN)
        it = Library(Settings(home=folder / "home", database_url=url))
        with psycopg.connect(url.replace("postgresql+psycopg", "postgresql"), autocommit=True) as connection:
            plant(connection, documents, it.embedder)
        follow.fill(db, it.embedder, it.index)
        db.close()
        with served(it) as address:
            yield it, address
        it.close()
    finally:
        stop(process)


@contextmanager
def served(it: Library) -> Iterator[str]:
    api = create_app(it, NoRuns(), TOKEN, lambda: {"database": "ok"})
    server = uvicorn.Server(uvicorn.Config(api, port=0, log_level="warning"))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def measured(address: str) -> list[str]:
    lines = ["| screen | request | median ms | quickest and slowest of 7 |", "|---|---|---|---|"]
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as client:
        document = client.get("/v1/freshness").json()["documents"][0]["document_id"]
        for screen, requests in SCREENS.items():
            for method, path, body in requests:
                times = []
                for _ in range(ROUNDS):
                    began = time.perf_counter()
                    client.request(method, path.format(document=document), json=body).raise_for_status()
                    times.append(1000 * (time.perf_counter() - began))
                over = " (over the goal)" if statistics.median(times) > GOAL else ""
                lines.append(f"| {screen} | `{method} {path}` | {statistics.median(times):.0f}{over} | "
                             f"{min(times):.0f}, {max(times):.0f} |")
                print(lines[-1], flush=True)
    return lines


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="almanac-bench-") as folder:
        began = time.perf_counter()
        with library(Path(folder), DOCUMENTS) as (_, address):
            print(f"planted in {time.perf_counter() - began:.0f} s", flush=True)
            lines = measured(address)
    if "--dry" not in sys.argv:
        report = Path(__file__).with_name("SCREENS.md")
        report.write_text(f"# What screens ask\n\n{DOCUMENTS:,} documents from {SOURCES} sources, {A_DAY} a day; at most "
                          f"{GOAL:.0f} ms each is the goal, and three requests a screen. The machine had {os.cpu_count()} cores "
                          f"and, with whatever else it did, a load of {os.getloadavg()[0]:.1f}. `make bench-screens`."
                          "\n\n"
                          + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
