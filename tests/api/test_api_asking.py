"""Asking with filters, asking a model, checking what it wrote, judging, and what the library notices."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest
from household import Household, assert_problem
from small_library import FEED

from tasks.errors import Transient

pytestmark = pytest.mark.database

OWLS = "forty nests of the barn owl"


class Says:
    """A model that says always the same."""

    name = "parrot"

    def __init__(self, said: str | Exception) -> None:
        self.said = said

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None = None) -> str:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


@pytest.fixture
async def stocked(api: httpx.AsyncClient, household: Household) -> httpx.AsyncClient:
    await api.post("/v1/sources", json={"url": FEED})
    household.runs.join()
    return api


async def test_a_question_may_say_where_to_look(stocked: httpx.AsyncClient) -> None:
    [source] = (await stocked.get("/v1/sources")).json()["sources"]

    async def found(**where: Any) -> int:
        answer = await stocked.post("/v1/retrieve", json={"query": OWLS, "k": 1} | where)
        assert answer.status_code == 200, answer.text
        return len(answer.json()["excerpts"])

    assert await found(sources=[source["id"]], scopes=["library"], recent=True) == 1
    assert await found(sources=["00000000-0000-4000-8000-000000000000"]) == 0
    assert await found(since="2020-01-01", until="2020-02-01T12:00:00Z") == 0
    assert await found(languages=["xx"]) == await found(content_types=["opinion"]) == 0


@pytest.mark.parametrize(
    ("where", "status", "code", "words"),
    [
        ({"since": "yesterday"}, 422, "invalid_request", "write it like 2026-05-20"),
        ({"since": "2026-05-02", "until": "2026-05-01"}, 422, "invalid_request", "nothing lies between them"),
        ({"content_types": ["rumour"]}, 422, "invalid_request", "there are news, time_sensitive"),
        ({"sources": []}, 422, "invalid_request", "has 0 values"),
        ({"scopes": ["ada"]}, 403, "scope_missing", "“ada”"),
    ],
)
async def test_a_filter_that_cannot_be_is_refused_in_one_sentence(
    api: httpx.AsyncClient, where: dict[str, Any], status: int, code: str, words: str
) -> None:
    for route in ("/v1/retrieve", "/v1/ask"):
        answer = await api.post(route, json={"query": OWLS} | where)
        assert words in assert_problem(answer, status, code)


async def test_a_models_answer_comes_checked(stocked: httpx.AsyncClient, household: Household) -> None:
    household.library.model = Says("Forty nests [K1], as many as in Rome [K7].")
    told = (await stocked.post("/v1/ask", json={"query": OWLS, "k": 1})).json()
    assert (told["answer"], told["model"]) == ("Forty nests [K1], as many as in Rome.", "parrot")
    assert told["check"]["unknown"] == ["K7"]
    assert told["excerpts"][0]["label"] == "K1"
    household.library.model = Says(Transient("the model is away"))
    told = (await stocked.post("/v1/ask", json={"query": OWLS, "k": 1})).json()
    assert (told["answer"], told["note"]) == (None, "The model is away; these are the excerpts themselves.")
    assert len(told["excerpts"]) == 1
    household.library.model = None
    told = (await stocked.post("/v1/ask", json={"query": OWLS, "k": 1})).json()
    assert (told["answer"], told["note"][:15]) == (None, "No model is set")


async def test_any_text_can_be_held_against_a_retrieval(stocked: httpx.AsyncClient) -> None:
    found = (await stocked.post("/v1/retrieve", json={"query": OWLS, "k": 1})).json()
    claim = {"retrieval_id": found["retrieval_id"],
             "text": "Four hundred “nests of the cuckoo clock” [K1] [K2]."}
    told = (await stocked.post("/v1/citations/check", json=claim)).json()
    assert (told["text"], told["unknown"], told["sound"]) == (
        "Four hundred “nests of the cuckoo clock” [K1].", ["K2"], False)
    assert told["quotes"][0]["problem"] == "it stands in no excerpt that was shown"
    unknown = claim | {"retrieval_id": "00000000-0000-4000-8000-000000000000"}
    assert_problem(await stocked.post("/v1/citations/check", json=unknown), 404, "not_found")


async def test_judgments_are_told_replayed_and_taken_back(stocked: httpx.AsyncClient) -> None:
    found = (await stocked.post("/v1/retrieve", json={"query": OWLS})).json()
    verdicts = {"retrieval_id": found["retrieval_id"], "good": ["K1"], "bad": ["K9"]}
    made = await stocked.post("/v1/judgments", json=verdicts)
    assert (made.status_code, made.json()) == (201, {"judged": ["K1"], "unknown": ["K9"]})
    [judged] = (await stocked.get("/v1/judgments")).json()["judgments"]
    assert (judged["query"], judged["good"]) == (OWLS, True)
    replayed = (await stocked.post("/v1/judgments/replay", json={"weights": {"source": 0.0}})).json()
    assert replayed["ndcg_at_10"] == {"before": 1.0, "after": 1.0}
    for route, wrong in (("/replay", {"weights": {"x": 1}}), ("", verdicts | {"bad": ["K1"]})):
        assert_problem(await stocked.post(f"/v1/judgments{route}", json=wrong), 422, "invalid_request")
    assert (await stocked.delete(f"/v1/judgments/{judged['id']}")).status_code == 204
    assert (await stocked.get("/v1/judgments")).json() == {"judgments": []}
    assert (await stocked.post("/v1/judgments/replay", json={})).json()["ndcg_at_10"] == {
        "before": None, "after": None}


async def test_interests_can_be_seen_set_and_erased(api: httpx.AsyncClient) -> None:
    assert (await api.put("/v1/interests", json={"topic": "Owls/Bats", "strength": 0.5})).json()["kept"]
    assert (await api.put("/v1/interests", json={"topic": "ferries"})).json()["strength"] == 1
    told = (await api.get("/v1/interests")).json()["interests"]
    assert [(it["topic"], it["strength"]) for it in told] == [("ferries", 1.0), ("owls/bats", 0.5)]
    assert (await api.delete("/v1/interests/owls%2Fbats")).status_code == 204
    assert_problem(await api.delete("/v1/interests/owls%2Fbats"), 404, "not_found")
    assert_problem(await api.put("/v1/interests", json={"topic": "a", "strength": 2}), 422, "invalid_request")
    assert (await api.delete("/v1/interests")).json() == {"forgotten": 1}
