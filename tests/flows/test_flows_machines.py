"""Many machines: stock Prefect workers poll and read, and the library process indexes what they bring."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.filters import DeploymentFilter
from prefecture import rows_with
from small_library import SmallLibrary
from sqlalchemy import select
from workbench import PrefectServer, Worker, until

from almanac import wiring
from almanac.deployments import read_specs, register
from almanac.stack.postgres import Postgres
from almanac.wiring import Library
from models.session import Database
from models.tables import Document, Source
from tasks.callers import tokens

POOL = "machines"
UNTIMED = [{k: v for k, v in it.items() if k != "schedules"} for it in read_specs()]
ARTICLE = """<!doctype html><html><head><title>Report {n}</title></head><body><article><h1>Report {n}</h1>
<p>Report number {n} tells of the harbour in the year {n}, when the lamp of the lighthouse was replaced and
the keeper wrote down, night after night, which ships had passed and which had waited for the tide.</p>
<p>Those who read the report today find in it {n} ships, their masters and what they carried.</p>
</article></body></html>"""


class Harbour:
    """A web server with two feeds of twelve articles each; counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> tuple[str, str] | None:
        room, _, number = path.strip("/").partition("/")
        if number.isdigit():
            return "text/html; charset=utf-8", ARTICLE.format(n=int(number))
        if room == "robots.txt":
            return None
        first = 100 if room == "east" else 200
        items = "".join(f"<item><title>Report {n}</title><link>http://{self.address}/{room}/{n}</link></item>"
                        for n in range(first, first + 12))
        title = f"<title>{room}</title>"
        return "application/rss+xml", f'<rss version="2.0"><channel>{title}{items}</channel></rss>'

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        harbour = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                harbour.asked[self.path] += 1
                found = harbour.answer(self.path)
                body = found[1].encode() if found else b""
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", found[0] if found else "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: object) -> None:
                pass

        return Handler


@pytest.fixture
def harbour() -> Iterator[Harbour]:
    it = Harbour()
    yield it
    it.server.shutdown()


@pytest.fixture
def library(db: Database, home: Path, monkeypatch: pytest.MonkeyPatch) -> SmallLibrary:
    """The library process's own; whoever fetches with it finds nothing."""
    small = SmallLibrary(db, home, {})
    monkeypatch.setattr(wiring, "library", lambda: small)
    return small


@pytest.fixture
async def moved(prefect_server: PrefectServer) -> AsyncIterator[None]:
    """Polling and reading belong to a process pool, as an owner decides in the UI."""
    async with get_client() as client:
        await client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        await register(client, UNTIMED)
        for name in ("poll/library", "poll/asked", "read/library", "read/asked"):
            known = await client.read_deployment_by_name(name)
            await client.update_deployment(known.id, DeploymentUpdate(work_pool_name=POOL))
        yield
        for deployment in await client.read_deployments(deployment_filter=DeploymentFilter()):
            await client.delete_deployment(deployment.id)
        await client.delete_work_pool(POOL)


@pytest.fixture
def stock_workers(
    prefect_server: PrefectServer, harbour: Harbour, db: Database, tmp_path: Path
) -> Iterator[list[Path]]:
    """Two stock workers that know addresses only. To load a model or an index would end their runs."""
    for heavy in ("torch", "sentence_transformers", "qdrant_edge"):
        (tmp_path / f"{heavy}.py").write_text("raise ImportError('this machine has none')")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ALMANAC_")} | {
        "PYTHONPATH": str(tmp_path),
        "PREFECT_API_URL": prefect_server.url,
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "PREFECT_LOGGING_LEVEL": "INFO",
        "ALMANAC_HOME": str(tmp_path / "nothing"),
        "ALMANAC_DATABASE_URL": db.url,
        "ALMANAC_PREFECT_URL": prefect_server.url,
        "ALMANAC_ALLOWED_NETWORKS": harbour.address,
        "ALMANAC_HOST_DELAY": "0",
    }
    command = [sys.executable, "-m", "prefect", "worker", "start", "--type", "process", "--pool", POOL,
               "--limit", "1", "--name"]
    logs = [tmp_path / f"{name}.log" for name in ("one", "two")]
    with ExitStack() as stack:
        workers = [
            subprocess.Popen([*command, log.stem], env=environment, cwd=tmp_path,
                             stdout=stack.enter_context(log.open("wb")), stderr=subprocess.STDOUT)
            for log in logs
        ]
        yield logs
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(30)


def source(db: Database, url: str) -> UUID:
    with db.begin() as session:
        row = Source(id=uuid4(), kind="feed", name=url, url=url)
        session.add(row)
    return row.id


@pytest.mark.stack
@pytest.mark.database
async def test_two_stock_workers_poll_and_read_while_the_library_process_indexes(
    moved: None, stock_workers: list[Path], worker_on: Callable[..., Worker], library: SmallLibrary,
    harbour: Harbour, postgres: Postgres, tmp_path: Path,
) -> None:
    _, token = tokens.make_token(library.db, "assistant", ["library"])
    sources = [source(library.db, f"http://{harbour.address}/{room}") for room in ("east", "west")]
    worker = worker_on(*UNTIMED)
    polls = [await worker.start("poll", source_ids=[str(it)]) for it in sources]

    def states() -> Counter[str]:
        with library.db.begin() as session:
            return Counter(session.scalars(select(Document.state)))

    async def all_indexed() -> bool:
        return states() == {"indexed": 24}

    assert await until(all_indexed, seconds=180), (states(), [log.read_text() for log in stock_workers])
    assert [await worker.end_of(it) for it in polls] == ["completed", "completed"]
    articles = {path: times for path, times in harbour.asked.items() if path[-3:].isdigit()}
    assert set(articles.values()) == {1}
    assert len(articles) == 24
    assert library.fetcher.asked == []
    assert library.index.count() >= 24
    assert all("Completed" in log.read_text() for log in stock_workers)  # each had its part
    assert not (tmp_path / "nothing").exists()
    secrets = [token, postgres_password(postgres)]
    assert rows_with(postgres, secrets) == []
    assert not [log for log in stock_workers for secret in secrets if secret in log.read_text()]


def postgres_password(postgres: Postgres) -> str:
    return Database(postgres.url("prefect")).engine.url.password or ""


def test_processes_that_read_have_names_of_their_own_for_their_leases(home: Path) -> None:
    from almanac.settings import Settings

    name = Library(Settings(home=home)).worker
    assert str(os.getpid()) in name
    assert name != "library"
