"""A library of about 300 documents that looks two weeks old, through the real pipeline and then aged in its rows."""

import time
from typing import Any

import httpx
import psycopg
from command import Almanac
from newsstand import PAPERS, Newsstand

from almanac.stack.postgres import Postgres

MAP = {"items": "data.posts", "url": "link", "title": "name", "date": "created", "author": "by.name"}
SETTINGS = {"KNOWLEDGE_MAX_ARTICLES_PER_HOUR": "900", "KNOWLEDGE_MAX_ARTICLES_PER_DAY": "5000"}
AGED = """
    UPDATE document SET published_at = NULL WHERE published_at > now();
    UPDATE document SET discovered_at = coalesce(published_at, now() - interval '38 days'
           * (abs(hashtext(url)::bigint) / 2147483648.0)) + interval '20 minutes' WHERE url LIKE 'http%';
    UPDATE document_version v SET read_at = d.discovered_at + interval '5 minutes',
           indexed_at = CASE WHEN v.indexed_at IS NOT NULL THEN d.discovered_at + interval '9 minutes' END
      FROM document d WHERE d.id = v.document_id AND v.number = 1 AND d.url LIKE 'http%';
    UPDATE gate_result g SET judged_at = v.read_at FROM document_version v WHERE v.id = g.version_id;
    UPDATE source SET created_at = now() - interval '40 days';
    INSERT INTO poll (id, source_id, scopes, started_at, finished_at, outcome, reason, http_status, items_seen,
                      items_new, items_changed)
    SELECT gen_random_uuid(), s.id, s.scopes, t, t + interval '2 seconds',
           CASE WHEN late.new > 0 THEN 'new' WHEN odd THEN 'failed' ELSE 'unchanged' END,
           CASE WHEN late.new > 0 THEN late.new || ' new, of 34 offered'
                WHEN odd THEN 'the server answered 503 Service Unavailable' ELSE 'not modified' END,
           CASE WHEN odd AND late.new = 0 THEN 503 WHEN late.new = 0 THEN 304 ELSE 200 END, 34, late.new, 0
      FROM source s,
           generate_series(now() - interval '14 days', now() - interval '6 hours', interval '6 hours') t,
           LATERAL (SELECT count(*)::int AS new FROM document d WHERE d.source_id = s.id
                       AND d.discovered_at > t - interval '6 hours' AND d.discovered_at <= t) late,
           LATERAL (SELECT (extract(epoch FROM t)::bigint / 21600 + length(s.name)) % 11 = 0 AS odd) luck
     WHERE s.kind IN ('feed', 'sitemap', 'json');
    DELETE FROM poll WHERE items_new > 20;
"""


class Stocked:
    """A running Almanac, filled from a newsstand."""

    def __init__(self, almanac: Almanac, stand: Newsstand) -> None:
        self.almanac, self.stand = almanac, stand
        self.http = almanac.http

    def add(self, path: str, **choices: Any) -> str:
        return str(self.post("/v1/sources", {"url": f"{self.stand.url}{path}"} | choices)["id"])

    def stock(self) -> None:
        """Every source, read and indexed; two pages that changed; one source that fails; and all of it aged."""
        for path, (_, _, tags) in PAPERS.items():
            self.add(f"/{path}.xml", tags=tags, weight=0.6)
        self.add("/odd.xml", tags=["odd"])
        self.add("/sitemap.xml", name="Old Town Handbook", every="1d", tags=["town"])
        self.add("/api/minutes", kind="json", map=MAP, name="Council minutes", cron="0 7 * * *")
        self.add("/tides", kind="page", name="Tide table")
        self.http.put("/v1/interests", json={"topic": "peat bogs", "strength": 0.8})
        self.settle()
        self.change()
        self.rows(AGED)

    def change(self) -> None:
        """Pages that say something else, and a feed that is out of order."""
        for path, old, new in (("/tides", "seven in the morning", "eight in the morning"),
                               ("/harbour/0", "is best from the east", "is best from the west, the keeper says"),
                               ("/harbour/0", "</article>", "<h2>Later</h2><p>The council has withdrawn its plan after "
                                "a long evening, and nobody at North Quay was sorry for it.</p></article>")):
            self.stand.pages[path] = self.stand.pages[path].replace(old, new)
        self.stand.broken.add("/rails.xml")
        for name in ("Tide table", "Harbour Gazette", "Rail and Tram"):
            self.until_ended(self.post(f"/v1/sources/{self.source(name)}/poll", {})["flow_run_id"])
        self.settle()

    def settle(self, seconds: float = 240) -> None:
        """Until nothing is on its way."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            sources = self.http.get("/v1/sources").json()["sources"]
            if not any(source["unfinished"] for source in sources):
                return
            time.sleep(0.5)
        raise AssertionError([(source["name"], source["documents"]) for source in sources])

    def until_ended(self, run_id: str | None, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while run_id and time.monotonic() < until:
            if self.http.get(f"/v1/runs/{run_id}").json()["state"] in {"completed", "failed", "crashed"}:
                return
            time.sleep(0.2)

    def rows(self, statements: str) -> None:
        with psycopg.connect(Postgres(self.almanac.home).url(driver="postgresql")) as connection:
            connection.execute(statements.encode())

    @property
    def dashboard(self) -> str:
        return f"http://127.0.0.1:{self.almanac.ports['DASHBOARD']}"

    def get(self, path: str, **query: Any) -> Any:
        answer: httpx.Response = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer: httpx.Response = self.http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def source(self, name: str) -> str:
        """Its id."""
        return next(str(each["id"]) for each in self.get("/v1/sources/names")["sources"] if each["name"] == name)

    def document(self, path: str) -> str:
        """Its id."""
        found = self.get("/v1/documents", q=path)["documents"]
        return next(str(each["id"]) for each in found if each["url"].endswith(path))
