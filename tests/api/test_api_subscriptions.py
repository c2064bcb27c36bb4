"""Subscriptions, tags, zones and headers over HTTP."""

import json
import logging
from typing import Any

import httpx
import pytest
from household import TOKEN, Household, assert_problem
from small_library import FEED, SITE
from sqlalchemy import select

from models.headers import open_headers
from models.session import Database
from models.tables import Source

pytestmark = pytest.mark.database
SECRET = "tok_TESTONLY_9f3a"
OPML = (f'<opml version="2.0"><body><outline text="Sea"><outline text="Site" xmlUrl="{FEED}"/></outline>'
        '<outline text="Bad" xmlUrl="gopher://x.example/"/></body></opml>')


async def test_an_opml_file_is_imported_without_a_request_and_exported_again(
    api: httpx.AsyncClient, household: Household
) -> None:
    done = (await api.post("/v1/sources/import", content=OPML)).json()
    assert ([it["url"] for it in done["added"]], done["known"]) == ([FEED], [])
    assert done["refused"] == [
        "Bad: gopher: addresses are not read: give one that starts with https:// or http://"]
    assert household.library.fetcher.asked == []
    again = (await api.post("/v1/sources/import", content=OPML)).json()
    assert (again["added"], again["known"]) == ([], [f"Site: {FEED} is a source already"])
    exported = await api.get("/v1/sources/export")
    assert exported.headers["content-type"].startswith("text/x-opml")
    assert f'xmlUrl="{FEED}"' in exported.text
    [source] = (await api.get("/v1/sources")).json()["sources"]
    assert source["tags"] == ["Sea"]


async def test_what_is_no_opml_is_refused(api: httpx.AsyncClient) -> None:
    assert "OPML" in assert_problem(await api.post("/v1/sources/import", content=b"{}"), 422, "rejected")


@pytest.mark.parametrize("sent", [
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json", "text/html"])
async def test_an_opml_file_that_is_sent_as_something_else_is_told_apart(
    api: httpx.AsyncClient, sent: str
) -> None:
    answer = await api.post("/v1/sources/import", content=OPML, headers={"Content-Type": sent})
    detail = assert_problem(answer, 415, "unsupported_media_type")
    assert detail.startswith(f"The body came with Content-Type: {sent}: send the OPML itself, with Content-")


@pytest.mark.parametrize("sent", ["text/x-opml", "text/xml; charset=utf-8", "application/a+xml", None])
async def test_an_opml_file_may_be_sent_as_any_xml(api: httpx.AsyncClient, sent: str | None) -> None:
    headers = {"Content-Type": sent} if sent else {}
    answer = await api.post("/v1/sources/import", content=OPML, headers=headers)
    assert answer.status_code == 200


async def test_a_source_has_tags_and_a_zone(api: httpx.AsyncClient, household: Household) -> None:
    wanted = {"url": FEED, "cron": "0 7 * * *", "zone": "Europe/Berlin", "tags": ["Sea", " Sea "]}
    source = (await api.post("/v1/sources", json=wanted)).json()
    assert (source["tags"], source["zone"], source["failures"]) == (["Sea"], "Europe/Berlin", 0)
    assert source["last_good_at"] == source["last_poll"]["started_at"]
    assert source["next_poll_at"][11:16] in {"05:00", "06:00"}  # summer and winter
    answer = await api.post("/v1/sources", json=wanted | {"zone": "Mars"})
    detail = assert_problem(answer, 422, "invalid_request")
    assert "“Mars” is no time zone" in detail


async def test_a_source_that_names_no_zone_has_that_of_the_settings(
    api: httpx.AsyncClient, household: Household
) -> None:
    household.library.settings.zone = "Asia/Tokyo"
    source = (await api.post("/v1/sources", json={"url": FEED, "cron": "0 7 * * *"})).json()
    assert (source["zone"], source["next_poll_at"][11:16]) == ("Asia/Tokyo", "22:00")


async def test_the_values_of_headers_are_told_to_nobody(
    api: httpx.AsyncClient, household: Household, db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    added = await api.post("/v1/sources", json={"url": FEED, "headers": {"X-Key": SECRET}})
    household.runs.join()
    identity = added.json()["id"]
    assert added.json()["headers"] == ["x-key"]
    with db.begin() as session:
        source = session.scalars(select(Source)).one()
        assert open_headers(db.keys, source.id, source.url, source.headers) == {"x-key": SECRET}
        assert SECRET not in str(source.headers)
    said = [added.text, caplog.text, json.dumps(household.runs.started)]
    said += [(await api.get(f"/v1/sources{path}")).text for path in ("", f"/{identity}", "/export")]
    wrong: list[dict[str, Any]] = [{"X Key": SECRET}, {"Host": SECRET}, {"X-Key": f"{SECRET}é"}]
    for headers in wrong:
        said.append((await api.put(f"/v1/sources/{identity}/headers", json={"headers": headers})).text)
        assert_problem(await api.post("/v1/sources", json={"url": SITE, "headers": headers}),
                       422, "invalid_request")
    said.append((await api.delete(f"/v1/sources/{identity}")).text)
    assert [it for it in said if SECRET in it] == []
    with db.begin() as session:
        assert session.scalar(select(Source.headers)) == {}


async def test_headers_are_set_anew_and_taken_away(
    api: httpx.AsyncClient, household: Household, db: Database
) -> None:
    identity = (await api.post("/v1/sources", json={"url": FEED, "headers": {"X-Key": SECRET}})).json()["id"]
    path = f"/v1/sources/{identity}/headers"
    assert (await api.put(path, json={"headers": {"Cookie": "a=b"}})).json()["headers"] == ["cookie"]
    assert (await api.put(path, json={"headers": {}})).json()["headers"] == []
    with db.begin() as session:
        session.query(Source).update({"scopes": ["library", "private"]})
    assert_problem(await api.put(path, json={"headers": {}}), 404, "not_found")


async def test_a_key_in_the_address_is_refused(api: httpx.AsyncClient) -> None:
    assert_problem(await api.get("/v1/sources/export", params={"token": TOKEN}), 400, "token_in_query")
