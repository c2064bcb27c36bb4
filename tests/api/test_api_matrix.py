"""Who may reach what, over HTTP: every route, every caller, rows of every scope set. No cell leaks."""

from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi.routing import APIRoute
from household import TOKEN, Household, household_of_its_own
from rooms import CALLERS, PUBLIC, Rooms, furnish
from scoped_rows import QUERY, SETS, Cell, marks, readable
from sqlalchemy import select
from starlette.routing import BaseRoute, Mount, Route

from almanac.stack.postgres import Postgres
from models.session import Database
from models.tables import (
    Artifact,
    Chunk,
    Document,
    DocumentVersion,
    Interest,
    Judgment,
    Membership,
    Organization,
    Principal,
    Source,
)

pytestmark = pytest.mark.database

OPEN, OWNER, LIBRARIAN, USES, SHOWN = (
    "no token", "the owner", "who may see, or change, the library", "who reads the library",
    "whoever has a token: it tells of no row")
LISTS, LISTS_OWN, READS, READS_OWN, WRITES, DECIDES, OWN, KEEPS, TICKET, SPEAKS = (
    "a list of what is read", "a list of one's own", "whoever reads it",
    "whoever reads it, and not since it is open to all", "whoever may write it",
    "those of some that one may write", "one's own",
    "whoever may write there", "its URL is the permission", "an assistant: see test_cli_matrix")
VERDICTS = {
    "GET /health": OPEN, "GET /docs": OPEN, "GET /openapi.json": OPEN, "MOUNT /docs/assets": OPEN,
    "ANY /mcp": SPEAKS,
    "POST /v1/retrieve": LISTS, "POST /v1/ask": LISTS, "GET /v1/filters": LISTS,
    "GET /v1/citations/{retrieval_id}/{label}": READS_OWN, "POST /v1/citations/check": READS_OWN,
    "POST /v1/keep": KEEPS, "POST /v1/keep/texts": KEEPS, "PUT /v1/uploads/{ticket}": TICKET,
    "GET /v1/documents/{document_id}/original": READS,
    "GET /v1/interests": LISTS_OWN, "PUT /v1/interests": OWN, "DELETE /v1/interests": OWN,
    "DELETE /v1/interests/{topic:path}": OWN,
    "GET /v1/judgments": LISTS_OWN, "POST /v1/judgments": READS_OWN,
    "DELETE /v1/judgments/{judgment_id}": OWN,
    "POST /v1/judgments/replay": LISTS_OWN,
    "GET /v1/sources": LISTS, "POST /v1/sources": LIBRARIAN, "POST /v1/sources/preview": LIBRARIAN,
    "POST /v1/sources/poll": LIBRARIAN, "POST /v1/sources/import": LIBRARIAN, "GET /v1/sources/export": LISTS,
    "GET /v1/sources/{source_id}": READS, "POST /v1/sources/{source_id}/poll": WRITES,
    "POST /v1/sources/{source_id}/pause": WRITES, "POST /v1/sources/{source_id}/resume": WRITES,
    "PUT /v1/sources/{source_id}/headers": WRITES, "DELETE /v1/sources/{source_id}": WRITES,
    "PATCH /v1/sources/{source_id}": WRITES, "POST /v1/sources/{source_id}/preview": WRITES,
    "GET /v1/documents": LISTS, "POST /v1/documents": LIBRARIAN, "GET /v1/documents/{document_id}": READS,
    "GET /v1/documents/{document_id}/versions": READS, "GET /v1/documents/{document_id}/diff": READS,
    "POST /v1/documents/{document_id}/retry": WRITES, "DELETE /v1/documents/{document_id}": WRITES,
    "GET /v1/quality": LISTS, "POST /v1/quality/{document_id}/release": WRITES,
    "POST /v1/quality/{document_id}/reject": WRITES,
    "GET /v1/today": LISTS, "GET /v1/stories": LISTS, "GET /v1/trends": SHOWN, "GET /v1/freshness": LISTS,
    "GET /v1/documents/{document_id}/freshness": READS,
    "GET /v1/ranking": SHOWN, "PUT /v1/ranking": LIBRARIAN,
    "GET /v1/sources/names": LISTS, "GET /v1/sources/page": LISTS, "POST /v1/sources/sample": LIBRARIAN,
    "GET /v1/documents/{document_id}/chunks": READS, "GET /v1/documents/{document_id}/gates": READS,
    "GET /v1/quality/refusals": SHOWN, "GET /v1/quality/rates": SHOWN,
    "POST /v1/quality/release": DECIDES, "POST /v1/quality/reject": DECIDES, "GET /v1/runs": LIBRARIAN,
    "GET /v1/tokens": OWNER, "POST /v1/tokens": OWNER, "DELETE /v1/tokens/{token_id}": OWNER,
    "GET /v1/organizations": OWNER, "POST /v1/organizations": OWNER, "PATCH /v1/organizations/{name}": OWNER,
    "DELETE /v1/organizations/{name}": OWNER, "PUT /v1/organizations/{name}/members/{who}": OWNER,
    "DELETE /v1/organizations/{name}/members/{who}": OWNER,
    "POST /v1/index/verify": LIBRARIAN, "POST /v1/index/rebuild": LIBRARIAN,
    "GET /v1/tools": USES, "POST /v1/tools/{name}/call": USES, "POST /v1/tools/{name}/accept": OWNER,
    "GET /v1/credentials": SHOWN, "POST /v1/credentials": OWN, "PATCH /v1/credentials/{credential_id}": OWN,
    "DELETE /v1/credentials/{credential_id}": OWN, "POST /v1/credentials/rotate": OWNER,
    "GET /v1/usage": SHOWN,
    "GET /v1/system": LIBRARIAN, "GET /v1/runs/{run_id}": LIBRARIAN,
}
BODIES: dict[str, Any] = {
    "POST /v1/retrieve": {"query": QUERY, "k": 100, "min_similarity": 0},
    "POST /v1/ask": {"query": QUERY, "k": 100, "min_similarity": 0},
    "POST /v1/judgments/replay": {"weights": {}}, "PUT /v1/ranking": {"weights": {"topic": 0.2}},
    "POST /v1/sources": {"url": "https://other.example/feed"},
    "POST /v1/sources/preview": {"url": "https://other.example/feed"},
    "POST /v1/sources/sample": {"url": "https://other.example/api"},
    "POST /v1/documents": {"url": "https://other.example/page"},
    "PUT /v1/sources/{source_id}/headers": {"headers": {"X-Key": "1"}},
    "PATCH /v1/sources/{source_id}": {"name": "changed"},
    "POST /v1/sources/{source_id}/preview": {},
    "POST /v1/tokens": {"name": "more"}, "POST /v1/organizations": {"name": "more"},
    "PATCH /v1/organizations/{name}": {"public": True},
    "PUT /v1/organizations/{name}/members/{who}": {"writes": True},
    "PUT /v1/interests": {"topic": "tides"}, "POST /v1/tools/{name}/call": {},
    "PATCH /v1/credentials/{credential_id}": {"enabled": False},
    "POST /v1/tools/{name}/accept": {"fingerprint": "0" * 64},
}


def of(*verdicts: str) -> list[str]:
    return [route for route, verdict in VERDICTS.items() if verdict in verdicts]


@pytest.fixture(scope="module")
def rooms(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    home = tmp_path_factory.mktemp("matrix")
    with household_of_its_own(postgres, home) as household:
        household.runs.away = True  # nothing goes on behind an answer
        yield furnish(household, home)


@pytest.fixture
async def api(rooms: Rooms) -> AsyncIterator[httpx.AsyncClient]:
    async with rooms.api() as client:
        yield client


async def ask(
    api: httpx.AsyncClient, rooms: Rooms, route: str, caller: str | None, cell: Cell, **more: Any
) -> httpx.Response:
    """The route with the ids of the cell's rows."""
    method, path = route.split()
    ids = {"document_id": cell.document, "source_id": cell.source, "retrieval_id": cell.retrieval,
           "label": "K1", "judgment_id": cell.judgment, "token_id": uuid4(), "run_id": uuid4(),
           "credential_id": uuid4(), "ticket": "x" * 43, "name": "press", "who": "eve",
           "topic:path": f"marked-{cell.name}-end"}
    for name, value in ids.items():
        path = path.replace(f"{{{name}}}", str(value))
    bodies = BODIES | {
        "POST /v1/citations/check": {"retrieval_id": str(cell.retrieval), "text": "So it is [K1]."},
        "POST /v1/judgments": {"retrieval_id": str(cell.retrieval), "good": ["K1"]},
        "POST /v1/keep": {"text": f"kept for {cell.name} by {caller}", "scopes": cell.scopes},
        "POST /v1/keep/texts": {"texts": [{"text": f"of {cell.name}, by {caller}"}], "scopes": cell.scopes},
    }
    headers = {"Authorization": f"Bearer {rooms.bearers[caller]}"} if caller else {}
    headers |= more.pop("headers", {})
    return await api.request(method, path, json=bodies.get(route), headers=headers, **more)


def everything(db: Database) -> list[Any]:
    """All that callers might change."""
    tables = (Source, Document, DocumentVersion, Chunk, Artifact, Interest, Judgment, Organization,
              Membership, Principal)
    return [sorted(map(repr, db.execute(select(*table.__table__.c)))) for table in tables]


def test_every_route_has_a_verdict(rooms: Rooms) -> None:
    assert set(named(rooms.household.app.routes)) == VERDICTS.keys()


def named(routes: Sequence[BaseRoute]) -> Iterator[str]:
    """Each with its methods, as VERDICTS names it."""
    for route in routes:
        match route:
            case APIRoute() | Route():
                yield from (f"{method} {route.path}" for method in (route.methods or {"ANY"}) - {"HEAD"})
            case Mount():
                yield f"MOUNT {route.path}"
            case _:
                yield from named(route.original_router.routes)  # type: ignore[attr-defined] # FastAPI's


@pytest.mark.parametrize("route", [it for it in VERDICTS if VERDICTS[it] not in (OPEN, TICKET, SPEAKS)])
async def test_nobody_comes_in_by_another_way_than_the_authorization_header(
    rooms: Rooms, api: httpx.AsyncClient, route: str
) -> None:
    cell = rooms.cells["library"]
    token = rooms.bearers["who writes a"]
    carriers: list[dict[str, Any]] = [
        {}, {"headers": {"X-API-Key": token}},
        {"headers": {"Cookie": f"token={token}; Authorization={token}"}},
        {"headers": {"Authorization": token}}, {"headers": {"Authorization": f"Basic {token}"}},
        {"headers": {"Authorization": "Bearer alm_unknown"}},
    ]
    for carrier in carriers:
        assert (await ask(api, rooms, route, None, cell, **carrier)).status_code == 401
    answer = await ask(api, rooms, route, "owner", cell, params={"token": token})
    assert (answer.status_code, answer.json()["code"]) == (400, "token_in_query")


@pytest.mark.parametrize("caller", CALLERS)
async def test_a_list_tells_of_what_its_reader_may_read_and_of_nothing_else(
    rooms: Rooms, api: httpx.AsyncClient, caller: str
) -> None:
    who = CALLERS[caller]
    for route in of(LISTS):
        answer = await ask(api, rooms, route, caller, rooms.cells["library"])
        assert answer.status_code == 200, (route, answer.text)
        assert marks(answer.text) == readable(who.reads, PUBLIC), route
    for route in of(LISTS_OWN):
        answer = await ask(api, rooms, route, caller, rooms.cells["library"])
        assert answer.status_code == 200, (route, answer.text)
        assert marks(answer.text) == {name for name, scopes in SETS.items() if scopes == who.reads}, route


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("route", of(SHOWN))
async def test_what_is_shown_to_all_tells_of_no_row(
    rooms: Rooms, api: httpx.AsyncClient, route: str, caller: str
) -> None:
    answer = await ask(api, rooms, route, caller, rooms.cells["library"])
    assert (answer.status_code, marks(answer.text)) == (200, set())


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("route", of(READS, READS_OWN))
async def test_what_may_not_be_read_is_not_there(
    rooms: Rooms, api: httpx.AsyncClient, route: str, caller: str
) -> None:
    unknown = await ask(api, rooms, route, caller, Cell("unknown", ["library"]))
    assert unknown.status_code == 404
    seen = readable(CALLERS[caller].reads, PUBLIC if VERDICTS[route] == READS else ())
    for name, cell in rooms.cells.items():
        answer = await ask(api, rooms, route, caller, cell)
        if name in seen:
            assert answer.status_code in {200, 201, 409}, (name, answer.text)
            assert marks(answer.text) <= {name}
        else:
            assert (answer.status_code, answer.json()) == (404, unknown.json()), name


@pytest.mark.parametrize("caller", CALLERS)
async def test_what_may_not_be_written_stays_as_it_is(
    rooms: Rooms, api: httpx.AsyncClient, caller: str
) -> None:
    who, before = CALLERS[caller], everything(rooms.household.library.db)
    for route in of(WRITES, OWN):
        if "{" not in route:
            continue  # one's own, whatever it is
        unknown = await ask(api, rooms, route, caller, Cell("unknown", ["library"]))
        for name, cell in rooms.cells.items():
            own = cell.scopes == who.reads if VERDICTS[route] == OWN else set(cell.scopes) <= set(who.writes)
            if own:
                continue
            answer = await ask(api, rooms, route, caller, cell)
            if VERDICTS[route] == WRITES and name in readable(who.reads, PUBLIC):
                assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing"), (route, name)
            else:
                assert (answer.status_code, answer.json()) == (404, unknown.json()), (route, name)
            assert not marks(answer.text)
    assert everything(rooms.household.library.db) == before


@pytest.mark.parametrize("caller", CALLERS)
async def test_the_library_is_changed_by_whoever_writes_into_it_and_tokens_are_the_owners(
    rooms: Rooms, api: httpx.AsyncClient, caller: str
) -> None:
    who, cell = CALLERS[caller], rooms.cells["library"]
    if caller != "owner":
        before = everything(rooms.household.library.db)
        for route in of(OWNER):
            answer = await ask(api, rooms, route, caller, cell)
            assert (answer.status_code, answer.json()["code"]) == (403, "owner_only"), route
        assert everything(rooms.household.library.db) == before
    for route in of(LIBRARIAN, USES):
        held = who.reads if route.startswith("GET") or VERDICTS[route] == USES else who.writes
        if "library" not in held:
            answer = await ask(api, rooms, route, caller, cell)
            assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing"), route
    assert rooms.household.library.fetcher.asked == rooms.household.runs.started == []


@pytest.mark.parametrize("caller", CALLERS)
async def test_of_some_documents_none_is_decided_that_may_not_be_written(
    rooms: Rooms, api: httpx.AsyncClient, caller: str
) -> None:
    before = everything(rooms.household.library.db)
    wanted = [str(cell.document) for cell in rooms.cells.values()]
    headers = {"Authorization": f"Bearer {rooms.bearers[caller]}"}
    for route in of(DECIDES):
        answer = await api.post(route.split()[1], json={"document_ids": wanted}, headers=headers)
        assert answer.is_success, route
        assert answer.json()["decided"] == []
        assert {each["document_id"] for each in answer.json()["left"]} == set(wanted)
        assert len({each["why"] for each in answer.json()["left"]}) == 1  # whatever it is
        assert not marks(answer.text)
    assert everything(rooms.household.library.db) == before


@pytest.mark.parametrize("caller", CALLERS)
async def test_what_is_handed_in_goes_where_its_giver_may_write(
    rooms: Rooms, api: httpx.AsyncClient, caller: str
) -> None:
    who = CALLERS[caller]
    for route, (name, cell) in product(of(KEEPS), rooms.cells.items()):
        answer = await ask(api, rooms, route, caller, cell)
        if set(cell.scopes) <= set(who.writes):
            [kept] = answer.json().get("kept", [answer.json()])
            document = kept["document_id"]
            bearer = {"Authorization": f"Bearer {rooms.bearers[caller]}"}
            found = (await api.get(f"/v1/documents/{document}", headers=bearer)).json()
            assert found["scopes"] == cell.scopes
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing"), name


async def test_how_much_there_is_counts_what_one_may_read_but_for_the_owner(
    rooms: Rooms, api: httpx.AsyncClient
) -> None:
    counted = {}
    for caller in ("owner", "who reads the library"):
        answer = await ask(api, rooms, "GET /v1/system", caller, rooms.cells["library"])
        counted[caller] = answer.json()["queues"]["chunks"]["live"]
    assert counted == {"owner": len(SETS), "who reads the library": len(readable(["library"], PUBLIC))}


@pytest.fixture
def own_rooms(db: Database, home: Path, tmp_path: Path) -> Rooms:
    """For a test that changes them."""
    household = Household(db, home)
    household.runs.away = True
    return furnish(household, tmp_path)


async def test_whoever_may_write_does(own_rooms: Rooms) -> None:
    rooms = own_rooms
    last = ["DELETE /v1/documents/{document_id}", "DELETE /v1/sources/{source_id}"]
    async with rooms.api() as api:
        for route in [it for it in of(WRITES) if it not in last] + last:
            answer = await ask(api, rooms, route, "who writes a", rooms.cells["a"])
            assert answer.status_code not in {401, 403, 404}, (route, answer.text)
        gone = await ask(api, rooms, "GET /v1/sources/{source_id}", "who writes a", rooms.cells["a"])
        assert gone.status_code == 404


async def test_a_membership_that_ends_ends_what_its_tokens_read(own_rooms: Rooms) -> None:
    rooms = own_rooms
    async with rooms.api() as api:
        owner = {"Authorization": f"Bearer {TOKEN}"}

        async def seen(caller: str) -> set[str]:
            return marks((await ask(api, rooms, "GET /v1/documents", caller, rooms.cells["a"])).text)

        assert await seen("a member of a and press") == {"a", "press", "pressa"}
        assert (await api.delete("/v1/organizations/a/members/ada", headers=owner)).status_code == 200
        assert await seen("a member of a and press") == {"press"}
        await api.patch("/v1/organizations/press", json={"public": False}, headers=owner)
        assert await seen("who reads a") == {"a"}
        assert await seen("owner") == {"library"}
        await api.put("/v1/organizations/a/members/owner", json={"writes": True}, headers=owner)
        assert await seen("owner") == {"a", "library"}
        await api.delete("/v1/organizations/a", headers=owner)
        assert await seen("owner") == {"library"}
