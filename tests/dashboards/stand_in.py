"""A stand-in for the HTTP API on loopback; its answers are made by the types of the real one."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid5

from streamlit.testing.v1 import AppTest

from almanac.proof import proof
from tasks.answer.cite import Citation
from tasks.answer.origin import Origin
from tasks.answer.rank import WEIGHTS
from tasks.answer.retrieval import Elapsed, Excerpt, Retrieval, Score
from tasks.answer.tuning import Tuning

Json = dict[str, Any]

RECORDED = Path(__file__).with_name("recorded.json")  # by tests/e2e/recording.py
TOKEN = "the-token-of-this-data-folder"
NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
BEFORE, AFTER = "The tower was begun in 1887. ", "\n\nIt was to stand for twenty years."
EXCERPT = "Its lifts are moved by water under pressure,\nas they were when it opened."


@cache
def recorded() -> dict[str, Json]:
    """What the real API said, by method and path; tests/e2e holds it to what that says now."""
    told: dict[str, Json] = json.loads(RECORDED.read_text("utf-8"))
    return told


def known(name: str) -> UUID:
    """The same id for the same name."""
    return uuid5(UUID(int=0), name)


ASKED = known("retrieval")


def origin(**changes: Any) -> Origin:
    start = len(BEFORE)
    given: Json = {
        "title": "How the lifts work", "url": "https://tower.example/lifts", "source": "Tower news",
        "author": "A. Fitter", "published_at": NOW - timedelta(days=3), "read_at": NOW,
        "content_hash": "ab" * 32, "start": start, "end": start + len(EXCERPT),
    }
    return Origin(**(given | changes))


def excerpt(
    label: str = "K1", text: str = EXCERPT, headings: tuple[str, ...] = ("Machines",),
    matches: Sequence[tuple[int, int]] = (), **cited: Any
) -> Excerpt:
    score = Score(0.5731, 0.7218, 0.0, 0.9332, 0.5, 0.0, recently_used=0.0033)
    sum_ = "0.60 * similarity 0.7218 + 0.10 * freshness 0.9332 - recently used 0.0033 = 0.5731"
    return Excerpt(label, True, text, headings, known("document"), known("version"), known(label),
                   origin(**cited), score, explanation=sum_, matches=matches)


def passed_over(label: str, score: Score | None = None, **cited: Any) -> Excerpt:
    found = excerpt(label, **cited)
    return replace(found, used=False, why="beyond the 1 asked for", score=score or found.score)


def retrieval(*excerpts: Excerpt, nothing: str | None = None, recent: bool = False,
              dropped: Sequence[Excerpt] = ()) -> Json:
    weights = asdict(WEIGHTS.for_recent() if recent else WEIGHTS)
    return Retrieval(ASKED, recent, Elapsed(20.1, 3.2, 1.0, 24.6), excerpts, dropped, "", nothing,
                     weights).to_json()


def citation(
    changed: bool = False, before: str = BEFORE, text: str = EXCERPT, after: str = AFTER, **cited: Any
) -> Json:
    """The excerpt between ``before``, which begins at character 1000 of the version, and ``after``."""
    first = 1000
    start = first + len(before)
    return Citation(
        ASKED, "K1", True, known("document"), known("version"), 2, known("K1"), ("Machines",), text,
        before + text + after, first, origin(start=start, end=start + len(text), **cited), changed,
    ).to_json()


def poll(outcome: str = "new", reason: str = "2 new, of 30 offered") -> Json:
    at = NOW.isoformat()
    return {"id": str(known("poll")), "started_at": at, "finished_at": at, "outcome": outcome,
            "reason": reason, "http_status": 200, "items_seen": 30, "items_new": 2, "items_changed": 0}


def source(name: str = "Tower news", **changes: Any) -> Json:
    """As ``tasks.reports.sources`` tells it; ``test_dashboards_sources`` holds it to that."""
    at = NOW.isoformat()
    return {
        "id": str(known(name)), "kind": "feed", "name": name, "url": "https://tower.example/feed.xml",
        "scopes": ["library"], "priority": 50, "weight": 0.5, "every_seconds": 3600, "cron": None,
        "include": [], "exclude": [], "limit_per_poll": 100, "mode": "everything", "paused": False,
        "created_at": at, "next_poll_at": (NOW + timedelta(hours=1)).isoformat(), "last_polled_at": at,
        "failures": 0, "health": "2 new, of 30 offered", "last_poll": poll(),
        "documents": {"indexed": 28, "needs_browser": 2}, "unfinished": 0, "map": {}, "zone": "UTC",
        "tags": [], "headers": [], "last_good_at": at, "moved_to": None,
        "fragment_routes": False, "crawl_delay": None, "flags": [], "flapping": 0, "held": None,
        "looks": [{"at": at, "outcome": "new", "reason": "2 new", "new": 2}],
        "days": [{"day": "2026-03-14", "new": 2}],
    } | changes


def filters(model: str | None = None) -> Json:
    """As ``GET /v1/filters`` tells them."""
    return {"sources": [{"id": str(known(name)), "name": name} for name in ("Bird notes", "Tower news")],
            "content_types": ["news", "time_sensitive", "opinion", "reference", "evergreen"],
            "languages": ["en", "de"], "model": model}


LIFTS = "https://tower.example/lifts"


def came(name: str = "Tower news", title: str = "Lifts stop", reason: str = "it answered 503") -> Json:
    """As ``GET /v1/today`` tells it; ``test_api_today`` holds all of these to the real ones."""
    at = NOW.isoformat()
    step = [{"arrived": place % 3, "changed": place % 2} for place in range(24)]
    return {
        "since": (NOW - timedelta(days=1)).isoformat(), "until": at, "steps": step, "quarantined": 2,
        "counts": {"arrived": 24, "changed": 12, "failed": 3},
        "sources": [{"id": str(known(name)), "source": name, "arrived": 24, "changed": 12, "failed": 3}],
        "changes": [{"document_id": str(known("document")), "version": 3, "at": at, "title": title,
                     "url": "https://tower.example/lifts", "source": name}],
        "failures": [{"source_id": str(known(name)), "source": name, "state": "waiting", "reason": reason,
                      "document_id": str(known("document")), "documents": 3, "at": at}],
        "failing": [{"source_id": str(known(name)), "source": name, "failures": 4, "health": reason,
                     "last_good_at": None}],
    }


def nothing_came() -> Json:
    nothing = dict.fromkeys(("arrived", "changed", "failed"), 0)
    return came() | {"counts": nothing, "sources": [], "changes": [], "failures": [], "failing": []}


def told_of(name: str = "Tower news", title: str = "Lifts stop", url: str = LIFTS) -> Json:
    """As ``GET /v1/stories`` tells it."""
    one = {"document_id": str(known("document")), "title": title, "url": url, "source": name,
           "published_at": None, "at": NOW.isoformat()}
    return {"documents": 4, "stories": [{"title": title, "sources": 2, "told": 2, "documents": [one, one]}],
            "others": [one, one]}


def rising(*terms: str, known_periods: int = 6) -> Json:
    """As ``GET /v1/trends`` tells it."""
    each = [{"term": term, "documents": 9, "expected": 1.5, "history": [1, 2, 1, 0, 2, 3, 9]}
            for term in terms]
    return {"since": NOW.isoformat(), "known": known_periods, "documents": [10] * 7, "topics": each,
            "entities": each}


def placed(title: str = "Lifts stop", name: str = "Tower news", kind: str = "news", **changes: Any) -> Json:
    """One of the documents of ``GET /v1/freshness``."""
    return {"document_id": str(known("document")), "title": title, "url": "https://tower.example/lifts",
            "source": name, "type": kind, "dated": NOW.isoformat(), "is_published": True, "age": 3.0,
            "freshness": 0.5} | changes


def ageing(*documents: Json) -> Json:
    lives = Tuning().to_json()["half_lives"]
    return {"half_lives": lives, "default": lives, "documents": list(documents), "counts": {"news": 1234}}


def life(**changes: Any) -> Json:
    """As ``GET /v1/documents/…/freshness`` tells it."""
    score = excerpt().score.to_json()
    return placed() | {
        "half_life": 3.0, "weight": 0.1, "ahead": [{"days": 3.0, "freshness": 0.25}],
        "asked": [{"query": "how do the lifts work?", "at": NOW.isoformat(), "used": True, "age": 0.1,
                   "score": score, "now": 0.5298}],
    } | changes


class Api:
    """Answers what a test has it find, cite and list; remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Json] = {"GET /v1/filters": filters()}
        self.asked: list[Json] = []
        self.requests: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.port = int(self.server.server_address[1])
        Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def finds(self, *excerpts: Excerpt, **found: Any) -> None:
        self.answers["POST /v1/retrieve"] = retrieval(*excerpts, **found)

    def cites(self, record: Json) -> None:
        self.answers[f"GET /v1/citations/{ASKED}/{record['label']}"] = record

    def tells(self, today: Json, stories: Json, trends: Json, days: int = 1) -> None:
        for name, told in (("today", today), ("stories", stories), ("trends", trends)):
            self.answers[f"GET /v1/{name}?days={days}"] = told

    def ages(self, *documents: Json) -> None:
        self.answers["GET /v1/freshness"] = ageing(*documents)

    def lists(self, *sources: Json) -> None:
        unwell = sum(source["failures"] > 0 for source in sources)
        counts = {"all": len(sources), "unwell": unwell, "paused": 0}
        self.answers["GET /v1/sources/page"] = {"sources": list(sources), "next": None, "counts": counts}

    def records(self) -> None:
        """From now on it says what the real one said of a library of 300 documents."""
        self.answers |= recorded()

    @property
    def questions(self) -> list[str]:
        return [asked["query"] for asked in self.asked]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def handler(api: Api) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if challenge := parse_qs(urlsplit(self.path).query).get("challenge"):
                self.answer({"proof": proof(TOKEN, api.port, *challenge)})
                return
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            api.asked += [json.loads(body)] if body else []
            api.requests.append(f"{self.command} {self.path}")
            if self.headers["authorization"] != f"Bearer {TOKEN}":
                self.answer(problem(401, "unauthenticated", "This token is unknown or revoked."))
            else:
                missing = problem(404, "not_found", "There is no such citation.")
                asked = f"{self.command} {self.path}"
                self.answer(api.answers.get(asked, api.answers.get(asked.partition("?")[0], missing)))

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names that http.server calls

        def answer(self, document: Json) -> None:
            status = document.get("status")  # of a problem; how the whole is, is told by the same name
            self.send_response(status if isinstance(status, int) else 200)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: object) -> None:
            """Tests say what was asked."""

    return Handler


def problem(status: int, code: str, detail: str) -> Json:
    return {"status": status, "code": code, "title": "It cannot be done", "detail": detail}


Open = Callable[..., AppTest]  # a file of dashboards/, and what the address says after the question mark
Read = Callable[[AppTest], "Words"]

INLINE = {"a", "b", "bdi", "code", "del", "i", "ins", "mark", "span"}


class Words(HTMLParser):
    """What markup says, where its links lead, which elements it is made of, and what it marks."""

    def __init__(self, markup: object) -> None:
        super().__init__()
        self.text, self.marked = "", ""
        self.links: list[str] = []
        self.elements: set[str] = set()
        self.open: list[str] = []
        self.feed(str(markup))  # a Markup would escape its own pieces
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.text += "" if tag in INLINE else "\n"
        self.elements.add(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]

    def handle_endtag(self, tag: str) -> None:
        self.open.remove(tag)
        self.text += "" if tag in INLINE else "\n"

    @property
    def lines(self) -> str:
        """The text without blank lines and without the blanks around each."""
        return "\n".join(filter(None, map(str.strip, self.text.splitlines())))

    def handle_data(self, data: str) -> None:
        self.text += data
        self.marked += data if "mark" in self.open else ""
