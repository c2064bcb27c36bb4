"""Documents over HTTP."""

from datetime import UTC, datetime

import httpx
import pytest
from household import Household, assert_problem
from small_library import FEED, SITE

from models.session import Database
from models.states import ContentType
from models.tables import Document
from tasks.analyse.built_in import BuiltIn

pytestmark = pytest.mark.database


@pytest.fixture
async def read(api: httpx.AsyncClient, household: Household) -> dict[str, dict[str, object]]:
    """Each document of the site's feed by the end of its address, read and indexed."""
    await api.post("/v1/sources", json={"url": FEED})
    household.runs.join()
    listed = (await api.get("/v1/documents")).json()["documents"]
    return {document["url"].rpartition("/")[2]: document for document in listed}


async def test_an_address_is_read_when_asked_for(api: httpx.AsyncClient, household: Household) -> None:
    answer = await api.post("/v1/documents", json={"url": f"{SITE}/owls"})
    assert answer.status_code == 202
    document = answer.json()
    assert household.runs.started == [("read", {"document_ids": [document["id"]]})]
    household.runs.join()
    shown = (await api.get(f"/v1/documents/{document['id']}")).json()
    assert (shown["state"], shown["title"]) == ("indexed", "A census of barn owls")
    assert "Forty nests" in shown["version"]["text"]


async def test_reading_a_known_address_reads_it_again(
    api: httpx.AsyncClient, household: Household, read: dict[str, dict[str, object]]
) -> None:
    again = (await api.post("/v1/documents", json={"url": f"{SITE}/owls#top"})).json()
    assert again["id"] == read["owls"]["id"]
    household.runs.join()
    assert household.library.fetcher.asked.count(f"{SITE}/owls") == 2


async def test_each_ends_in_its_state_with_its_reason(read: dict[str, dict[str, object]]) -> None:
    assert {name: document["state"] for name, document in read.items()} == {
        "lighthouse": "indexed", "owls": "indexed", "gone": "rejected"}
    assert "410" in str(read["gone"]["reason"])


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"state": "rejected"}, {"gone"}),
        ({"q": "barn owls"}, {"owls"}),
        ({"q": "HOUSE"}, {"lighthouse"}),
        ({"q": "100%"}, set()),
        ({"source": "ffffffff-ffff-4fff-8fff-ffffffffffff"}, set()),
    ],
)
async def test_the_list_can_be_narrowed(
    api: httpx.AsyncClient, read: dict[str, dict[str, object]], query: dict[str, str], names: set[str]
) -> None:
    listed = (await api.get("/v1/documents", params=query)).json()
    assert {document["url"].rpartition("/")[2] for document in listed["documents"]} == names
    assert listed["next"] is None


async def test_pages_hold_each_document_once(
    api: httpx.AsyncClient, read: dict[str, dict[str, object]]
) -> None:
    first = (await api.get("/v1/documents", params={"limit": 2})).json()
    second = (await api.get("/v1/documents", params={"limit": 2, "after": first["next"]})).json()
    assert (len(first["documents"]), len(second["documents"]), second["next"]) == (2, 1, None)
    ids = {document["id"] for page in (first, second) for document in page["documents"]}
    assert ids == {document["id"] for document in read.values()}


async def test_a_changed_page_has_two_versions_newest_first(
    api: httpx.AsyncClient, household: Household, read: dict[str, dict[str, object]]
) -> None:
    household.library.fetcher.pages[f"{SITE}/owls"] = "A census of barn owls\nFifty nests after all."
    answer = await api.post(f"/v1/documents/{read['owls']['id']}/retry")
    assert answer.status_code == 202
    household.runs.join()
    versions = (await api.get(f"/v1/documents/{read['owls']['id']}/versions")).json()["versions"]
    assert [version["number"] for version in versions] == [2, 1]


async def test_a_document_says_what_the_analysis_says(
    api: httpx.AsyncClient, read: dict[str, dict[str, object]]
) -> None:
    analysis = (await api.get(f"/v1/documents/{read['owls']['id']}")).json()["version"]["analysis"]
    assert analysis["analyser"] == BuiltIn.name
    assert analysis["summary"] == "Forty nests of the barn owl were counted in the valley this spring."
    assert analysis["content_type"] in set(ContentType)
    assert 0 <= analysis["confidence"] <= 1
    assert analysis["note"] is None
    assert (await api.get(f"/v1/documents/{read['gone']['id']}")).json()["version"] is None


async def test_a_document_can_be_analysed_again_without_being_read(
    api: httpx.AsyncClient, household: Household, read: dict[str, dict[str, object]]
) -> None:
    path, asked = f"/v1/documents/{read['owls']['id']}", len(household.library.fetcher.asked)
    before = (await api.get(path)).json()["version"]
    answer = await api.post(f"{path}/retry", params={"analyse": True})
    assert (answer.status_code, answer.json()["id"]) == (202, read["owls"]["id"])
    assert household.runs.started[-1] == ("reanalyse", {"document_ids": [read["owls"]["id"]]})
    household.runs.join()
    after = (await api.get(path)).json()["version"]
    assert after["analysis"]["analysed_at"] > before["analysis"]["analysed_at"]
    assert (after["number"], len(household.library.fetcher.asked)) == (before["number"], asked)


async def test_what_says_nothing_yet_cannot_be_analysed(
    api: httpx.AsyncClient, household: Household, read: dict[str, dict[str, object]]
) -> None:
    gone, owls = (f"/v1/documents/{read[name]['id']}" for name in ("gone", "owls"))
    told = assert_problem(await api.post(f"{gone}/retry", params={"analyse": True}), 409, "conflict")
    assert "analysed when it is indexed" in told
    household.runs.away = True
    assert_problem(await api.post(f"{owls}/retry", params={"analyse": True}), 503, "not_ready")
    await api.delete(owls)
    assert_problem(await api.post(f"{owls}/retry", params={"analyse": True}), 410, "removed")


async def test_a_removed_document_is_gone_and_not_brought_back(
    api: httpx.AsyncClient, household: Household, read: dict[str, dict[str, object]]
) -> None:
    path = f"/v1/documents/{read['owls']['id']}"
    assert (await api.delete(path)).json()["documents"] == 1
    assert household.runs.started[-1] == ("index", {})
    [source] = (await api.get("/v1/sources")).json()["sources"]
    await api.post(f"/v1/sources/{source['id']}/poll")
    household.runs.join()
    assert len((await api.get("/v1/documents")).json()["documents"]) == 2


async def test_what_is_removed_can_be_looked_at_and_says_how_to_bring_it_back(
    api: httpx.AsyncClient, household: Household, read: dict[str, dict[str, object]]
) -> None:
    path = f"/v1/documents/{read['owls']['id']}"
    await api.delete(path)
    [listed] = (await api.get("/v1/documents", params={"state": "removed"})).json()["documents"]
    shown = (await api.get(path)).json()
    assert {name: shown[name] for name in listed} == listed
    assert (shown["state"], shown["reason"], shown["version"]) == ("removed", "removed by its owner", None)
    household.runs.started.clear()
    for method, more in [("GET", "/versions"), ("POST", "/retry"), ("DELETE", "")]:
        told = assert_problem(await api.request(method, path + more), 410, "removed")
        assert told == ("There is no such document any more: removed by its owner. "
                        f"`almanac read {SITE}/owls` brings it back.")
    assert household.runs.started == []
    again = (await api.post("/v1/documents", json={"url": f"{SITE}/owls"})).json()
    assert again["state"] != "removed"


async def test_what_went_with_its_source_says_so(
    api: httpx.AsyncClient, read: dict[str, dict[str, object]]
) -> None:
    await api.delete(f"/v1/sources/{read['owls']['source_id']}")
    path = f"/v1/documents/{read['owls']['id']}"
    assert (await api.get(path)).json()["reason"] == "its source was removed"
    told = assert_problem(await api.post(f"{path}/retry"), 410, "removed")
    assert told.startswith("There is no such document any more: its source was removed. `almanac read ")


async def test_a_document_of_another_scope_does_not_exist(
    api: httpx.AsyncClient, household: Household, read: dict[str, dict[str, object]], db: Database
) -> None:
    with db.begin() as session:
        session.query(Document).update({"scopes": ["library", "private"]})
    path = f"/v1/documents/{read['owls']['id']}"
    assert (await api.get("/v1/documents")).json()["documents"] == []
    for method, more in [("GET", ""), ("GET", "/versions"), ("POST", "/retry"), ("DELETE", "")]:
        assert_problem(await api.request(method, path + more), 404, "not_found")


async def test_what_a_limit_holds_back_says_so(api: httpx.AsyncClient, household: Household) -> None:
    household.library.settings.articles_per_hour = 1
    for page in ("owls", "lighthouse"):
        identity = (await api.post("/v1/documents", json={"url": f"{SITE}/{page}"})).json()["id"]
        household.runs.join()
    [held, indexed] = (await api.get("/v1/documents")).json()["documents"]
    assert (held["id"], held["state"], indexed["held"]) == (identity, "read", None)
    assert held["held"]["reason"] == "1 of 1 articles this hour are indexed"
    assert datetime.fromisoformat(held["held"]["until"]) > datetime.now(UTC)
    assert (await api.get(f"/v1/documents/{identity}")).json()["held"] == held["held"]
    assert (await api.get("/v1/system")).json()["held"] == held["held"]
