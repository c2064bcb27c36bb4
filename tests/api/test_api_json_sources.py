"""JSON APIs as sources over HTTP: previewed, added with their map, and shown with it."""

import json

import httpx
import pytest
from household import Household, assert_problem
from small_library import SITE

pytestmark = pytest.mark.database
API = f"{SITE}/api"
WANTED = {"url": API, "kind": "json", "map": {"items": "found", "url": "at", "title": '"dc.title"'}}


@pytest.fixture(autouse=True)
def found(household: Household) -> None:
    rows = [{"at": f"/{name}", "dc.title": name.title()} for name in ("owls", "lighthouse", "a", "b")]
    household.library.fetcher.pages[API] = json.dumps({"found": rows})


async def test_a_preview_shows_three_mapped_items_and_saves_nothing(
    api: httpx.AsyncClient, household: Household
) -> None:
    answer = await api.post("/v1/sources/preview", json=WANTED)
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["kind"], shown["offered"]) == ("json", 4)
    assert [(item["url"], item["title"]) for item in shown["items"]] == [
        (f"{SITE}/owls", "Owls"), (f"{SITE}/lighthouse", "Lighthouse"), (f"{SITE}/a", "A")]
    assert (await api.get("/v1/sources")).json() == {"sources": []}
    assert household.runs.started == []


async def test_it_is_added_and_shown_with_its_map(api: httpx.AsyncClient, household: Household) -> None:
    answer = await api.post("/v1/sources", json=WANTED)
    assert answer.status_code == 201
    source = answer.json()
    assert (source["kind"], source["map"], source["last_poll"]["items_new"]) == ("json", WANTED["map"], 4)
    household.runs.join()
    shown = (await api.get(f"/v1/sources/{source['id']}")).json()
    assert (shown["map"], shown["documents"]["indexed"]) == (WANTED["map"], 2)


async def test_its_map_is_changed_after_a_look_at_what_it_would_offer(
    api: httpx.AsyncClient, household: Household
) -> None:
    source = (await api.post("/v1/sources", json=WANTED)).json()
    household.runs.join()
    asked = {"map": {"items": "found", "url": "at"}, "name": "Found"}
    shown = (await api.post(f"/v1/sources/{source['id']}/preview", json=asked)).json()
    assert (shown["name"], [item["title"] for item in shown["items"]]) == ("Found", [None] * 3)
    assert (await api.get(f"/v1/sources/{source['id']}")).json()["map"] == WANTED["map"]
    changed = (await api.patch(f"/v1/sources/{source['id']}", json=asked)).json()
    assert (changed["map"], changed["name"], changed["every_seconds"]) == (asked["map"], "Found", 3600)
    assert changed["next_poll_at"] < source["next_poll_at"]


@pytest.mark.parametrize(("changes", "why"), [
    ({"map": {"url": "a..b"}}, "is broken at"), ({"map": {}}, "needs a map"),
    ({"every": "1x"}, "no interval"),
    ({"every": "1h", "cron": "0 7 * * *"}, "not both"), ({"limit": 0}, "limit is from"),
])
async def test_a_change_that_cannot_be_changes_nothing(
    api: httpx.AsyncClient, changes: dict[str, object], why: str
) -> None:
    source = (await api.post("/v1/sources", json=WANTED)).json()
    for answer in (await api.patch(f"/v1/sources/{source['id']}", json=changes),
                   await api.post(f"/v1/sources/{source['id']}/preview", json=changes)):
        assert why in assert_problem(answer, 422, "invalid_request")


@pytest.mark.parametrize("route", ["/v1/sources", "/v1/sources/preview"])
async def test_a_map_that_leads_nowhere_is_refused_with_what_is_there(
    api: httpx.AsyncClient, household: Household, route: str
) -> None:
    answer = await api.post(route, json=WANTED | {"map": {"items": "posts", "url": "at"}})
    detail = assert_problem(answer, 502, "site_refused")
    assert "there is nothing at “posts”: it holds found" in detail


async def test_a_wrong_map_asks_nothing_of_anybody(api: httpx.AsyncClient, household: Household) -> None:
    answer = await api.post("/v1/sources", json=WANTED | {"map": {"url": "a..b"}})
    assert_problem(answer, 422, "invalid_request")
    assert household.library.fetcher.asked == []
