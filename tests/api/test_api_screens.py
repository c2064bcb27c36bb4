"""What the screens of sources, documents and quality ask for: histories, pieces, verdicts, rates."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import httpx
import pytest
from household import Household, assert_problem
from small_library import FEED, SITE
from sqlalchemy import select

from models.session import Database
from models.states import PollOutcome, Severity
from models.tables import DocumentVersion, Poll, Source
from tasks.ports import Remark

pytestmark = pytest.mark.database


class Strict:
    """Refuses whatever speaks of owls, and notes whatever speaks of a lamp."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def versions(self, versions: Sequence[UUID]) -> list[Remark]:
        with self.db.begin() as session:
            rows = session.execute(select(DocumentVersion.id, DocumentVersion.text)
                                   .where(DocumentVersion.id.in_(versions))).all()
        owls = [Remark("versions", "no orders", Severity.CRITICAL, "it speaks of owls", "1", "barn owl",
                       version_id=row.id) for row in rows if "owl" in row.text]
        lamps = [Remark("versions", "no broken words", Severity.WARNING, "it speaks of lamps", "2",
                        version_id=row.id) for row in rows if "lamp" in row.text]
        return owls + lamps

    def chunks(self, chunks: Sequence[Mapping[str, Any]], window: int, dimensions: int) -> list[Remark]:
        return []


@pytest.fixture
async def source(api: httpx.AsyncClient, household: Household) -> str:
    household.library.gate = Strict(household.library.db)
    added = await api.post("/v1/sources", json={"url": FEED, "tags": ["sea"]})
    household.runs.join()
    return str(added.json()["id"])


async def document(api: httpx.AsyncClient, word: str) -> str:
    return str((await api.get("/v1/documents", params={"q": word})).json()["documents"][0]["id"])


async def test_a_page_of_sources_has_their_looks_and_days(
    api: httpx.AsyncClient, source: str, db: Database
) -> None:
    now = datetime.now(UTC)
    with db.begin() as session:
        for days, outcome in ((1, PollOutcome.FAILED), (3, PollOutcome.NEW), (40, PollOutcome.NEW)):
            at = now - timedelta(days=days)
            session.add(Poll(id=uuid4(), source_id=UUID(source), started_at=at, finished_at=at,
                             outcome=outcome, reason="", items_new=7 * (outcome is PollOutcome.NEW)))
    page = (await api.get("/v1/sources/page", params={"zone": "Asia/Tokyo"})).json()
    assert (page["next"], page["counts"]) == (None, {"all": 1, "unwell": 0, "paused": 0})
    [shown] = page["sources"]
    assert [look["outcome"] for look in shown["looks"]] == ["new", "new", "failed", "new"]
    assert len(shown["days"]) == 14
    assert sum(day["new"] for day in shown["days"]) == 7 + 3
    assert shown["days"][-1] == {"day": local(now, "Asia/Tokyo"), "new": 3}
    alone = (await api.get(f"/v1/sources/{source}", params={"zone": "Asia/Tokyo"})).json()
    assert (alone["looks"], alone["days"]) == (shown["looks"], shown["days"])
    for path in ("/v1/sources/page", f"/v1/sources/{source}", "/v1/quality/rates"):
        assert_problem(await api.get(path, params={"zone": "Mars/North"}), 422, "invalid_request")


def local(now: datetime, zone: str) -> str:
    return now.astimezone(ZoneInfo(zone)).date().isoformat()


async def test_sources_come_in_pages_the_unwell_first(api: httpx.AsyncClient, db: Database) -> None:
    with db.begin() as session:
        for name, more in (("b", {}), ("Asleep", {"paused": True, "failures": 2}), ("Sick", {"failures": 1}),
                           ("A", {"tags": ["tides"]}), ("gone", {"removed_at": datetime.now(UTC)})):
            session.add(Source(id=uuid4(), kind="feed", name=name, url=f"https://e.org/{name}", **more))
    page = (await api.get("/v1/sources/page", params={"limit": 2})).json()
    rest = (await api.get("/v1/sources/page", params={"limit": 2, "after": page["next"]})).json()
    assert rest["next"] is None
    names = [each["name"] for each in page["sources"] + rest["sources"]]
    assert names == ["Sick", "A", "b", "Asleep"]
    assert page["counts"] == {"all": 4, "unwell": 1, "paused": 1}
    found = (await api.get("/v1/sources/page", params={"q": "tide"})).json()
    assert [each["name"] for each in found["sources"]] == ["A"]
    listed = (await api.get("/v1/sources/names")).json()["sources"]
    assert [each["name"] for each in listed] == ["A", "Asleep", "b", "Sick"]


async def test_an_api_is_sampled_before_it_has_a_map(api: httpx.AsyncClient, household: Household) -> None:
    posts = {"data": [{"link": f"{SITE}/owls", "name": "Owls"}]}
    household.library.fetcher.pages[f"{SITE}/api"] = json.dumps(posts)
    told = (await api.post("/v1/sources/sample", json={"url": f"{SITE}/api"})).json()
    assert told["lists"] == [{
        "items": "data", "count": 1, "map": {"items": "data", "url": "link", "title": "name"},
        "fields": [{"path": "link", "values": [f"{SITE}/owls"]}, {"path": "name", "values": ["Owls"]}]}]
    assert (await api.get("/v1/sources")).json() == {"sources": []}
    assert_problem(await api.post("/v1/sources/sample", json={"url": f"{SITE}/gone"}), 502, "site_refused")


async def test_documents_are_narrowed_to_a_content_type(api: httpx.AsyncClient, source: str) -> None:
    [lighthouse] = [each for each in (await api.get("/v1/documents")).json()["documents"]
                    if each["url"].endswith("/lighthouse")]
    kind = lighthouse["content_type"]
    found = (await api.get("/v1/documents", params={"content_type": kind})).json()["documents"]
    assert [each["id"] for each in found] == [lighthouse["id"]]
    assert_problem(await api.get("/v1/documents", params={"content_type": "poem"}), 422, "invalid_request")


async def test_a_version_is_shown_by_its_number(
    api: httpx.AsyncClient, household: Household, source: str
) -> None:
    household.library.fetcher.pages[f"{SITE}/lighthouse"] = "The lighthouse\nIts lamp is a diode now, I hear."
    await api.post("/v1/documents", json={"url": f"{SITE}/lighthouse"})
    household.runs.join()
    identity = await document(api, "/lighthouse")
    said = [(await api.get(f"/v1/documents/{identity}", params=query)).json()["version"]["text"]
            for query in ({"version": 1}, {"version": 2}, {})]
    assert ("1931" in said[0], "diode" in said[1], said[2] == said[1]) == (True, True, True)


async def test_chunks_are_told_as_they_were_cut_in_pages(
    api: httpx.AsyncClient, household: Household, source: str
) -> None:
    identity = await document(api, "/lighthouse")
    told = (await api.get(f"/v1/documents/{identity}/chunks")).json()
    text = (await api.get(f"/v1/documents/{identity}")).json()["version"]["text"]
    assert (told["version"], told["count"], told["next"]) == (1, len(told["chunks"]), None)
    assert told["tokens"] == sum(chunk["tokens"] for chunk in told["chunks"]) > 0
    for chunk in told["chunks"]:
        assert text[chunk["start"]:chunk["end"]] == chunk["text"]
        assert chunk["state"] == "live"
    behind = (await api.get(f"/v1/documents/{identity}/chunks", params={"after": 0})).json()
    assert behind["chunks"] == told["chunks"][1:]


async def test_gate_results_say_what_is_met_and_what_is_not(api: httpx.AsyncClient, source: str) -> None:
    told = (await api.get(f"/v1/documents/{await document(api, '/owls')}/gates")).json()
    results = {each["expectation"]: each for each in told["results"]}
    assert told["verdict"] == "quarantined"
    assert (results["no orders"]["met"], results["no orders"]["passage"]) == (False, "barn owl")
    assert results["enough text"]["met"] is True
    chunks = {each["met"] for each in told["results"] if each["gate"] == "chunks"}
    assert chunks == {None}
    passed = (await api.get(f"/v1/documents/{await document(api, '/lighthouse')}/gates")).json()
    assert {each["expectation"] for each in passed["results"] if each["met"] is False} == {"no broken words"}
    assert {each["met"] for each in passed["results"] if each["gate"] == "chunks"} == {True}


async def test_what_was_never_read_has_no_chunks_and_no_verdicts(
    api: httpx.AsyncClient, source: str
) -> None:
    gone = await document(api, "/gone")
    for part in ("chunks", "gates"):
        assert_problem(await api.get(f"/v1/documents/{gone}/{part}"), 409, "no_such_versions")
        nobody = f"/v1/documents/{uuid4()}/{part}"
        assert_problem(await api.get(nobody), 404, "not_found")


async def test_rates_count_what_passed_and_what_was_refused(api: httpx.AsyncClient, source: str) -> None:
    told = (await api.get("/v1/quality/rates", params={"days": 3})).json()
    assert [(day["passed"], day["refused"]) for day in told["days"]] == [(0, 0), (0, 0), (1, 1)]
    unmet = {each["expectation"]: each["days"] for each in told["expectations"] if any(each["days"])}
    assert unmet == {"no orders": [0, 0, 1], "no broken words": [0, 0, 1]}
    assert {"enough text", "a title"} <= {each["expectation"] for each in told["expectations"]}


async def test_a_released_version_was_refused_and_has_not_passed(
    api: httpx.AsyncClient, household: Household, source: str
) -> None:
    await api.post(f"/v1/quality/{await document(api, '/owls')}/release")
    household.runs.join()
    [today] = (await api.get("/v1/quality/rates", params={"days": 1})).json()["days"]
    assert (today["passed"], today["refused"]) == (1, 1)


async def test_the_refused_are_listed_once_with_all_reasons(api: httpx.AsyncClient, source: str) -> None:
    page = (await api.get("/v1/quality/refusals")).json()
    [refusal] = page["refusals"]
    assert (refusal["document_id"], refusal["source"]) == (await document(api, "/owls"), "Site")
    [result] = refusal["results"]
    assert (result["reason"], result["passage"]) == ("it speaks of owls", "barn owl")
    assert (page["next"], page["counts"]) == (None, {"quarantined": 1})
    for query in ({"verdict": "rejected"}, {"source": str(uuid4())}):
        assert (await api.get("/v1/quality/refusals", params=query)).json()["refusals"] == []
    assert_problem(await api.get("/v1/quality/refusals", params={"after": "x"}), 422, "invalid_request")


async def test_many_are_decided_at_once_and_indexed_by_one_run(
    api: httpx.AsyncClient, household: Household, source: str
) -> None:
    owls, lighthouse = await document(api, "/owls"), await document(api, "/lighthouse")
    runs = len(household.runs.started)
    answer = (await api.post("/v1/quality/release", json={"document_ids": [owls, lighthouse]})).json()
    assert (answer["decided"], [each["document_id"] for each in answer["left"]]) == ([owls], [lighthouse])
    household.runs.join()
    assert household.runs.started[runs:] == [("index", {})]
    assert (await api.get(f"/v1/documents/{owls}")).json()["state"] == "indexed"
    back = (await api.post("/v1/quality/reject", json={"document_ids": [owls, lighthouse]})).json()
    assert (back["decided"], "nothing to decide" in back["left"][0]["why"]) == ([owls], True)
    assert_problem(await api.post("/v1/quality/reject", json={"document_ids": []}), 422, "invalid_request")


async def test_runs_are_listed_with_their_pages_in_the_prefect_ui(
    api: httpx.AsyncClient, household: Household, source: str
) -> None:
    household.library.settings = type(household.library.settings)(
        home=household.library.settings.home, prefect_url="http://almanac:hunter2@prefect:4200/api")
    answer = await api.get("/v1/runs")
    [run] = answer.json()["runs"]
    assert (run["flow"], run["url"]) == ("read", f"http://prefect:4200/runs/flow-run/{run['id']}")
    assert "hunter2" not in answer.text
    household.runs.away = True
    assert_problem(await api.get("/v1/runs"), 503, "not_ready")
