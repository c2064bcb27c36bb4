"""The real API over a real database; around it a site, parser, model and index in memory, and runs without
Prefect.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, cast
from uuid import UUID, uuid4

import httpx
from fastapi import FastAPI
from small_library import SmallLibrary

from almanac.api.app import create_app
from almanac.stack.postgres import Postgres
from almanac.wiring import Library
from models.session import Database
from tasks.analyse.follow import analyse_versions, reanalyse, recheck
from tasks.callers import tokens
from tasks.chunk import cut
from tasks.discover import poll
from tasks.errors import Transient
from tasks.index import follow
from tasks.keep import convert
from tasks.read import read_document, read_documents

TOKEN = "the-owners-token"
ARTICLES = {
    "lighthouse": "The lighthouse at Cape Verren\nIts lamp was electrified in 1931 by the keeper himself.",
    "owls": "A census of barn owls\nForty nests of the barn owl were counted in the valley this spring.",
    "gone": None,
}
WELL = {"database": "ok", "model": "ok", "index": "ok", "worker": "ok"}


class Threads:
    """Runs whose work is done by a thread, as the flows would do it. ``dying`` ones do nothing and crash."""

    def __init__(self, library: SmallLibrary) -> None:
        self.library = library
        self.started: list[tuple[str, dict[str, Any]]] = []
        self.away = self.dying = False
        self._threads: dict[UUID, Thread] = {}

    async def start(self, flow: str, parameters: dict[str, Any]) -> UUID:
        if self.away:
            raise Transient("Prefect is not ready yet: try again in a minute")
        self.started.append((flow, parameters))
        run = uuid4()
        self._threads[run] = Thread(target=self._work, args=(flow, parameters))
        self._threads[run].start()
        return run

    async def state(self, run_id: UUID) -> str | None:
        thread = self._threads.get(run_id)
        if thread is None or self.dying:
            return "crashed" if thread else None
        return "running" if thread.is_alive() else "completed"

    async def message(self, run_id: UUID) -> str | None:
        return "The process is gone" if self.dying else None

    async def recent(self, limit: int) -> list[dict[str, Any]]:
        if self.away:
            raise Transient("Prefect is not ready yet: try again in a minute")
        begun = zip(self._threads, self.started, strict=True)
        told = [{"id": str(run), "flow": flow, "name": flow, "state": await self.state(run), "message": None,
                 "started_at": None, "seconds": 0.1} for run, (flow, _) in begun]
        return told[:-limit - 1:-1]

    def join(self) -> None:
        for thread in list(self._threads.values()):
            thread.join(10)

    def _work(self, flow: str, parameters: dict[str, Any]) -> None:
        if self.dying:
            return
        it, now = self.library, datetime.now(UTC)
        if flow == "rebuild":
            follow.fill(it.db, it.embedder, it.index)
            return
        if flow == "keep":
            asyncio.run(convert.convert_files(
                it.db, it.doors.store, it.converter, it.doors.folder, it.worker, 100, now))
        if flow == "poll":
            reader = partial(read_document, it.db, it.fetcher, it.parser, it.worker)
            for source in parameters.get("source_ids") or poll.due_sources(it.db, now):
                asyncio.run(poll.poll_source(it.db, it.fetcher, it.parser, UUID(str(source)), now, reader))
        ids = [UUID(it) for it in parameters.get("document_ids", [])] or None
        if flow == "reanalyse":
            reanalyse(it.db, it.analyser, 100, UUID(int=0), now, ids)
            return
        asyncio.run(read_documents(it.db, it.fetcher, it.parser, it.worker, 100, datetime.now(UTC), ids))
        hour, day = it.settings.articles_per_hour, it.settings.articles_per_day
        analyse = partial(analyse_versions, it.db, it.analyser, now=now)
        follow.index_versions(it.db, it.embedder, it.index, cut, 100, hour, day, datetime.now(UTC),
                              analyse=analyse, gate=it.gate)
        recheck(it.db, it.analyser, 100, now)


class Household:
    """A library with its API, whose site offers a feed of three articles, one of which is gone."""

    def __init__(self, db: Database, home: Path) -> None:
        self.library = SmallLibrary(db, home, ARTICLES)
        self.runs, self.parts = Threads(self.library), dict(WELL)
        tokens.ensure_token(db, TOKEN)
        self.app: FastAPI = create_app(cast(Library, self.library), self.runs, TOKEN, lambda: self.parts)


@contextmanager
def household_of_its_own(postgres: Postgres, home: Path) -> Iterator[Household]:
    """A household for many tests that change nothing."""
    name = f"household_{uuid4().hex}"
    postgres.ensure_database(name, template="template_almanac")
    db = Database(postgres.url(name), pool_size=3)
    yield Household(db, home)
    db.close()


def assert_problem(answer: httpx.Response, status: int, code: str) -> str:
    """The sentence of a problem document that has all that RFC 9457 and the contract ask for."""
    problem = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"urn:almanac:problem:{code}"
    assert problem["title"]
    assert "\n" not in problem["detail"]
    return str(problem["detail"])
