"""Who may speak to the API."""

from datetime import UTC, datetime, timedelta
from time import monotonic

import httpx
import pytest
from household import TOKEN, Household, assert_problem
from small_library import FEED
from sqlalchemy import event

from models.session import Database
from models.tables import ApiToken
from tasks.callers import tokens

pytestmark = pytest.mark.database


async def test_a_token_is_told_once_and_works_until_it_is_revoked(api: httpx.AsyncClient) -> None:
    made = await api.post("/v1/tokens", json={"name": "assistant"})
    assert made.status_code == 201
    secret, identity = made.json()["token"], made.json()["id"]
    assistant = {"Authorization": f"Bearer {secret}"}
    assert (await api.get("/v1/sources", headers=assistant)).status_code == 200
    listed = await api.get("/v1/tokens")
    assert secret not in listed.text
    assert {"assistant"} < {token["name"] for token in listed.json()["tokens"]}
    assert (await api.delete(f"/v1/tokens/{identity}")).status_code == 204
    assert_problem(await api.get("/v1/sources", headers=assistant), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "", None), ("POST", "", {"name": "more", "scopes": ["private"]}), ("DELETE", "/{id}", None)],
)
async def test_only_the_owner_deals_with_tokens(
    api: httpx.AsyncClient, method: str, path: str, body: dict[str, object] | None
) -> None:
    made = (await api.post("/v1/tokens", json={"name": "assistant"})).json()
    assistant = {"Authorization": f"Bearer {made['token']}"}
    path = f"/v1/tokens{path.format(id=made['id'])}"
    answer = await api.request(method, path, json=body, headers=assistant)
    assert_problem(answer, 403, "owner_only")
    assert len((await api.get("/v1/tokens")).json()["tokens"]) == 2


@pytest.fixture
async def other(api: httpx.AsyncClient) -> dict[str, str]:
    """The header of a token that is not for the library."""
    made = await api.post("/v1/tokens", json={"name": "other", "scopes": ["elsewhere"]})
    return {"Authorization": f"Bearer {made.json()['token']}"}


async def test_a_token_of_another_scope_reads_nothing_of_the_library(
    api: httpx.AsyncClient, other: dict[str, str]
) -> None:
    found = await api.post("/v1/retrieve", json={"query": "owls"}, headers=other)
    assert (found.status_code, found.json()["excerpts"]) == (200, [])
    assert (await api.get("/v1/documents", headers=other)).json()["documents"] == []


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("POST /v1/sources", {"url": FEED}),
        ("POST /v1/documents", {"url": FEED}),
        ("POST /v1/sources/poll", None),
        ("POST /v1/index/verify", None),
        ("POST /v1/index/rebuild", None),
        ("GET /v1/system", None),
    ],
)
async def test_a_token_of_another_scope_changes_nothing_and_sees_no_settings(
    api: httpx.AsyncClient, household: Household, other: dict[str, str], call: str,
    body: dict[str, str] | None,
) -> None:
    answer = await api.request(*call.split(), json=body, headers=other)
    assert_problem(answer, 403, "scope_missing")
    assert household.library.fetcher.asked == household.runs.started == []


async def test_every_token_says_when_it_was_used_and_a_question_pays_for_that_once_a_minute(
    api: httpx.AsyncClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def last_use() -> datetime | None:
        [owner] = tokens.list_tokens(db)
        return owner["last_used_at"] and datetime.fromisoformat(owner["last_used_at"])

    written: list[str] = []
    assert last_use() is None
    event.listen(db.engine, "before_cursor_execute", lambda *said: written.append(said[2]))
    for _ in range(5):
        await api.post("/v1/retrieve", json={"query": "owls"})
    assert sum("UPDATE api_token" in statement for statement in written) == 1
    assert sum("FROM api_token" in statement for statement in written) == 1
    used = last_use()
    assert used is not None
    assert datetime.now(UTC) - used < timedelta(seconds=30)

    with db.begin() as session:
        session.query(ApiToken).update({"last_used_at": used - timedelta(hours=1)})
    clock = monotonic()
    monkeypatch.setattr("almanac.api.context.monotonic", lambda: clock + 61)
    await api.get("/v1/sources")
    again = last_use()
    assert again is not None
    assert again >= used


async def test_a_wrong_token_is_no_use_of_the_right_one(api: httpx.AsyncClient, db: Database) -> None:
    answer = await api.get("/v1/sources", headers={"Authorization": f"Bearer {TOKEN}x"})
    assert_problem(answer, 401, "unauthenticated")
    assert [token["last_used_at"] for token in tokens.list_tokens(db)] == [None]


async def test_the_token_that_the_command_line_uses_is_not_revoked(
    api: httpx.AsyncClient, db: Database
) -> None:
    owner = tokens.owner_of(db, TOKEN)
    assert owner is not None
    assert "data folder" in assert_problem(await api.delete(f"/v1/tokens/{owner.id}"), 409, "owner_token")
