"""``make bench-orchestration``: what Prefect costs; writes ``benchmarks/ORCHESTRATION.md``.

Settings in the environment: ROUNDS of the ingest, STARTS of the warm worker, STOCK_STARTS of the stock one, and
IDLE_SECONDS, from which a day is extrapolated.
"""

import asyncio
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psutil
import psycopg
from articles import ARTICLES
from run import HERE, JUDGED, ROUNDS, client_of, free_port, our_ingest, plain_ingest, spread, stack

from almanac.settings import Settings
from almanac.stack.postgres import Postgres
from almanac.stack.state import read_state

STARTS = int(os.environ.get("STARTS", "20"))
STOCK_STARTS = int(os.environ.get("STOCK_STARTS", "20"))
IDLE_SECONDS = int(os.environ.get("IDLE_SECONDS", "600"))
STOCK = "stock"  # the pool of the stock process worker
NOTHING: dict[str, Any] = {"source_ids": []}  # a poll of no source: a run that only starts and ends


def ingest(environment: dict[str, str], scratch: Path, base: str) -> list[str]:
    client, home = client_of(environment), Path(environment["ALMANAC_HOME"])
    our_ingest(client, home, base, 0)  # warm
    pairs = []
    for n in range(1, ROUNDS + 1):
        turn = [lambda n=n: our_ingest(client, home, base, 2 * n)[0],
                lambda n=n: plain_ingest(environment, scratch, base, 2 * n + 1, *JUDGED)[0]]
        first = n % 2  # whoever is second finds a warmer machine, or a busier one
        times = {first: turn[first](), 1 - first: turn[1 - first]()}
        pairs.append((times[0], times[1]))
    ratios = [flows / plain for flows, plain in pairs]
    return [
        f"## {ARTICLES} articles: poll, read, index", "", "| | seconds |", "|---|---|",
        f"| through the flows | {spread([pair[0] for pair in pairs])} |",
        f"| the same stage functions called plainly | {spread([pair[1] for pair in pairs])} |",
        f"| ratio, pair by pair (goal: at most 1.08) | {spread(ratios)} |", "",
    ]


@contextmanager
def stock_worker(environment: dict[str, str]) -> Iterator[None]:
    """A process worker as Prefect ships it."""
    prefect = [sys.executable, "-m", "prefect"]
    subprocess.run([*prefect, "work-pool", "create", STOCK, "--type", "process"], env=environment, check=True,
                   capture_output=True)
    worker = subprocess.Popen([*prefect, "worker", "start", "--pool", STOCK], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(15)
        yield
    finally:
        worker.kill()  # it has nothing under way, and has been seen to wait for ever when asked to end
        worker.wait()


async def delays(deployment: str, count: int) -> list[float]:
    """Seconds from a run's creation, as a click in the UI does it, to its start; one after the other."""
    from prefect.client.orchestration import get_client
    from prefect.flow_runs import wait_for_flow_run

    found = []
    async with get_client() as client:
        wanted = await client.read_deployment_by_name(deployment)
        for _ in range(count):
            run = await client.create_flow_run_from_deployment(wanted.id, parameters=NOTHING)
            done = await wait_for_flow_run(run.id, timeout=120, client=client)
            assert done.state is not None
            assert done.state.is_completed(), done.state
            found.append((done.start_time - done.created).total_seconds())
    return found


async def offer_to_stock_worker() -> UUID:
    from prefect.client.orchestration import get_client

    async with get_client() as client:
        ours = await client.read_deployment_by_name("poll/asked")
        return await client.create_deployment(
            ours.flow_id, STOCK, entrypoint=ours.entrypoint, work_pool_name=STOCK, path=str(HERE.parent))


def starts(environment: dict[str, str]) -> list[str]:
    from almanac.wiring import prefect_environment

    chosen = Settings(home=Path(environment["ALMANAC_HOME"]), prefect_port=int(environment["ALMANAC_PREFECT_PORT"]))
    os.environ |= prefect_environment(chosen)
    with stock_worker(environment | prefect_environment(chosen)
                      | {"ALMANAC_DATABASE_URL": Postgres(chosen.home).url()}):
        asyncio.run(offer_to_stock_worker())
        warm = asyncio.run(delays("poll/asked", STARTS))
        stock = asyncio.run(delays(f"poll/{STOCK}", STOCK_STARTS))
    rows = [(f"the warm worker, {STARTS} runs (goal: under 2 and 4)", warm),
            (f"a stock process worker, {STOCK_STARTS} runs", stock)]
    return ["## From a click in the UI to the first line of the flow", "", "| | median s | p95 s |", "|---|---|---|",
            *(f"| {who} | {np.median(them):.2f} | {np.percentile(them, 95):.2f} |" for who, them in rows), ""]


def measure(environment: dict[str, str]) -> tuple[dict[str, float], dict[str, int]]:
    """CPU seconds of each part with its children so far, and bytes of each database."""
    state = read_state(Path(environment["ALMANAC_HOME"]))
    assert state is not None
    seconds = {}
    for part in state.parts:
        assert part.process is not None
        process = psutil.Process(part.process.pid)
        family = [process, *process.children(recursive=True)]
        seconds[part.name] = sum(sum(one.cpu_times()[:4]) for one in family)
    with psycopg.connect(Postgres(Path(environment["ALMANAC_HOME"])).url(driver="postgresql")) as connection:
        sizes = dict(connection.execute(
            "SELECT datname, pg_database_size(datname) FROM pg_database WHERE datname IN ('almanac', 'prefect')"))
    return seconds, sizes


def idle(environment: dict[str, str]) -> list[str]:
    """What a library with nothing to do costs: the minute's tick finds no source that is due."""
    time.sleep(60)
    (before, small), began = measure(environment), time.monotonic()
    time.sleep(IDLE_SECONDS)
    (after, large), took = measure(environment), time.monotonic() - began
    hour, day = 3600 / took, 86400 / took
    used = {name: (after[name] - before.get(name, 0)) * hour for name in after}
    return [
        f"## Idle, extrapolated from {took / 60:.0f} minutes", "",
        "| | CPU seconds an hour |", "|---|---|",
        *(f"| {name} | {seconds:.0f} |" for name, seconds in used.items()),
        f"| together | {sum(used.values()):.0f}, {sum(used.values()) / 36:.1f} % of a core |", "",
        "| database | MB a day, before it is pruned |", "|---|---|",
        *(f"| {name} | {(large[name] - small[name]) * day / 1e6:.0f} |" for name in sorted(large)), "",
    ]


def main() -> None:
    site = free_port()
    server = subprocess.Popen([sys.executable, HERE / "articles.py", str(site)])
    try:
        with tempfile.TemporaryDirectory(prefix="almanac-bench-") as scratch, \
             stack(Path(scratch) / "home", site) as environment:
            lines = [
                "# What orchestration costs", "",
                f"Made by `make bench-orchestration` on {datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python "
                f"{platform.python_version()}. Medians, with minimum and maximum; read the ratios.", "",
                *ingest(environment, Path(scratch), f"http://127.0.0.1:{site}"),
                *starts(environment),
                *idle(environment),
            ]
    finally:
        server.kill()
    (HERE / "ORCHESTRATION.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
