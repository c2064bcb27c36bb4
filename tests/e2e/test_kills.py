"""Killed at seeded moments of an ingest, Almanac comes to rest in the right state by itself.

The library process, the Prefect server, PostgreSQL and a stock Prefect worker are killed in turn by chance, the
library each time in the middle of a rebuild of the index, too. ALMANAC_KILLS says how often: ``make test-kills``
does it fifty times, and lets Prefect be away for two minutes.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from command import Almanac

from almanac.settings import Settings
from almanac.stack.postgres import Postgres
from almanac.wiring import prefect_environment

pytestmark = [pytest.mark.stack, pytest.mark.timeout(1800)]

KILLS = int(os.environ.get("ALMANAC_KILLS", "6"))
SEED = int(os.environ.get("ALMANAC_KILLS_SEED", "1"))
ITEMS, FEEDS = 100, 4  # the first feed is read while Prefect is away, three while parts are killed
REST_SECONDS = 300
AWAY = int(os.environ.get("ALMANAC_AWAY", "15"))  # seconds in which the Prefect server does not answer
VICTIMS = ("library", "prefect", "postgres", "stock")
KINDS = {"indexed": 96, "rejected": 2, "duplicate": 2}  # of a feed's hundred
STOCK = "stock"


def kind(number: int) -> str:
    """What is served under the number: of every fifty one is gone, and one says what another says."""
    return {7: "gone", 9: "copy"}.get(number % 50, "article")


def article(number: int) -> str:
    chance = random.Random(number - 1 if kind(number) == "copy" else number)
    words = ["harbour", "tide", "council", "ledger", "owl", "engine", "valley", "glass", "winter", "bridge", "market", "signal", "forest"]
    text = "".join(f"<p>{' '.join(chance.choices(words, k=40)).capitalize()}.</p>" for _ in range(4))
    return f"<!doctype html><html lang=en><head><title>Report</title></head><body><article><h1>Report</h1>{text}</article>"


class Handler(BaseHTTPRequestHandler):
    """``/feed/N`` with a hundred items each, ``/NUMBER``; each answer takes a moment, so that kills meet work."""

    def do_GET(self) -> None:
        name = self.path.strip("/")
        body, status, media = b"", 404, "text/html; charset=utf-8"
        if name.startswith("feed/"):
            first = int(name[5:]) * ITEMS
            items = "".join(f"<item><title>Report {n}</title><link>http://{self.headers['Host']}/{n}</link></item>"
                            for n in range(first, first + ITEMS))
            body, status, media = f"<rss><channel><title>All</title>{items}</channel></rss>".encode(), 200, "text/xml"
        elif name.isdecimal() and kind(int(name)) != "gone":
            body, status = article(int(name)).encode(), 200
        time.sleep(0.2)
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):  # the reader was killed
            self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def press() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


@pytest.fixture(scope="module")
def patient(press: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Almanac]:
    """An Almanac of its own, with no limit on articles."""
    running = Almanac(
        tmp_path_factory.mktemp("kills") / "home", ALMANAC_ALLOWED_NETWORKS=f"127.0.0.1:{press}",
        KNOWLEDGE_MAX_ARTICLES_PER_HOUR="10000", KNOWLEDGE_MAX_ARTICLES_PER_DAY="10000")
    started = running.run("up", "--detach", "--no-dashboard", timeout=240)
    assert started.returncode == 0, started.stderr
    yield running
    running.run("down")


class StockWorker:
    """Prefect's own process worker, that reads too; started again when it was killed, as systemd would."""

    def __init__(self, patient: Almanac) -> None:
        chosen = Settings(home=patient.home, prefect_port=patient.ports["PREFECT"])
        self.environment = patient.environment | prefect_environment(chosen) | {
            "ALMANAC_DATABASE_URL": Postgres(patient.home).url(), "PREFECT_WORKER_QUERY_SECONDS": "2",
            "ALMANAC_HOME": str(patient.home.with_name("stock"))}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "prefect", "worker", "start", "--type", "process", "--pool", STOCK],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def kill(self) -> None:
        """It, and the runs that it executes."""
        family = [self.process.pid, *(child.pid for child in psutil.Process(self.process.pid).children(recursive=True))]
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def stock(patient: Almanac) -> Iterator[StockWorker]:
    ask_prefect(patient, offer_reading)
    worker = StockWorker(patient)
    yield worker
    worker.kill()


def ask_prefect(patient: Almanac, question: Callable[[Any], Any]) -> Any:
    """What the coroutine function answers with a client of the patient's Prefect server."""
    from prefect.client.orchestration import PrefectClient

    async def ask() -> Any:
        async with PrefectClient(f"http://127.0.0.1:{patient.ports['PREFECT']}/api") as client:
            return await question(client)

    return asyncio.run(ask())


async def offer_reading(client: Any) -> None:
    """The stock worker may read: a deployment of the same flow, every ten seconds, one run at a time."""
    from datetime import timedelta

    from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
    from prefect.client.schemas.objects import ConcurrencyOptions
    from prefect.client.schemas.schedules import IntervalSchedule

    await client.create_work_pool(WorkPoolCreate(name=STOCK, type="process"))
    ours = await client.read_deployment_by_name("read/library")
    await client.create_deployment(
        ours.flow_id, STOCK, entrypoint=ours.entrypoint, work_pool_name=STOCK, parameters={"limit": 20},
        schedules=[DeploymentScheduleCreate(schedule=IntervalSchedule(interval=timedelta(seconds=10)))],
        concurrency_limit=1, concurrency_options=ConcurrencyOptions(collision_strategy="CANCEL_NEW"))


async def unfinished_runs(client: Any) -> list[str]:
    """Runs that began and did not end, and slots that are taken."""
    from prefect.client.schemas.filters import FlowRunFilter

    begun = FlowRunFilter.model_validate({"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}})
    runs = await client.read_flow_runs(flow_run_filter=begun)
    limits = await client.read_global_concurrency_limits(limit=100)
    return [*(f"run {run.name} is {run.state_name}" for run in runs),
            *(f"{limit.active_slots} slots of {limit.name} are taken" for limit in limits if limit.active_slots)]


def of_documents(patient: Almanac, expected: dict[str, int]) -> list[str]:
    """Where the records are not as the site is: states, versions, chunks that answer, collections begun."""
    with psycopg.connect(Postgres(patient.home).url(driver="postgresql")) as connection:
        [states, reasons, versions, moving, twice, begun] = connection.execute("""
            SELECT (SELECT jsonb_object_agg(state, n) FROM (
                        SELECT document.state, count(*) AS n FROM document JOIN source ON source.id = source_id
                        WHERE source.kind = 'feed' GROUP BY 1)),
                   (SELECT jsonb_object_agg(reason, n) FROM (
                        SELECT document.reason, count(*) AS n FROM document WHERE state NOT IN ('indexed', 'duplicate')
                        GROUP BY 1)),
                   (SELECT count(*) FROM document_version JOIN document ON document.id = document_id
                    JOIN source ON source.id = source_id WHERE source.kind = 'feed'),
                   (SELECT count(*) FROM chunk WHERE state IN ('pending', 'retiring')),
                   (SELECT count(*) FROM (SELECT document_id, digest FROM chunk WHERE state = 'live'
                                          GROUP BY 1, 2 HAVING count(*) > 1)),
                   (SELECT count(*) FROM collection WHERE state <> 'answering')""").fetchone()
    found = {"states": states, "versions": versions, "moving": moving, "twice": twice, "begun": begun}
    right = {"states": expected, "versions": expected["indexed"], "moving": 0, "twice": 0, "begun": 0}
    return [f"{name}: {found[name]}, not {right[name]} ({reasons})" for name in right if found[name] != right[name]]


def pid_of(patient: Almanac, part: str) -> int | None:
    status = json.loads(patient.run("status", "--json").stdout)  # exit status 1 while a part is down
    return next((it["pid"] for it in status["parts"] if it["name"] == part), None)


def kill(patient: Almanac, stock: StockWorker, victim: str) -> None:
    if victim == STOCK:
        stock.kill()
        stock.start()
    elif pid := pid_of(patient, victim):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def rebuild(patient: Almanac) -> None:
    """Let it begin, if there is somebody to ask."""
    with suppress(httpx.HTTPError), patient.http as http:
        http.post("/v1/index/rebuild")


def come_to_rest(patient: Almanac, expected: dict[str, int]) -> list[str]:
    """Wait; what is still not as it should be."""
    until = time.monotonic() + REST_SECONDS
    while (found := unrest(patient, expected)) and time.monotonic() < until:
        time.sleep(2)
    return found


def unrest(patient: Almanac, expected: dict[str, int]) -> list[str]:
    """What is not as it should be in the end."""
    try:
        return [*of_documents(patient, expected), *ask_prefect(patient, unfinished_runs)]
    except Exception as error:  # a part that was killed is on its way back
        return [repr(error)]


def add(patient: Almanac, press: int, feed: int) -> None:
    patient.json("source", "add", f"http://127.0.0.1:{press}/feed/{feed}", "--limit", str(ITEMS))


def test_the_prefect_server_may_be_away_in_the_middle_of_a_run(patient: Almanac, press: int) -> None:
    add(patient, press, 0)
    server = pid_of(patient, "prefect")
    assert server is not None
    os.kill(server, signal.SIGSTOP)
    time.sleep(AWAY)
    with suppress(ProcessLookupError):  # its keeper may have replaced it
        os.kill(server, signal.SIGCONT)
    assert come_to_rest(patient, KINDS) == []


def test_whatever_is_killed_whenever_everything_ends_in_its_right_state(
    patient: Almanac, stock: StockWorker, press: int
) -> None:
    chance, killed = random.Random(SEED), Counter[str]()
    for feed in range(1, FEEDS):
        add(patient, press, feed)
    for _ in range(KILLS):
        time.sleep(chance.uniform(1, 8))
        victim = chance.choice(VICTIMS)
        killed[victim] += 1
        if victim == "library":
            rebuild(patient)
            time.sleep(chance.uniform(0, 4))
        kill(patient, stock, victim)
    left = come_to_rest(patient, {kind: FEEDS * count for kind, count in KINDS.items()})
    assert left == [], (killed, left)
    assert patient.json("index", "verify")["agrees"]
