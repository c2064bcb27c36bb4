"""Asking over HTTP, and checking the answer's citations."""

from typing import Any

import httpx
import pytest
from household import Household, assert_problem
from small_library import FEED

pytestmark = pytest.mark.database


@pytest.fixture
async def answer(api: httpx.AsyncClient, household: Household) -> dict[str, Any]:
    await api.post("/v1/sources", json={"url": FEED})
    household.runs.join()
    found = await api.post("/v1/retrieve", json={"query": "forty nests of the barn owl", "k": 1})
    return dict(found.json())


async def test_the_answer_has_the_shape_of_the_contract(answer: dict[str, Any]) -> None:
    assert {"retrieval_id", "recent", "elapsed_ms", "excerpts", "dropped", "prompt"} <= set(answer)
    [excerpt] = answer["excerpts"]
    assert {"label", "used", "text", "headings", "document_id", "version_id", "chunk_id", "story", "citation",
            "score"} <= set(excerpt)
    assert (excerpt["label"], excerpt["used"]) == ("K1", True)
    assert set(excerpt["citation"]) == {
        "title", "url", "source", "author", "published_at", "read_at", "content_hash", "start", "end",
        "failing_since", "external"}
    assert "Forty nests" in excerpt["text"]
    assert "K1" in answer["prompt"]


async def test_a_citation_is_the_record_behind_its_label(
    api: httpx.AsyncClient, answer: dict[str, Any]
) -> None:
    [excerpt] = answer["excerpts"]
    cited = (await api.get(f"/v1/citations/{answer['retrieval_id']}/K1")).json()
    stored = (await api.get(f"/v1/documents/{excerpt['document_id']}")).json()["version"]
    assert cited["text"] == excerpt["text"] == stored["text"][cited["start"] : cited["end"]]
    assert cited["content_hash"] == stored["content_hash"]


async def test_a_label_that_was_not_given_does_not_exist(
    api: httpx.AsyncClient, answer: dict[str, Any]
) -> None:
    for label in ("K99", "k1", "1", "S1", "K1%20"):
        assert_problem(await api.get(f"/v1/citations/{answer['retrieval_id']}/{label}"), 404, "not_found")


async def test_nothing_relevant_is_an_answer_with_a_sentence(
    api: httpx.AsyncClient, answer: dict[str, Any]
) -> None:
    found = await api.post("/v1/retrieve", json={"query": "zxqv frobnicate wibble"})
    assert (found.status_code, found.json()["excerpts"]) == (200, [])
    assert "close enough" in found.json()["nothing"]


async def test_the_smallest_similarity_of_the_settings_holds(
    api: httpx.AsyncClient, household: Household, answer: dict[str, Any]
) -> None:
    question = {"query": "forty nests of the wood pigeon"}
    assert len((await api.post("/v1/retrieve", json=question)).json()["excerpts"]) == 1
    household.library.settings = household.library.settings.model_copy(update={"min_similarity": 1.0})
    assert (await api.post("/v1/retrieve", json=question)).json()["excerpts"] == []
