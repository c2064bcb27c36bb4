"""What the screens ask: what came lately, how documents age, and the ranking that can be set."""

from typing import Any

import httpx
import pytest
import stand_in
from household import Household, assert_problem
from small_library import FEED

pytestmark = pytest.mark.database

WEIGHTS = {"similarity": 0.6, "topic": 0.15, "freshness": 0.1, "source": 0.1, "interest": 0.05,
           "recently_used": 0.05}


@pytest.fixture
async def filled(api: httpx.AsyncClient, household: Household) -> httpx.AsyncClient:
    await api.post("/v1/sources", json={"url": FEED})
    household.runs.join()
    return api


def shape(document: Any) -> Any:
    """The names in a document, and those in the first of each list."""
    match document:
        case dict():
            return {name: shape(value) for name, value in document.items()}
        case [first, *_]:
            return [shape(first)]
    return []


def same_names(told: Any, recorded: Any) -> bool:
    """Whether what is told has the names that the recording has, wherever both have something."""
    if isinstance(told, dict) and isinstance(recorded, dict):
        return told.keys() == recorded.keys() and all(same_names(told[it], recorded[it]) for it in told)
    if isinstance(told, list) and isinstance(recorded, list):
        return all(same_names(*pair) for pair in zip(told, recorded, strict=False))
    return True


async def test_the_dashboards_recordings_have_the_shape_of_the_real_answers(
    filled: httpx.AsyncClient
) -> None:
    came = (await filled.get("/v1/today?days=7")).json()
    assert (came["counts"]["arrived"], came["counts"]["failed"]) == (2, 1)
    assert same_names(shape(came), shape(stand_in.came()))
    stories = (await filled.get("/v1/stories")).json()
    assert len(stories["others"]) == 2
    assert same_names(shape(stories), shape(stand_in.told_of() | {"stories": []}))
    assert same_names(shape((await filled.get("/v1/trends")).json()), shape(stand_in.rising("owls")))
    ageing = (await filled.get("/v1/freshness")).json()
    assert same_names(shape(ageing) | {"half_lives": {}, "counts": {}},
                      shape(stand_in.ageing(stand_in.placed())) | {"half_lives": {}, "counts": {}})
    await filled.post("/v1/retrieve", json={"query": "forty nests of the barn owl"})
    owls = next(it for it in ageing["documents"] if "owl" in it["title"])
    life = (await filled.get(f"/v1/documents/{owls['document_id']}/freshness")).json()
    assert len(life["asked"]) == 1
    assert same_names(shape(life), shape(stand_in.life()))
    filters = (await filled.get("/v1/filters")).json()
    assert filters["model"] is None
    assert [it["name"] for it in filters["sources"]]
    assert filters.keys() == stand_in.filters().keys()


async def test_a_document_of_which_nothing_answers_has_no_freshness(api: httpx.AsyncClient) -> None:
    unknown = "00000000-0000-0000-0000-000000000000"
    assert_problem(await api.get(f"/v1/documents/{unknown}/freshness"), 404, "not_found")
    for days in ("0", "8", "many"):
        assert_problem(await api.get(f"/v1/today?days={days}"), 422, "invalid_request")


async def test_the_ranking_is_set_for_everybody_and_only_by_who_may_change_the_library(
    filled: httpx.AsyncClient
) -> None:
    first = (await filled.get("/v1/ranking")).json()
    assert (first["weights"], first["set_at"]) == (WEIGHTS, None)
    assert first["half_lives"] == {"news": 3.0, "time_sensitive": 30.0, "opinion": 90.0, "reference": None,
                                   "evergreen": None}
    made = (await filled.post("/v1/tokens", json={"name": "guest", "scopes": ["guests"]})).json()["token"]
    guest = {"Authorization": f"Bearer {made}"}
    wanted = {"weights": {"topic": 0.3}, "half_lives": {"opinion": None}}
    assert_problem(await filled.put("/v1/ranking", json=wanted, headers=guest), 403, "scope_missing")
    told = (await filled.put("/v1/ranking", json=wanted)).json()
    assert told == (await filled.get("/v1/ranking", headers=guest)).json()
    assert (told["weights"], told["half_lives"]["opinion"]) == (WEIGHTS | {"topic": 0.3}, None)
    assert told["default"]["half_lives"]["opinion"] == 90.0
    found = await filled.post("/v1/retrieve", json={"query": "forty nests of the barn owl", "explain": True})
    assert found.json()["weights"]["topic"] == 0.3


@pytest.mark.parametrize("wanted", [
    {"weights": {"beauty": 1}}, {"weights": {"topic": 2}}, {"half_lives": {"news": 0}}, {"beauty": 1},
])
async def test_what_cannot_be_set_is_refused(wanted: dict[str, Any], api: httpx.AsyncClient) -> None:
    assert_problem(await api.put("/v1/ranking", json=wanted), 422, "invalid_request")
    assert_problem(await api.post("/v1/judgments/replay", json=wanted), 422, "invalid_request")


async def test_a_replay_compares_with_what_is_set(filled: httpx.AsyncClient) -> None:
    found = (await filled.post("/v1/retrieve", json={"query": "forty nests of the barn owl"})).json()
    await filled.post("/v1/judgments", json={"retrieval_id": found["retrieval_id"], "good": ["K1"]})
    await filled.put("/v1/ranking", json={"weights": {"topic": 0.3}})
    told = (await filled.post("/v1/judgments/replay", json={"half_lives": {"news": 1}})).json()
    assert told["weights"]["before"] == told["weights"]["after"] == WEIGHTS | {"topic": 0.3}
    assert told["ndcg_at_10"] == {"before": 1.0, "after": 1.0}
