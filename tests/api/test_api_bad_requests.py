"""Bad input over HTTP: a problem document with one sentence, and nothing done."""

from typing import Any

import httpx
import pytest
from household import Household, assert_problem

pytestmark = pytest.mark.database


@pytest.fixture
def household(shared: Household) -> Household:
    return shared

UNKNOWN = "ffffffff-ffff-4fff-8fff-ffffffffffff"
INVALID = [
    # method, path, body, what the sentence says
    ("POST", "/v1/retrieve", {}, "query is missing"),
    ("POST", "/v1/retrieve", {"query": ""}, "empty"),
    ("POST", "/v1/retrieve", {"query": " \n\t"}, "empty"),
    ("POST", "/v1/retrieve", {"query": "\0"}, "empty"),
    ("POST", "/v1/retrieve", {"query": "a" * 10_001}, "10,000"),
    ("POST", "/v1/retrieve", {"query": "a", "k": 0}, "k is 0"),
    ("POST", "/v1/retrieve", {"query": "a", "k": -1}, "k is -1"),
    ("POST", "/v1/retrieve", {"query": "a", "k": 1000}, "k is 1000"),
    ("POST", "/v1/retrieve", {"query": "a", "k": "six"}, "k should be a valid integer"),
    ("POST", "/v1/retrieve", {"query": "a", "budget_tokens": -1}, "budget_tokens"),
    ("POST", "/v1/retrieve", {"query": "a", "min_similarity": 1.5}, "min_similarity"),
    ("POST", "/v1/retrieve", {"query": ["a"]}, "query should be a valid string"),
    ("POST", "/v1/retrieve", {"question": "a"}, "question is not known here"),
    ("POST", "/v1/retrieve", ["a"], "the body should be a valid dictionary"),
    ("POST", "/v1/sources", {}, "url is missing"),
    ("POST", "/v1/sources", {"url": "gopher://old.example/"}, "gopher"),
    ("POST", "/v1/sources", {"url": "https://user:secret@site.example/"}, "user name or password"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "every": "soon"}, "30m"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "every": "1h", "cron": "0 7 * * *"}, "not both"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "cron": "at noon"}, "cron"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "cron": "0 7 * * *\0"}, "cron"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "kind": "gopher"}, "kind"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "kind": "atlas"}, "no kind of source"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "kind": "json"}, "needs a map"),
    ("POST", "/v1/sources", {"url": "https://a.example/", "kind": "json", "map": {"url": "a.."}}, "broken"),
    ("POST", "/v1/sources/preview", {"url": "https://site.example/", "map": {"url": "a"}}, "kind json"),
    ("POST", "/v1/sources/preview", {"url": "https://a.example/", "kind": "json", "map": {"x": "a"}}, "“x”"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "name": "a\0b"}, "NUL"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "weight": 2}, "weight"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "priority": -1}, "priority"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "limit": 0}, "limit"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "include": [""]}, "include must not be empty"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "mode": "some"}, "mode"),
    ("POST", "/v1/documents", {"url": "file:///etc/passwd"}, "file"),
    ("POST", "/v1/documents", {"url": "https://site.example/" + "a" * 5000}, "4096 characters"),
    ("POST", "/v1/tokens", {"name": " "}, "name must not be empty"),
    ("POST", "/v1/tokens", {"name": "a", "scopes": []}, "scopes"),
    ("GET", "/v1/documents?state=lost", None, "state must be"),
    ("GET", "/v1/documents?limit=0", None, "limit must be at least 1"),
    ("GET", "/v1/documents?limit=501", None, "limit must be at most 500"),
    ("GET", "/v1/documents?source=abc", None, "source"),
    ("GET", "/v1/documents?after=yesterday", None, "cursor"),
    ("GET", "/v1/documents?q=%00", None, "q is wrong: it holds a NUL"),
]


@pytest.mark.parametrize(("method", "path", "body", "told"), INVALID)
async def test_what_cannot_be_is_one_sentence(
    api: httpx.AsyncClient, household: Household, method: str, path: str, body: Any, told: str
) -> None:
    answer = await api.request(method, path, json=body)
    detail = assert_problem(answer, 422, "invalid_request")
    assert told.lower() in detail.lower()
    assert "secret" not in answer.text
    assert household.library.fetcher.asked == household.runs.started == []


async def test_every_fault_is_named_with_its_field(api: httpx.AsyncClient) -> None:
    problem = (await api.post("/v1/sources", json={"kind": 1, "colour": "red"})).json()
    assert {fault["field"] for fault in problem["errors"]} == {"url", "kind", "colour"}


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe", b'{"query": "\\ud800"', b"[" * 100_000])
async def test_broken_json_is_invalid(api: httpx.AsyncClient, content: bytes) -> None:
    answer = await api.post("/v1/retrieve", content=content, headers={"Content-Type": "application/json"})
    assert answer.json()["code"] in {"invalid_request", "bad_request"}
    assert answer.status_code in {400, 422}


async def test_half_a_character_is_left_out_of_a_question(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/retrieve", content=b'{"query": "owls \\ud800"}',
                            headers={"Content-Type": "application/json"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"/v1/sources/{UNKNOWN}"), ("DELETE", f"/v1/sources/{UNKNOWN}"),
        ("POST", f"/v1/sources/{UNKNOWN}/poll"), ("POST", f"/v1/sources/{UNKNOWN}/pause"),
        ("POST", f"/v1/sources/{UNKNOWN}/resume"), ("GET", "/v1/sources/not-an-id"),
        ("GET", f"/v1/documents/{UNKNOWN}"), ("DELETE", f"/v1/documents/{UNKNOWN}"),
        ("GET", f"/v1/documents/{UNKNOWN}/versions"), ("POST", f"/v1/documents/{UNKNOWN}/retry"),
        ("GET", "/v1/documents/%00"), ("DELETE", f"/v1/tokens/{UNKNOWN}"), ("GET", f"/v1/runs/{UNKNOWN}"),
        ("GET", f"/v1/citations/{UNKNOWN}/K1"), ("GET", f"/v1/citations/{UNKNOWN}/%00"),
        ("GET", f"/v1/citations/{UNKNOWN}/K99999999999"), ("GET", "/v1/nowhere"), ("GET", "/nowhere"),
    ],
)
async def test_what_is_not_there_is_not_found(
    api: httpx.AsyncClient, household: Household, method: str, path: str
) -> None:
    assert_problem(await api.request(method, path), 404, "not_found")
    assert household.runs.started == []


async def test_a_method_that_is_not_possible_is_said(api: httpx.AsyncClient) -> None:
    answer = await api.patch("/v1/retrieve")
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"
