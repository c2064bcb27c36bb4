"""Bad input over HTTP: a problem document with one sentence, and nothing done."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from household import Household, assert_problem
from pydantic import BaseModel, ValidationError

from almanac.api import app  # noqa: F401 - all bodies are known once it is put together
from almanac.api.words import Body

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
    ("POST", "/v1/retrieve", {"query": "a", "k": "6"}, "k should be a valid integer"),
    ("POST", "/v1/retrieve", {"query": "a", "k": True}, "k should be a valid integer"),
    ("POST", "/v1/retrieve", {"query": "a", "explain": "yes"}, "explain should be a valid boolean"),
    ("POST", "/v1/retrieve", {"query": "a", "min_similarity": "0"}, "should be a valid number"),
    ("POST", "/v1/index/rebuild", {"collection": "mine"}, "nothing is taken in a body here"),
    ("POST", "/v1/index/verify", {"full": True}, "nothing is taken in a body here"),
    ("POST", "/v1/sources/poll", ["all"], "nothing is taken in a body here"),
    ("POST", f"/v1/quality/{UNKNOWN}/release", {"gate": "chunks"}, "nothing is taken in a body here"),
    ("DELETE", f"/v1/documents/{UNKNOWN}", {"force": True}, "nothing is taken in a body here"),
    ("POST", "/v1/retrieve", {"query": "a", "budget_tokens": -1}, "budget_tokens"),
    ("POST", "/v1/retrieve", {"query": "a", "min_similarity": 1.5}, "min_similarity"),
    ("POST", "/v1/retrieve", {"query": ["a"]}, "query should be a valid string"),
    ("POST", "/v1/retrieve", {"question": "a"}, "question is not known here: known are query, previous, k"),
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
    ("POST", "/v1/sources", {"url": "https://site.example/", "limit": 99999999999999}, "not 99999999999999"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "limit": 10**400}, "limit is from 1 to 1000"),
    ("POST", "/v1/sources", {"url": "https://site.example/", "weight": 1.25}, "not 1.25"),
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


@pytest.mark.parametrize("body", [None, {}])
async def test_a_call_that_takes_nothing_may_bring_an_empty_object(api: httpx.AsyncClient, body: Any) -> None:
    assert (await api.post("/v1/index/verify", json=body)).status_code == 200


def models(of: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in of.__subclasses__():
        yield each
        yield from models(each)


@pytest.mark.parametrize("model", list(models(Body)))
def test_numbers_and_booleans_are_those_of_json(model: type[BaseModel]) -> None:
    properties = model.model_json_schema()["properties"]
    for name, said in properties.items():
        types = {each.get("type") for each in [said, *said.get("anyOf", [])]}
        for kind, text in (("integer", "1"), ("number", "0.5"), ("boolean", "true")):
            if kind in types:
                with pytest.raises(ValidationError) as refused:
                    model.model_validate({name: text})
                assert (name,) in {fault["loc"][:1] for fault in refused.value.errors()}


async def test_every_fault_is_named_with_its_field(api: httpx.AsyncClient) -> None:
    problem = (await api.post("/v1/sources", json={"kind": 1, "colour": "red"})).json()
    assert {fault["field"] for fault in problem["errors"]} == {"url", "kind", "colour"}


@pytest.mark.parametrize(
    "content", [b"{", b"{bad", b"\xff\xfe", b'{"query": "\xe9"}', b'{"query": "\\ud800"', b"[" * 100_000])
async def test_broken_json_is_one_kind_of_mistake(api: httpx.AsyncClient, content: bytes) -> None:
    answer = await api.post("/v1/retrieve", content=content, headers={"Content-Type": "application/json"})
    assert "the body is not valid JSON" in assert_problem(answer, 422, "invalid_request")


async def test_no_body_at_all_is_said(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/retrieve", headers={"Content-Type": "application/json"})
    assert "the body is missing" in assert_problem(answer, 422, "invalid_request")


TAKES_JSON = ["/v1/retrieve", "/v1/sources", "/v1/documents", "/v1/tokens"]


@pytest.mark.parametrize("path", TAKES_JSON)
@pytest.mark.parametrize(
    "sent",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", None])
async def test_a_body_that_is_not_sent_as_json_is_told_apart(
    api: httpx.AsyncClient, path: str, sent: str | None
) -> None:
    headers = {"Content-Type": sent} if sent else {}
    answer = await api.post(path, content=b'{"query": "owls"}', headers=headers)
    detail = assert_problem(answer, 415, "unsupported_media_type")
    assert "Content-Type: application/json" in detail
    assert (sent or "no Content-Type") in detail


@pytest.mark.parametrize("sent", ["application/json; charset=utf-8", "application/vnd.api+json"])
async def test_json_by_another_name_is_json(api: httpx.AsyncClient, sent: str) -> None:
    answer = await api.post("/v1/retrieve", content=b'{"query": "owls"}', headers={"Content-Type": sent})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("GET /v1/documents?source_id=abc",
         "source_id is not known here: known are state, source, q, content_type, limit, after"),
        ("GET /v1/documents?limit=5&lim\nit=1&offset=2", "lim\ufffdit is not known here"),
        ("GET /v1/sources?kind=feed", "kind is not known here: there are no parameters"),
        ("POST /v1/sources/poll?all=1", "all"),
        ("POST /v1/retrieve?k=3", "k"),
        ("GET /v1/tokens?name=x", "name"),
        ("GET /health?challange=x", "challange is not known here: known are challenge"),
        (f"DELETE /v1/documents/{UNKNOWN}?force=true", "force"),
    ],
)
async def test_a_parameter_that_is_not_known_is_not_ignored(
    api: httpx.AsyncClient, household: Household, call: str, told: str
) -> None:
    method, path = call.split(" ")
    body = {"query": "owls"} if "retrieve" in path else None
    answer = await api.request(method, path.replace("\n", "%0A"), json=body)
    assert told in assert_problem(answer, 422, "invalid_request")
    assert all(fault["message"].startswith("is not known here") for fault in answer.json()["errors"])
    assert household.runs.started == []


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


async def test_half_a_character_is_refused_as_what_it_is(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/keep", content=b'{"text": "the pier \\ud800"}',
                            headers={"Content-Type": "application/json"})
    assert_problem(answer, 422, "invalid_request")
    assert "text" in answer.json()["detail"]
