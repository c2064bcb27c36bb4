"""Keys for external AIs over HTTP, and a question that goes out and is answered at home the next time."""

from typing import Any

import httpx
import pytest
from household import Household, assert_problem
from provider import Provider, fails, says
from small_library import FEED, SITE

pytestmark = pytest.mark.database

KEY = "planted-TESTONLY-key-7Q4z"
MONGOLIA = "what is the capital of mongolia"
NO_KEYS = {"requests_per_minute": 0, "tokens_per_minute": 0, "requests_per_day": 0, "tokens_per_day": 0}


@pytest.fixture
async def ada(api: httpx.AsyncClient) -> dict[str, str]:
    """The header of somebody who is not the owner."""
    made = await api.post("/v1/tokens", json={"name": "ada"})
    return {"Authorization": f"Bearer {made.json()['token']}"}


async def test_a_key_goes_in_and_its_last_four_characters_come_out(api: httpx.AsyncClient) -> None:
    made = await api.post("/v1/credentials", json={"provider": "gemini", "key": KEY})
    assert made.status_code == 201
    told = made.json()
    shown = ("owner", "last_four", "priority", "enabled")
    assert [told[name] for name in shown] == ["global", "7Q4z", 50, True]
    assert (told["limits"]["requests_per_minute"], told["used"]) == (15, NO_KEYS)
    assert (await api.get("/v1/credentials")).json() == {"credentials": [told]}
    [used] = (await api.get("/v1/usage")).json()["credentials"]
    assert used.keys() == {"id", "provider", "owner", "last_four", "limits", "used"}
    changes = {"priority": 9, "enabled": False, "limits": {"tokens_per_day": 7, "requests_per_day": None}}
    told = (await api.patch(f"/v1/credentials/{told['id']}", json=changes)).json()
    assert (told["priority"], told["enabled"]) == (9, False)
    assert (told["limits"]["tokens_per_day"], told["limits"]["requests_per_day"]) == (7, None)
    told = (await api.patch(f"/v1/credentials/{told['id']}", json={"key": "a-new-key-of-0001"})).json()
    assert told["last_four"] == "0001"
    assert (await api.post("/v1/credentials/rotate")).json() == {"sealed": 1, "left": 0}
    assert (await api.delete(f"/v1/credentials/{told['id']}")).status_code == 204
    assert_problem(await api.delete(f"/v1/credentials/{told['id']}"), 404, "not_found")
    assert_problem(await api.patch(f"/v1/credentials/{told['id']}", json={}), 404, "not_found")


@pytest.mark.parametrize("body", [
    {"provider": "gemini", "key": f"{KEY} {KEY}"},
    {"provider": "gemini", "key": [KEY]},
    {"provider": "gemini", "key": KEY, "url": f"http://tide.example/{KEY}"},
    {"provider": "gemini", "key": KEY, "priority": 101},
    {"provider": "tide", "key": KEY},
    {"provider": "gemini", "key": KEY * 500},
    {"provider": "gemini", "key": KEY, "Key": KEY},
    {"provider": "gemini", "key": KEY, "limits": {"tokens_per_day": KEY}},
])
async def test_a_refusal_repeats_nothing_of_the_key(api: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await api.post("/v1/credentials", json=body)
    assert_problem(answer, 422, "invalid_request")
    assert KEY not in answer.text
    assert KEY not in (await api.get("/v1/credentials")).text


async def test_whoever_is_not_the_owner_has_keys_of_their_own_only(
    api: httpx.AsyncClient, ada: dict[str, str]
) -> None:
    common = (await api.post("/v1/credentials", json={"provider": "gemini", "key": KEY})).json()["id"]
    wanted = {"provider": "gemini", "key": KEY}
    assert_problem(await api.post("/v1/credentials", json=wanted, headers=ada), 403, "owner_only")
    assert_problem(await api.post("/v1/credentials/rotate", headers=ada), 403, "owner_only")
    own = await api.post("/v1/credentials", json=wanted | {"owner": "personal"}, headers=ada)
    assert (own.status_code, own.json()["owner"]) == (201, "personal")
    for asked in (await api.get("/v1/credentials", headers=ada), await api.get("/v1/usage", headers=ada)):
        assert [it["id"] for it in asked.json()["credentials"]] == [own.json()["id"]]
    assert [it["id"] for it in (await api.get("/v1/credentials")).json()["credentials"]] == [common]
    for foreign, headers in ((common, ada), (own.json()["id"], {})):
        gone = await api.delete(f"/v1/credentials/{foreign}", headers=headers)
        assert_problem(gone, 404, "not_found")


async def test_a_lost_master_key_is_said_and_nothing_else_is_lost_with_it(
    api: httpx.AsyncClient, household: Household
) -> None:
    await api.post("/v1/credentials", json={"provider": "gemini", "key": KEY})
    (household.library.settings.home / "keys" / "master.key").unlink()
    lost = (await api.get("/v1/system")).json()["vault"]["lost"]
    assert lost.startswith("the master key is lost, and with it the key of Google Gemini …7Q4z: put")
    refused = await api.post("/v1/credentials", json={"provider": "gemini", "key": KEY})
    assert "the master key is lost" in assert_problem(refused, 503, "service_away").lower()
    told = (await api.post("/v1/ask", json={"query": MONGOLIA})).json()
    assert (told["answer"], told["came_from"]) == (None, None)
    assert "its key cannot be opened" in told["note"]


async def test_headers_without_a_master_key_are_refused_and_never_stored_plain_nor_left_out(
    api: httpx.AsyncClient, household: Household
) -> None:
    (household.library.settings.home / "keys" / "master.key").unlink()
    wanted = {"url": FEED, "headers": {"X-Key": KEY}}
    refused = await api.post("/v1/sources", json=wanted)
    assert "no master key" in assert_problem(refused, 503, "service_away")
    source = (await api.post("/v1/sources", json={"url": FEED})).json()
    refused = await api.put(f"/v1/sources/{source['id']}/headers", json={"headers": {"X-Key": KEY}})
    assert "no master key" in assert_problem(refused, 503, "service_away")
    assert (await api.get(f"/v1/sources/{source['id']}")).json()["headers"] == []
    (household.library.settings.home / "keys" / "master.key").write_text("hunter2")
    plain = await api.post("/v1/sources", json={"url": f"{SITE}/owls", "kind": "page"})
    assert plain.status_code == 201


@pytest.fixture
async def gemini(api: httpx.AsyncClient) -> Any:
    with Provider() as provider:
        wanted = {"provider": "gemini", "key": KEY, "url": provider.url}
        assert (await api.post("/v1/credentials", json=wanted)).status_code == 201
        yield provider


async def ask(api: httpx.AsyncClient, query: str, **more: Any) -> Any:
    answer = await api.post("/v1/ask", json={"query": query} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_library_is_asked_first_and_then_nobody_else(
    api: httpx.AsyncClient, household: Household, gemini: Provider
) -> None:
    handed = {"text": "what is the capital of mongolia it is ulaanbaatar", "title": "Mongolia"}
    await api.post("/v1/keep", json=handed)
    household.runs.join()
    told = await ask(api, MONGOLIA)
    assert (told["came_from"], told["external"], gemini.asked) == ("library", None, [])
    assert told["excerpts"][0]["citation"]["external"] is False


async def test_what_it_cannot_answer_goes_out_and_is_answered_at_home_the_next_time(
    api: httpx.AsyncClient, household: Household, gemini: Provider
) -> None:
    gemini.acts = [says("Ulaanbaatar [K1] is the capital of Mongolia, says https://lies.example/page.")]
    told = await ask(api, MONGOLIA)
    assert (told["answer"], told["came_from"], told["check"]) == (
        "Ulaanbaatar is the capital of Mongolia, says (address removed).", "external_ai", None)
    assert told["note"].startswith("It comes from an external AI (Google Gemini, gemini-2.5-flash-lite), not "
                                   "from your sources, and nothing of it was checked")
    external = told["external"]
    kept = {"provider": "Google Gemini", "asked": MONGOLIA, "at_home": False}
    assert external | kept == external
    cited = {"source": "Answers from external AI", "external": True, "title": MONGOLIA}
    assert external["citation"] | cited == external["citation"]
    household.runs.join()
    document = (await api.get(f"/v1/documents/{external['document_id']}")).json()
    assert (document["state"], document["source"]) == ("indexed", "Answers from external AI")
    again = await ask(api, MONGOLIA)
    assert (again["answer"], again["came_from"], again["external"]["at_home"]) == (
        told["answer"], "external_ai", True)
    citation = again["excerpts"][0]["citation"]
    assert (citation["external"], citation["source"], citation["author"]) == (
        True, "Answers from external AI", "Google Gemini (gemini-2.5-flash-lite)")
    assert "Kind: what an external AI has answered" in again["prompt"]
    cited = await api.get(f"/v1/citations/{again['retrieval_id']}/K1")
    assert cited.json()["external"] is True
    assert len(gemini.asked) == 1
    asked = (await api.get("/v1/usage")).json()["asked"]
    assert [(it["question"], it["outcome"], it["retrieval_id"]) for it in asked] == [
        (MONGOLIA, "answered", told["retrieval_id"])]


async def test_a_model_of_the_owners_answers_from_what_an_external_ai_has_said_and_it_is_marked(
    api: httpx.AsyncClient, household: Household, gemini: Provider
) -> None:
    await ask(api, MONGOLIA)
    household.runs.join()

    class Says:
        name = "parrot"

        def complete(self, messages: Any, schema: Any = None) -> str:
            return "Ulaanbaatar [K1]."

    household.library.model = Says()
    told = await ask(api, MONGOLIA)
    assert (told["answer"], told["model"], told["came_from"], told["external"]) == (
        "Ulaanbaatar [K1].", "parrot", "library", None)
    assert told["excerpts"][0]["citation"]["external"] is True


async def test_a_question_that_is_to_stay_here_stays(api: httpx.AsyncClient, gemini: Provider) -> None:
    for choice in ({"outside": False}, {"since": "2020-01-01"}, {"languages": ["xx"]}):
        told = await ask(api, MONGOLIA, **choice)
        assert (told["answer"], told["external"]) == (None, None)
    await api.post("/v1/retrieve", json={"query": MONGOLIA})
    assert gemini.asked == []


async def test_when_nobody_answers_the_library_says_what_it_has_and_why(
    api: httpx.AsyncClient, gemini: Provider
) -> None:
    gemini.acts = [fails(503, KEY)]
    told = await ask(api, MONGOLIA)
    assert (told["answer"], told["came_from"]) == (None, None)
    assert told["note"].endswith(
        "; no external AI has answered (Google Gemini …7Q4z: it is not well (HTTP 503)).")
    assert KEY not in str(told)
