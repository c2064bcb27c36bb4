"""Secrets that were given to Almanac are nowhere but in the vault's ciphertext (field case C45)."""

import base64
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from household import Household
from provider import Provider, fails, says
from small_library import FEED, SITE, Site
from sqlalchemy import literal_column, select, text
from sqlalchemy import table as sql_table

from tasks.errors import NeedsCredential

pytestmark = pytest.mark.database

KEY, HEADER = "AIza-TESTONLY-planted-7Q4z", "tok_TESTONLY_9f3a"
SECRETS = (KEY, HEADER)
ASKED_BY_ASSISTANTS: Mapping[str, Any] = {
    "list_sources": {}, "library_status": {}, "search_library": {"query": "owls"}}
UNKNOWN = "ulaanbaatar mongolia steppe yurt capital population"


class Guarded(Site):
    """A site that wants the header, and a connector that raises with all that it was given."""

    said: list[str]
    broken = refused = False

    async def fetch(self, url: str, wanted: Any, validators: Any = None,
                    headers: Mapping[str, str] | None = None) -> Any:
        self.said.append((headers or {}).get("authorization", ""))
        if self.broken:
            raise RuntimeError(f"the connector was given {dict(headers or {})}")
        if self.refused:
            raise NeedsCredential("HTTP 401 Unauthorized")
        return await super().fetch(url, wanted, validators)


@pytest.fixture
def site(household: Household) -> Guarded:
    site = household.library.fetcher = Guarded({"owls": "A census of barn owls\nForty nests were counted."})
    site.said = []
    return site


def forms(secret: str) -> Iterator[bytes]:
    """As it may stand in a row or an answer, at whatever place of a base64."""
    yield secret.encode()
    yield secret.encode().hex().encode()
    for shift in range(3):
        yield base64.b64encode(b"x" * shift + secret.encode())[4:-4]


def found_in(where: bytes | str) -> list[str]:
    data = where if isinstance(where, bytes) else where.encode()
    return [secret for secret in SECRETS if any(form in data for form in forms(secret))]


def tables(household: Household) -> dict[str, str]:
    """Every row of every table, as text; bytes in hex."""
    with household.library.db.at_once() as session:
        names = session.scalars(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).all()
        return {name: "\n".join(session.scalars(select(literal_column("it::text")).select_from(
            sql_table(name).alias("it")))) for name in names}


def files(home: Path) -> Iterator[tuple[Path, bytes]]:
    yield from ((file, file.read_bytes()) for file in home.rglob("*") if file.is_file())


async def test_no_secret_is_anywhere_but_sealed(
    api: httpx.AsyncClient, household: Household, site: Guarded, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers: list[httpx.Response] = []

    async def call(method: str, path: str, **sent: Any) -> Any:
        answers.append(await api.request(method, path, **sent))
        return answers[-1].json() if "json" in answers[-1].headers.get("content-type", "") else {}

    source = await call("POST", "/v1/sources", json={"url": FEED, "headers": {"Authorization": HEADER}})
    household.runs.join()
    with Provider() as provider:
        gemini = {"provider": "gemini", "key": KEY, "url": provider.url}
        made = await call("POST", "/v1/credentials", json=gemini)
        provider.acts = [fails(401, f'{{"error": {{"message": "Incorrect API key: {KEY}"}}}}')]
        await call("POST", "/v1/ask", json={"query": UNKNOWN})
        await call("PATCH", f"/v1/credentials/{made['id']}", json={"enabled": True})
        provider.acts = [says("It is in the vault.")]
        told = await call("POST", "/v1/ask", json={"query": UNKNOWN})
        assert told["answer"] == "It is in the vault."
        assert not found_in(str([each | {"key": ""} for each in provider.asked]))
    site.broken = True
    await call("POST", f"/v1/sources/{source['id']}/poll")
    household.runs.join()
    site.broken, site.refused = False, True
    await call("POST", f"/v1/sources/{source['id']}/poll")
    household.runs.join()
    assert set(site.said) - {""} == {HEADER}  # it was said where it belongs
    for path in ("/v1/sources", f"/v1/sources/{source['id']}", "/v1/sources/export", "/v1/documents",
                 "/v1/credentials", "/v1/usage", "/v1/system", "/v1/quality", "/v1/interests", "/health",
                 "/openapi.json"):
        await call("GET", path)
    for body in ({"url": FEED, "headers": {"Authorization": f"{HEADER}\n"}}, {"url": FEED, "headers": HEADER},
                 {"url": FEED, "headers": {"Authorization": HEADER}}):
        await call("POST", "/v1/sources", json=body)
    await call("POST", "/v1/credentials", json=gemini | {"priority": KEY})
    await call("POST", "/v1/credentials/rotate")

    for answer in answers:
        assert not found_in(answer.content), answer.request.url
    assert not found_in(caplog.text)
    assert "the connector was given {'authorization': '********'}" in caplog.text
    assert not found_in(str(household.runs.started))
    rows = tables(household)
    assert rows["credential"]
    assert [name for name, row in rows.items() if found_in(row)] == []
    for file, data in files(household.library.settings.home):
        assert not found_in(data), file
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        assert not found_in(" ".join(process.cmdline()))


async def test_assistants_are_told_no_secret(
    api: httpx.AsyncClient, household: Household, site: Guarded
) -> None:
    await api.post("/v1/sources", json={"url": FEED, "headers": {"Authorization": HEADER}})
    await api.post("/v1/credentials", json={"provider": "gemini", "key": KEY})
    household.runs.join()
    transport, tools = {"Accept": "application/json, text/event-stream"}, ASKED_BY_ASSISTANTS
    async with household.app.router.lifespan_context(household.app):
        for tool, arguments in tools.items():
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": {"name": tool, "arguments": arguments}}
            answer = await api.post("/mcp", json=call, headers=transport)
            assert answer.status_code == 200, answer.text
            assert not found_in(answer.content)


def test_the_search_finds_what_is_there(household: Household) -> None:
    assert found_in(f"{SITE} {HEADER}") == [HEADER]
    assert found_in(base64.b64encode(f"a{KEY}b".encode())) == [KEY]
    with household.library.db.begin() as session:
        session.execute(text("INSERT INTO credential (id, provider, url, model, sealed, last_four, priority, "
                             "enabled) VALUES (gen_random_uuid(), 'p', 'u', 'm', :raw, '', 1, true)"),
                        {"raw": KEY.encode()})
    assert found_in(tables(household)["credential"]) == [KEY]
