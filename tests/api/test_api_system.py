"""How the whole is, for whoever watches it."""

import httpx
import pytest
from household import TOKEN, WELL, Household
from small_library import FEED

from almanac import __version__
from almanac.proof import proof

pytestmark = pytest.mark.database


async def test_health_is_ok_when_every_part_is(api: httpx.AsyncClient, household: Household) -> None:
    assert (await api.get("/health")).json() == {"status": "ok", "parts": WELL, "version": __version__}
    household.parts["model"] = "starting"
    answer = await api.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "starting")
    household.parts |= {"model": "ok", "index": "the index could not be written: the disk is full"}
    answer = await api.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "trouble")
    assert answer.json()["parts"]["index"] == "the index could not be written: the disk is full"


async def test_the_system_tells_what_waits_and_how_much_of_the_limits_is_used(
    api: httpx.AsyncClient, household: Household
) -> None:
    await api.post("/v1/sources", json={"url": FEED})
    household.runs.join()
    system = (await api.get("/v1/system")).json()
    assert system["queues"]["documents"] == {"indexed": 2, "rejected": 1}
    assert (system["queues"]["due"], system["queues"]["waiting"]) == (0, 0)
    hour, day = system["limits"]["articles_per_hour"], system["limits"]["articles_per_day"]
    assert (hour["limit"], hour["used"], day["used"]) == (household.library.settings.articles_per_hour, 2, 2)


async def test_the_settings_in_force_hold_no_secret(api: httpx.AsyncClient, household: Household) -> None:
    secret = "postgresql+psycopg://almanac:hunter2@db/almanac"
    household.library.settings = type(household.library.settings)(
        database_url=secret, prefect_url="http://almanac:hunter2@prefect:4200/api")
    answer = await api.get("/v1/system")
    assert "hunter2" not in answer.text
    assert answer.json()["settings"]["ALMANAC_PREFECT_URL"] == "http://********@prefect:4200/api"
    assert answer.json()["settings"]["ALMANAC_API_PORT"] == 8420


async def test_every_route_is_in_the_documentation_with_its_token(api: httpx.AsyncClient) -> None:
    described = (await api.get("/openapi.json")).json()
    assert {"/v1/retrieve", "/v1/sources", "/v1/documents"} <= set(described["paths"])
    for path, methods in described["paths"].items():
        open_to_all = path in {"/health", "/v1/uploads/{ticket}"}  # the URL of an upload is a secret
        for method in methods.values():
            assert method.get("security") == (None if open_to_all else [{"HTTPBearer": []}]), path


async def test_the_index_is_verified_and_made_again(api: httpx.AsyncClient, household: Household) -> None:
    await api.post("/v1/sources", json={"url": FEED})
    household.runs.join()
    vault = household.library.index
    held = set(vault.entries)
    sound = (await api.post("/v1/index/verify")).json()
    assert (sound["missing"], sound["orphans"]) == (0, 0)
    vault.entries.pop(next(iter(held)))
    assert (await api.post("/v1/index/verify")).json()["missing"] == 1
    started = await api.post("/v1/index/rebuild")
    assert started.status_code == 202
    household.runs.join()
    run = (await api.get(f"/v1/runs/{started.json()['flow_run_id']}")).json()
    assert (household.runs.started[-1], run["state"]) == (("rebuild", {}), "completed")
    household.runs.dying = True
    run = (await api.get(f"/v1/runs/{started.json()['flow_run_id']}")).json()
    assert (run["state"], run["message"]) == ("crashed", "The process is gone")
    assert set(vault.entries) == held


async def test_health_proves_that_it_holds_the_token_of_its_data_folder(api: httpx.AsyncClient) -> None:
    shy = {"Authorization": ""}
    first, second = [
        (await api.get("/health", headers=shy, params={"challenge": challenge})).json()["proof"]
        for challenge in ("first", "second")
    ]
    assert (first, second) == (proof(TOKEN, None, "first"), proof(TOKEN, None, "second"))
    assert first not in {second, proof("another", None, "first"), proof(TOKEN, 8420, "first")}
    assert "proof" not in (await api.get("/health", headers=shy)).json()
    assert (await api.get("/health", params={"challenge": "x" * 101})).status_code == 422
