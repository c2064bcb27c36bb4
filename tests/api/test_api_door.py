"""What a request must bring: a host name of ours, a token in its header, a body that is not too large."""

from collections.abc import AsyncIterator

import httpx
import pytest
from household import TOKEN, Household, assert_problem

from models.session import Database

pytestmark = pytest.mark.database


@pytest.fixture
def household(shared: Household) -> Household:
    return shared

PROTECTED = ["/v1/sources", "/v1/documents", "/v1/tokens", "/v1/system"]


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST", "localhost:8420", "[::1]:99"])
async def test_a_host_name_of_ours_is_answered_on_any_port(api: httpx.AsyncClient, host: str) -> None:
    assert (await api.get("/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", [
    "evil.example", "localhost.evil.example", "127.0.0.1.nip.example:8420", "", "localhost:8420:1", "::1"])
@pytest.mark.parametrize("path", ["/health", "/docs", "/v1/sources", "/nowhere"])
async def test_another_host_name_is_misdirected(api: httpx.AsyncClient, host: str, path: str) -> None:
    detail = assert_problem(await api.get(path, headers={"Host": host}), 421, "misdirected")
    assert "ALMANAC_HOSTS" in detail


@pytest.mark.parametrize("path", PROTECTED)
async def test_without_a_token_nothing_is_told(api: httpx.AsyncClient, path: str) -> None:
    del api.headers["Authorization"]
    answer = await api.get(path)
    assert_problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"] == 'Bearer realm="almanac"'


@pytest.mark.parametrize("carrier", [
    "Bearer wrong", "Basic dGhlLW93bmVycy10b2tlbg==", TOKEN, "Bearer ", "Bearer café", f"Bearer {TOKEN}x"])
async def test_a_wrong_token_is_refused(api: httpx.AsyncClient, carrier: str) -> None:
    answer = await api.get("/v1/sources", headers={"Authorization": carrier.encode()})
    assert "token" in assert_problem(answer, 401, "unauthenticated")


async def test_a_token_counts_in_its_header_only(api: httpx.AsyncClient) -> None:
    del api.headers["Authorization"]
    elsewhere = {"X-API-Key": TOKEN, "Cookie": f"token={TOKEN}"}
    assert_problem(await api.get("/v1/sources", headers=elsewhere), 401, "unauthenticated")


@pytest.mark.parametrize("name", ["token", "access_token", "api_key", "apikey", "key", "Token"])
async def test_a_token_in_the_address_is_refused_even_beside_a_good_one(
    api: httpx.AsyncClient, name: str
) -> None:
    answer = await api.get("/v1/sources", params={name: TOKEN})
    assert TOKEN not in assert_problem(answer, 400, "token_in_query")


async def test_health_and_the_documentation_need_no_token(api: httpx.AsyncClient) -> None:
    del api.headers["Authorization"]
    for path in ("/health", "/docs", "/openapi.json"):
        assert (await api.get(path)).status_code == 200


async def test_a_large_body_is_refused_whether_it_says_so_or_not(api: httpx.AsyncClient) -> None:
    async def drops() -> AsyncIterator[bytes]:
        for _ in range(1100):
            yield b" " * 1000

    json = {"Content-Type": "application/json"}
    said = await api.post("/v1/retrieve", content=b" " * 1_000_001, headers=json)
    unsaid = await api.post("/v1/retrieve", content=drops(), headers=json)
    for answer in (said, unsaid):
        assert "1,000,000 bytes" in assert_problem(answer, 413, "too_large")


async def test_no_page_of_another_origin_may_read_an_answer(api: httpx.AsyncClient) -> None:
    origin = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for method in ("GET", "OPTIONS"):
        answer = await api.request(method, "/v1/sources", headers=origin)
        assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_a_form_is_no_json(api: httpx.AsyncClient) -> None:
    form = {"Content-Type": "text/plain"}
    answer = await api.post("/v1/retrieve", content=b'{"query": "a"}', headers=form)
    assert_problem(answer, 415, "unsupported_media_type")


async def test_answers_are_not_kept_nor_guessed_at(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/sources")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_failure_of_ours_tells_nothing_of_the_inside(
    api: httpx.AsyncClient, household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr("tasks.reports.sources", fail)
    answer = await api.get("/v1/sources")
    assert_problem(answer, 500, "internal")
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


async def test_a_database_that_is_away_is_said(
    api: httpx.AsyncClient, household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
    monkeypatch.setattr(household.library, "db", nowhere)
    answer = await api.get("/v1/sources")
    assert "database" in assert_problem(answer, 503, "not_ready")
    assert answer.headers["retry-after"]
