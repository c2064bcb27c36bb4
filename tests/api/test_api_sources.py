"""Sources over HTTP."""

import httpx
import pytest
from household import Household, assert_problem
from small_library import FEED, SITE

from models.session import Database
from models.tables import Source

pytestmark = pytest.mark.database


async def added(api: httpx.AsyncClient, household: Household) -> str:
    answer = await api.post("/v1/sources", json={"url": FEED})
    household.runs.join()
    return str(answer.json()["id"])


async def test_a_source_is_looked_at_once_and_what_it_offers_is_read(
    api: httpx.AsyncClient, household: Household
) -> None:
    answer = await api.post("/v1/sources", json={"url": FEED, "every": "2h", "weight": 0.75, "limit": 2})
    assert answer.status_code == 201
    source = answer.json()
    assert (source["kind"], source["name"], source["url"]) == ("feed", "Site", FEED)
    assert (source["every_seconds"], source["weight"], source["limit_per_poll"]) == (7200, 0.75, 2)
    assert (source["last_poll"]["outcome"], source["last_poll"]["items_new"]) == ("new", 2)
    household.runs.join()
    assert household.library.fetcher.asked.count(FEED) == 1
    assert household.runs.started == [("read", {})]
    assert (await api.get(f"/v1/sources/{source['id']}")).json()["documents"] == {"indexed": 2}


async def test_the_same_source_twice_is_a_conflict_that_names_it(
    api: httpx.AsyncClient, household: Household
) -> None:
    identity = await added(api, household)
    detail = assert_problem(await api.post("/v1/sources", json={"url": FEED}), 409, "already_a_source")
    assert identity in detail


async def test_a_site_that_refuses_becomes_no_source(api: httpx.AsyncClient, household: Household) -> None:
    answer = await api.post("/v1/sources", json={"url": f"{SITE}/gone"})
    assert "410" in assert_problem(answer, 502, "site_refused")
    assert (await api.get("/v1/sources")).json() == {"sources": []}
    assert household.runs.started == []


async def test_a_source_is_saved_though_nothing_can_be_started_yet(
    api: httpx.AsyncClient, household: Household
) -> None:
    household.runs.away = True
    answer = await api.post("/v1/sources", json={"url": FEED})
    assert (answer.status_code, answer.json()["flow_run_id"]) == (201, None)


async def test_a_poll_is_started_and_can_be_followed(api: httpx.AsyncClient, household: Household) -> None:
    identity = await added(api, household)
    answer = await api.post(f"/v1/sources/{identity}/poll")
    assert answer.status_code == 202
    assert household.runs.started[-1] == ("poll", {"source_ids": [identity]})
    household.runs.join()
    run = (await api.get(f"/v1/runs/{answer.json()['flow_run_id']}")).json()
    identity_of_run = answer.json()["flow_run_id"]
    assert run == {"id": identity_of_run, "state": "completed", "message": None,
                   "url": f"http://127.0.0.1:4200/runs/flow-run/{identity_of_run}"}
    source = (await api.get(f"/v1/sources/{identity}")).json()
    assert (source["last_poll"]["outcome"], len(source["polls"])) == ("unchanged", 2)


async def test_all_that_are_due_are_polled_by_one_run(api: httpx.AsyncClient, household: Household) -> None:
    assert (await api.post("/v1/sources/poll")).status_code == 202
    assert household.runs.started == [("poll", {})]


async def test_a_poll_that_cannot_be_started_is_said(api: httpx.AsyncClient, household: Household) -> None:
    identity = await added(api, household)
    household.runs.away = True
    answer = await api.post(f"/v1/sources/{identity}/poll")
    assert "Prefect" in assert_problem(answer, 503, "not_ready")
    assert answer.headers["retry-after"]


async def test_a_source_is_paused_resumed_and_removed(api: httpx.AsyncClient, household: Household) -> None:
    identity = await added(api, household)
    assert (await api.post(f"/v1/sources/{identity}/pause")).json()["paused"] is True
    assert (await api.post(f"/v1/sources/{identity}/resume")).json()["paused"] is False
    removed = (await api.delete(f"/v1/sources/{identity}")).json()
    assert removed == {"documents": 3, "chunks": 2, "comes_back": False}
    assert household.runs.started[-1] == ("index", {})
    assert (await api.get("/v1/sources")).json() == {"sources": []}
    assert_problem(await api.delete(f"/v1/sources/{identity}"), 404, "not_found")
    found = await api.post("/v1/retrieve", json={"query": "how many barn owls were counted"})
    assert found.json()["excerpts"] == []


async def test_a_source_of_another_scope_does_not_exist(
    api: httpx.AsyncClient, household: Household, db: Database
) -> None:
    identity = await added(api, household)
    with db.begin() as session:
        session.query(Source).update({"scopes": ["library", "private"]})
    assert (await api.get("/v1/sources")).json() == {"sources": []}
    for call in ("GET ", "DELETE ", "POST /poll", "POST /pause", "POST /resume"):
        method, _, rest = call.partition(" ")
        assert_problem(await api.request(method, f"/v1/sources/{identity}{rest}"), 404, "not_found")
    with db.begin() as session:
        assert session.query(Source.paused, Source.removed_at).one() == (False, None)


async def test_times_have_their_zone(api: httpx.AsyncClient, household: Household) -> None:
    await added(api, household)
    [source] = (await api.get("/v1/sources")).json()["sources"]
    times = [source["created_at"], source["next_poll_at"], source["last_poll"]["started_at"]]
    assert all(time.endswith("+00:00") and "T" in time for time in times)
