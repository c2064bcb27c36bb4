"""Polling a JSON API: pages in turn, each once, on its own host; what goes wrong expires nothing."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select

from models.session import Database
from models.states import DocumentState, PollOutcome, SourceKind
from models.tables import Source
from tasks.discover.add import NewSource, add_source
from tasks.discover.kinds.json_api import MOST_PAGES
from tasks.discover.preview import preview_source
from tasks.errors import Permanent, StageError, Transient

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
POSTS = "https://pier.example/api/posts"
FIRST = f"{POSTS}?tag=sea&cursor=old"
MAP = {"items": "data.posts", "url": "u", "title": "t", "next": "next"}


def at(cursor: str) -> str:
    return f"{POSTS}?tag=sea&cursor={cursor}"


def page(*names: str, after: Any = None) -> bytes:
    rows = [{"u": f"/p/{name}", "t": name.title()} for name in names]
    return json.dumps({"data": {"posts": rows}, "next": after}).encode()


def named(desk: Any, source_id: UUID) -> list[str]:
    return sorted(url.rpartition("/")[2] for url in desk.documents(source_id))


def asked(desk: Any) -> list[str]:
    return [url for url, _ in desk.web.asked]


@pytest.fixture
def source(desk: Any) -> Any:
    return desk.add(FIRST, SourceKind.JSON, map=MAP)


async def test_pages_are_read_until_one_names_no_other(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, page("pier", "fog", after="c/2"))
    desk.web.put(at("c%2F2"), page("ferry", after=3))
    desk.web.put(at("3"), page(after=None))
    polled = await desk.poll(source)
    assert (polled.outcome, polled.items_new, polled.reason) == (PollOutcome.NEW, 3, "3 new, of 3 offered")
    assert named(desk, source) == ["ferry", "fog", "pier"]
    assert asked(desk) == [FIRST, at("c%2F2"), at("3")]


async def test_an_unchanged_api_costs_one_conditional_request_and_no_parsing(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, page("pier"), etag='"1"')
    await desk.poll(source)
    desk.web.asked.clear()
    desk.parsers.calls.clear()
    polled = await desk.poll(source, LATER)
    assert (polled.outcome, desk.parsers.calls) == (PollOutcome.UNCHANGED, [])
    assert [(url, validators.etag) for url, validators in desk.web.asked] == [(FIRST, '"1"')]


@pytest.mark.parametrize("validators", [{}, {"etag": '"1"'}])
async def test_of_an_unchanged_api_with_pages_the_first_and_the_last_are_asked_for(
    desk: Any, source: UUID, validators: dict[str, str]
) -> None:
    desk.web.put(FIRST, page("pier", after="c2"), **validators)
    desk.web.put(at("c2"), page("fog", after="c3"), **validators)
    desk.web.put(at("c3"), page("ferry"), **validators)
    await desk.poll(source)
    desk.web.asked.clear()
    desk.parsers.calls.clear()
    polled = await desk.poll(source, LATER)
    assert (polled.outcome, asked(desk), desk.parsers.calls) == (
        PollOutcome.UNCHANGED, [FIRST, at("c3")], [])
    assert {given and given.etag for _, given in desk.web.asked} == {validators.get("etag")}


@pytest.mark.parametrize("validators", [{}, {"etag": '"1"'}])
async def test_what_is_new_is_found_though_it_is_listed_last(
    desk: Any, source: UUID, validators: dict[str, str]
) -> None:
    desk.web.put(FIRST, page("oldest", after="c2"), **validators)
    desk.web.put(at("c2"), page("older"), **validators)
    await desk.poll(source)
    desk.web.put(at("c2"), page("older", after="c3"))
    desk.web.put(at("c3"), page("newest"))
    assert (await desk.poll(source, LATER)).items_new == 1
    desk.web.fail(at("c3"), Permanent("HTTP 410 Gone"))  # cursors expire
    desk.web.put(at("c2"), page("older", after="c4"))
    desk.web.put(at("c4"), page("newest", "after it"))
    assert (await desk.poll(source, LATER)).items_new == 1


async def test_a_cursor_that_comes_again_stops_with_a_warning(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, page("pier", after="c2"))
    desk.web.put(at("c2"), page("fog", after="c2"))
    polled = await desk.poll(source)
    assert polled.reason == "2 new, of 2 offered; page 3 is not read: “c2” leads to a page that was read"
    assert asked(desk) == [FIRST, at("c2")]
    assert desk.source(source).health == polled.reason


async def test_a_warning_is_told_of_a_poll_that_brings_nothing_new(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, page("pier", after="c2"))
    desk.web.put(at("c2"), page("fog", after="c2"))
    await desk.poll(source)
    desk.web.put(FIRST, page("pier", after="c2") + b" ")
    polled = await desk.poll(source, LATER)
    assert (polled.outcome, polled.reason.partition(";")[0]) == (
        PollOutcome.UNCHANGED, "nothing new, of 2 offered")
    assert "c2" in polled.reason


async def test_a_server_that_ignores_the_cursor_is_noticed(desk: Any, source: UUID) -> None:
    for url in (FIRST, at("c2")):
        desk.web.put(url, page("pier", after="c2"))
    polled = await desk.poll(source)
    assert polled.reason == "1 new, of 1 offered; page 2 is not read: it is the same as one before it"


async def test_pages_that_overlap_give_each_document_once_and_change_none(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, page("pier", "fog", after="c2"))
    desk.web.put(at("c2"), page("fog", "ferry"))
    polled = await desk.poll(source)
    assert (polled.items_new, polled.reason) == (3, "3 new, 1 repeated, of 4 offered")
    desk.web.put(FIRST, page("lamp", "pier", "fog"))
    again = await desk.poll(source, LATER)
    assert (again.items_new, again.items_changed) == (1, 0)


async def test_a_short_or_empty_page_is_not_taken_for_the_end(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, page("pier", "fog", after="c2"))
    desk.web.put(at("c2"), page(after="c3"))
    desk.web.put(at("c3"), page("ferry"))
    assert (await desk.poll(source)).items_new == 3


async def test_a_null_list_is_an_empty_last_page(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, page("pier", after="c2"))
    desk.web.put(at("c2"), b'{"data": {"posts": null}, "next": "c3"}')
    polled = await desk.poll(source)
    assert (polled.reason, len(asked(desk))) == ("1 new, of 1 offered", 2)


async def test_no_poll_reads_more_than_its_bound_of_pages(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, page("p1", after="c2"))
    for number in range(2, 40):
        desk.web.put(at(f"c{number}"), page(f"p{number}", after=f"c{number + 1}"))
    polled = await desk.poll(source)
    assert (polled.items_new, len(asked(desk))) == (MOST_PAGES, MOST_PAGES)
    assert polled.reason.endswith("page 11 is not read: one poll reads 10 pages or 5,000 items")


@pytest.mark.parametrize(
    ("mapping", "said", "next_url"),
    [
        ({}, "/v2/posts?page=2", "https://pier.example/v2/posts?page=2"),
        ({}, "?page=2#here", f"{POSTS}?page=2"),
        ({}, "http://PIER.example:80/api/posts?page=2", f"{POSTS}?page=2"),
        ({}, "c2&tag=all", at("c2%26tag%3Dall")),
        ({"cursor": "page"}, 2, f"{FIRST}&page=2"),
        ({"cursor": "page[after]"}, "/x", f"{FIRST}&page[after]=%2Fx"),
        ({"cursor": "tag"}, "https://x.example/", f"{POSTS}?cursor=old&tag=https%3A%2F%2Fx.example%2F"),
    ],
)
async def test_the_next_page_is_a_link_or_a_cursor_in_the_query(
    desk: Any, mapping: dict[str, str], said: Any, next_url: str
) -> None:
    source = desk.add(FIRST, SourceKind.JSON, map=MAP | mapping)
    desk.web.put(FIRST, page("pier", after=said))
    await desk.poll(source)
    assert asked(desk) == [FIRST, next_url]


@pytest.mark.parametrize("elsewhere", [
    "https://other.example/api?page=2", "//other.example/api", "/\\other.example/api",
    "http://169.254.169.254/latest", "https://pier.example.other.example/",
])
async def test_the_next_page_is_never_asked_of_another_host(desk: Any, source: UUID, elsewhere: str) -> None:
    desk.web.put(FIRST, page("pier", after=elsewhere))
    polled = await desk.poll(source)
    assert (asked(desk), polled.items_new) == ([FIRST], 1)
    assert "page 2 is not read: " in polled.reason


@pytest.mark.parametrize("trouble", [Transient("HTTP 503"), Permanent("HTTP 404 Not Found"), None])
async def test_a_page_that_fails_costs_no_item_and_is_tried_again(
    desk: Any, source: UUID, trouble: StageError | None
) -> None:
    desk.web.put(FIRST, page("pier", after="c2"), etag='"1"')
    if trouble:
        desk.web.fail(at("c2"), trouble)
    else:
        desk.web.put(at("c2"), b'{"error": "quota"}')
    polled = await desk.poll(source)
    assert (polled.items_new, polled.outcome) == (1, PollOutcome.NEW)
    assert "page 2 could not be read" in polled.reason
    desk.web.put(at("c2"), page("fog"))
    again = await desk.poll(source, LATER)
    assert (again.items_new, named(desk, source)) == (1, ["fog", "pier"])


@pytest.mark.parametrize("body", [
    b'{"error": "quota"}', b'{"data": {}}', b'{"data": null}', b"<html>Sign in</html>", b"", b"[]",
    b'{"data": {"posts": null}}', b'{"data": {"posts": []}}', b'{"data": {"posts": [{"t": "no address"}]}}',
    b'{"data": {"posts": {"u": "/a"}}}', b"[" * 100_000,
])
async def test_an_answer_that_is_not_as_before_is_suspect_and_expires_nothing(
    desk: Any, source: UUID, body: bytes
) -> None:
    desk.web.put(FIRST, page("pier", "fog"))
    await desk.poll(source)
    desk.read_all()
    desk.web.put(FIRST, body)
    polled = await desk.poll(source, LATER)
    assert (polled.outcome, polled.items_new, polled.items_changed) == (PollOutcome.SUSPECT, 0, 0)
    assert {document.state for document in desk.documents().values()} == {DocumentState.INDEXED}
    assert all(document.due_at is None for document in desk.documents().values())
    assert (desk.source(source).failures, desk.source(source).next_poll_at is not None) == (1, True)


async def test_items_without_an_address_are_counted_with_their_field(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, b'{"data": {"posts": [{"u": "/p/7", "t": "Pier", "when": NaN}, {"t": "none"}, {}]}}')
    polled = await desk.poll(source)
    assert polled.reason == "1 new, 2 without a web address at “u”, of 3 offered"


async def test_links_are_of_the_apis_address_not_of_its_folder_alone(desk: Any, source: UUID) -> None:
    desk.web.put(FIRST, b'{"data": {"posts": [{"u": "/p/7"}, {"u": "8"}, {"u": "//cdn.example/9"}]}}')
    await desk.poll(source)
    assert sorted(desk.documents()) == [
        "https://cdn.example/9", "https://pier.example/api/8", "https://pier.example/p/7"]


async def test_adding_reads_once_and_keeps_the_map(db: Database, web: Any, parsers: Any) -> None:
    web.put(FIRST, page("pier", "fog"))
    added = await add_source(db, web, parsers, NewSource(FIRST, kind="json", map=MAP), NOW)
    assert (added.kind, added.name, added.poll.items_new) == (SourceKind.JSON, "pier.example", 2)
    assert [url for url, _ in web.asked] == [FIRST]
    with db.begin() as session:
        assert session.get_one(Source, added.id).map == MAP


@pytest.mark.parametrize("mapping", [
    MAP | {"items": "data.pots"}, MAP | {"url": "link"}, {"url": "u"},
])
async def test_a_map_that_leads_nowhere_adds_nothing(
    db: Database, web: Any, parsers: Any, mapping: dict[str, str]
) -> None:
    web.put(FIRST, page("pier"))
    with pytest.raises(Permanent, match="cannot be read with this map: "):
        await add_source(db, web, parsers, NewSource(FIRST, kind="json", map=mapping), NOW)
    with db.begin() as session:
        assert session.scalar(select(func.count()).select_from(Source)) == 0


@pytest.mark.parametrize(("kind", "mapping", "told"), [
    ("json", {}, "needs a map"),
    ("json", {"url": "a..b"}, "broken"),
    ("feed", MAP, "a map is for sources of kind json, not feed"),
    ("auto", MAP, "say --kind json"),
])
def test_a_wrong_map_is_refused_before_any_request(kind: str, mapping: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        NewSource(FIRST, kind=kind, map=mapping)


async def test_whoever_lets_it_be_found_out_is_told_what_to_do(db: Database, web: Any, parsers: Any) -> None:
    web.put(FIRST, page("pier"), media_type="application/json")
    with pytest.raises(Permanent, match="add it as kind json, with a map like --map items="):
        await add_source(db, web, parsers, NewSource(FIRST), NOW)


async def test_a_preview_shows_the_first_three_items_and_saves_nothing(
    db: Database, web: Any, parsers: Any
) -> None:
    web.put(FIRST, page("a", "b", "c", "d"))
    shown = await preview_source(web, parsers, NewSource(FIRST, kind="json", map=MAP))
    assert (shown["kind"], shown["offered"], len(shown["items"])) == ("json", 4, 3)
    assert shown["items"][0] == {"url": "https://pier.example/p/a", "title": "A", "author": None,
                                 "published_at": None, "summary": None}
    with db.begin() as session:
        assert session.scalar(select(func.count()).select_from(Source)) == 0
