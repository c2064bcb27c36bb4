"""Handing things in over HTTP, and reading originals back."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from household import Household, assert_problem
from small_library import SITE
from sqlalchemy import update

from models.session import Database
from models.tables import Document
from tasks.callers import tokens
from tasks.errors import Away

pytestmark = pytest.mark.database

NOTE = "# The mole\n\nThe mole at Cape Verren was lengthened in 1931."
FILE = b"The quay of Almaden\nIts cranes were sold in 1950."


def declared(body: bytes = FILE, **more: Any) -> dict[str, Any]:
    upload = {"name": "Quay (1).txt", "media_type": "text/plain", "size": len(body),
              "sha256": hashlib.sha256(body).hexdigest()}
    return {"upload": upload | more}


async def keep(api: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    answer = await api.post("/v1/keep", json=given)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def upload(api: httpx.AsyncClient, body: bytes = FILE, **more: Any) -> dict[str, Any]:
    ticket = (await keep(api, **declared(body), **more))["upload"]
    answer = await api.request(ticket["method"], ticket["url"], content=body, headers={"Authorization": ""})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def ask(api: httpx.AsyncClient, query: str) -> list[dict[str, Any]]:
    found = (await api.post("/v1/retrieve", json={"query": query})).json()
    excerpts: list[dict[str, Any]] = found["excerpts"]
    return excerpts


@pytest.fixture
async def family(household: Household, db: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who reads and writes what is the family's, and nothing else."""
    _, token = tokens.make_token(db, "family", ["family"])
    transport = httpx.ASGITransport(household.app, raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers={"Authorization": f"Bearer {token}"}
    ) as client:
        yield client


async def test_a_note_answers_and_its_label_leads_to_it(api: httpx.AsyncClient, household: Household) -> None:
    told = await keep(api, text=NOTE)
    assert (told["outcome"], told["created"], household.runs.started) == ("inserted", True, [("index", {})])
    assert (told["state"], told["reason"]) == ("read", "kept; waits for the index")
    household.runs.join()
    [excerpt] = await ask(api, "mole at Cape Verren lengthened")
    assert excerpt["document_id"] == told["document_id"]
    assert (excerpt["citation"]["title"], excerpt["citation"]["source"]) == ("The mole", "Handed in")
    found = (await api.post("/v1/retrieve", json={"query": "mole lengthened 1931"})).json()
    cited = (await api.get(f"/v1/citations/{found['retrieval_id']}/K1")).json()
    assert "lengthened in 1931" in cited["around"]["text"]


async def test_the_same_note_again_is_nothing(api: httpx.AsyncClient, household: Household) -> None:
    first = await keep(api, text=NOTE)
    again = await keep(api, text=NOTE)
    assert (again["outcome"], again["created"], again["flow_run_id"]) == ("unchanged", False, None)
    assert again["document_id"] == first["document_id"]
    assert len(household.runs.started) == 1


async def test_what_has_expired_answers_no_more_and_is_kept(
    api: httpx.AsyncClient, household: Household, db: Database
) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    told = await keep(api, text=NOTE, expires_at=soon)
    household.runs.join()
    assert len(await ask(api, "mole lengthened 1931")) == 1
    with db.begin() as session:
        session.execute(update(Document).values(expires_at=datetime.now(UTC)))
    assert await ask(api, "mole lengthened 1931") == []
    assert (await api.get(f"/v1/documents/{told['document_id']}")).json()["version"] is not None


async def test_a_file_is_uploaded_converted_and_read_back(
    api: httpx.AsyncClient, household: Household
) -> None:
    told = await upload(api, title="The quay")
    household.runs.join()
    document = (await api.get(f"/v1/documents/{told['document_id']}")).json()
    assert (document["state"], document["title"]) == ("indexed", "The quay")
    assert (document["file"]["name"], document["file"]["state"]) == ("Quay (1).txt", "ready")
    assert "cranes were sold" in document["version"]["text"]
    original = await api.get(f"/v1/documents/{told['document_id']}/original")
    assert (original.content, original.headers["content-type"].split(";")[0]) == (FILE, "text/plain")
    assert original.headers["content-disposition"] == "attachment; filename*=UTF-8''Quay%20%281%29.txt"
    assert original.headers["x-content-type-options"] == "nosniff"
    assert list(household.library.doors.folder.iterdir()) == []


async def test_what_is_at_an_address_is_fetched_and_kept(
    api: httpx.AsyncClient, household: Household
) -> None:
    told = await keep(api, uri=f"{SITE}/owls")
    household.runs.join()
    document = (await api.get(f"/v1/documents/{told['document_id']}")).json()
    assert (document["state"], document["url"]) == ("indexed", f"{SITE}/owls")
    assert_problem(await api.get(f"/v1/documents/{told['document_id']}/original"), 404, "not_found")


@pytest.mark.parametrize(("given", "status", "code", "words"), [
    ({}, 422, "rejected", "nothing to keep"),
    ({"preserve_source": True}, 422, "rejected", "preserve_source keeps what is at a URI"),
    (declared() | {"uri": f"{SITE}/owls"}, 422, "rejected", "leave out uri"),
    (declared() | {"expires_at": "2027-01-01T00:00:00Z"}, 422, "rejected", "leave out expires_at"),
    (declared(size=10**12), 422, "rejected", "are allowed"),
    (declared(sha256="abc"), 422, "invalid_request", "sha256"),
    ({"uri": "http://site.example/owls"}, 422, "rejected", "Only https"),
    ({"uri": f"{SITE}/gone"}, 502, "site_refused", "410"),
    ({"text": NOTE, "observed_at": "2026-01-01T00:00:00"}, 422, "invalid_request", "observed_at"),
    ({"text": "a\0b"}, 422, "invalid_request", "NUL"),
    ({"text": NOTE, "scopes": ["a"] * 3 + ["secret"]}, 403, "scope_missing", "may not write into"),
    ({"text": NOTE, "colour": "red"}, 422, "invalid_request", "colour is not known here"),
])
async def test_what_may_not_be_kept_says_why(
    api: httpx.AsyncClient, given: dict[str, Any], status: int, code: str, words: str
) -> None:
    detail = assert_problem(await api.post("/v1/keep", json=given), status, code)
    assert words in detail
    assert (await api.get("/v1/documents")).json()["documents"] == []


async def test_a_token_writes_and_reads_its_own_scope_and_no_other(
    api: httpx.AsyncClient, family: httpx.AsyncClient, household: Household
) -> None:
    note = await keep(family, text=NOTE)
    file = await upload(family)
    household.runs.join()
    assert [it["document_id"] for it in await ask(family, "mole lengthened 1931")] == [note["document_id"]]
    assert await ask(api, "mole lengthened 1931") == []
    for kept in (note, file):
        assert (await family.get(f"/v1/documents/{kept['document_id']}")).status_code == 200
        assert_problem(await api.get(f"/v1/documents/{kept['document_id']}"), 404, "not_found")
    unknown = "ffffffff-ffff-4fff-8fff-ffffffffffff"
    forbidden, absent = [
        (await api.get(f"/v1/documents/{it}/original")).json() for it in (file["document_id"], unknown)]
    assert forbidden == absent
    assert (await family.get(f"/v1/documents/{file['document_id']}/original")).content == FILE
    assert_problem(await family.post("/v1/keep", json={"text": NOTE, "scopes": ["library"]}),
                   403, "scope_missing")


async def test_a_ticket_is_spent_by_its_file_and_by_a_wrong_one(api: httpx.AsyncClient) -> None:
    for body, status in ((FILE, 200), (FILE[:-1] + b"!", 422)):
        url = (await keep(api, **declared()))["upload"]["url"]
        assert (await api.put(url, content=body)).status_code == status
        detail = assert_problem(await api.put(url, content=FILE), 404, "not_found")
        assert "POST /v1/keep" in detail


@pytest.mark.parametrize("ticket", ["made-up-but-long-enough-to-be-one", "x", "..%2F..", "%00"])
async def test_a_made_up_ticket_is_not_there(api: httpx.AsyncClient, ticket: str) -> None:
    assert_problem(await api.put(f"/v1/uploads/{ticket}", content=FILE), 404, "not_found")


async def test_binary_without_a_scanner_is_refused(api: httpx.AsyncClient) -> None:
    pdf = b"%PDF-1.7\n" + bytes(200)
    url = (await keep(api, **declared(pdf, media_type="application/pdf")))["upload"]["url"]
    assert "ALMANAC_CLAMD" in assert_problem(await api.put(url, content=pdf), 422, "rejected")


async def test_a_scanner_that_is_away_is_said_to_be(api: httpx.AsyncClient, household: Household) -> None:
    class Gone:
        async def scan(self, path: object) -> None:
            raise Away("the scanner of ALMANAC_CLAMD does not answer")

    household.library.doors = replace(household.library.doors, scanner=Gone())
    url = (await keep(api, **declared()))["upload"]["url"]
    assert_problem(await api.put(url, content=FILE), 503, "service_away")


async def test_a_body_beyond_its_limit_is_refused_on_every_route(
    api: httpx.AsyncClient, household: Household
) -> None:
    url = (await keep(api, **declared()))["upload"]["url"]
    most = household.library.settings.keep_bytes
    answer = await api.put(url, content=FILE, headers={"Content-Length": str(most + 1)})
    assert_problem(answer, 413, "too_large")
    assert_problem(await api.post("/v1/retrieve", content=b" " * 1_000_001), 413, "too_large")
    long = "word " * 300_000
    assert (await api.post("/v1/keep", json={"text": long})).status_code == 200


async def test_a_retry_converts_a_file_again_and_fetches_no_note(
    api: httpx.AsyncClient, household: Household
) -> None:
    note, file = await keep(api, text=NOTE, uri=f"{SITE}/owls"), await upload(api)
    household.runs.join()
    household.runs.started.clear()
    for kept, flow in ((note, "index"), (file, "keep")):
        assert (await api.post(f"/v1/documents/{kept['document_id']}/retry")).status_code == 202
        assert household.runs.started.pop() == (flow, {})
    household.runs.join()
    assert household.library.fetcher.asked == []


async def test_what_was_handed_in_is_a_source_that_is_never_polled(
    api: httpx.AsyncClient, household: Household
) -> None:
    await keep(api, text=NOTE)
    household.runs.join()
    [source] = (await api.get("/v1/sources")).json()["sources"]
    assert (source["kind"], source["name"], source["next_poll_at"]) == ("kept", "Handed in", None)
    assert "Handed in" not in (await api.get("/v1/sources/export")).text
    await api.post(f"/v1/sources/{source['id']}/poll")
    household.runs.join()
    assert (await api.get("/v1/documents")).json()["documents"][0]["state"] == "indexed"


async def test_many_texts_are_kept_at_once_or_none_is(api: httpx.AsyncClient, household: Household) -> None:
    texts = [{"text": f"Note {n} is about tides.", "uri": f"{SITE}/{n}"} for n in range(5)]

    async def hand_in(*more: dict[str, Any]) -> httpx.Response:
        return await api.post("/v1/keep/texts", json={"texts": [*texts, *more]})

    refused = await hand_in({"text": " "}, {"text": "x", "uri": "ftp://a.example/"})
    detail = assert_problem(refused, 422, "rejected")
    assert "texts.5: the text says nothing" in detail
    assert "texts.6: " in detail
    assert (await api.get("/v1/documents")).json()["documents"] == []
    first, again = (await hand_in()).json(), (await hand_in({"text": "Another"})).json()
    assert [each["outcome"] for each in first["kept"]] == ["inserted"] * 5
    assert [each["outcome"] for each in again["kept"]] == [*["unchanged"] * 5, "inserted"]
    assert first["flow_run_id"]
    assert again["flow_run_id"]
    assert (await hand_in({"text": "Another"})).json()["flow_run_id"] is None
    too_many = await api.post("/v1/keep/texts", json={"texts": [{"text": "x"}] * 1001})
    assert "at most 1000 values" in assert_problem(too_many, 422, "invalid_request")


async def test_a_time_that_has_passed_is_refused_as_an_end(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/keep", json={"text": NOTE, "expires_at": "2020-01-01T00:00:00Z"})
    assert assert_problem(answer, 422, "rejected") == (
        "expires_at is 2020-01-01T00:00:00+00:00, which has passed: give a time to come, or leave it out.")


async def test_a_note_that_is_refreshed_is_looked_at_again(
    api: httpx.AsyncClient, household: Household
) -> None:
    kept = await keep(api, text=NOTE)
    household.runs.join()
    assert (await keep(api, text=NOTE, title="On the mole"))["outcome"] == "refreshed"
    household.runs.join()
    document = (await api.get(f"/v1/documents/{kept['document_id']}")).json()
    assert document["reason"] == "looked at again: kept again with another title"
