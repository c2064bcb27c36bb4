"""Fragments: places in a page, or pages of an application where its owner says so."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.addresses import identity_key, is_route
from models.session import Database
from models.tables import LIBRARY_SCOPE
from tasks.discover.edit import edit_source
from tasks.discover.wishes import NewSource

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FEED, APP = "https://tide.example/feed", "https://app.example/"
ROUTES = [f"{APP}#!/post/1", f"{APP}#/post/2"]
ANCHORS = ["https://doc.example/guide#install", "https://doc.example/guide#usage",
           "https://doc.example/guide#:~:text=tide"]


@pytest.mark.parametrize(("url", "route"), [
    *((url, True) for url in ROUTES), *((url, False) for url in ANCHORS)])
def test_a_route_begins_like_a_path(url: str, route: bool) -> None:
    assert is_route(url) is route


def test_anchors_are_one_page_always_and_routes_unless_the_source_has_them() -> None:
    assert len({identity_key(url) for url in ROUTES}) == 1
    assert len({identity_key(url, fragment_routes=True) for url in ROUTES}) == 2
    assert {identity_key(url, fragment_routes=True) for url in ANCHORS} == {"https://doc.example/guide"}


def test_a_source_keeps_the_route_in_its_address_only_where_it_has_routes() -> None:
    assert NewSource(ROUTES[1]).url == APP
    assert NewSource(ROUTES[1], fragment_routes=True).url == ROUTES[1]
    assert NewSource(ANCHORS[0], fragment_routes=True).url == "https://doc.example/guide"


def feed(rss: Any, urls: list[str]) -> str:
    return str(rss(*(f"<title>Tide {n}</title><link>{url}</link>" for n, url in enumerate(urls))))


@pytest.mark.database
async def test_routes_are_one_page_with_a_note_until_the_source_is_marked(
    desk: Any, db: Database, web: Any, rss: Any
) -> None:
    web.put(FEED, feed(rss, [*ROUTES, *ANCHORS]))
    source = desk.add()
    first = await desk.poll(source)
    assert first.items_new == 2
    assert "2 addresses that differ after “#/” alone are read as 1: with --fragment-routes" in first.reason
    assert edit_source(db.caller([LIBRARY_SCOPE]), source, {"fragment_routes": True}, NOW)
    later = await desk.poll(source, NOW + timedelta(hours=1))
    assert "--fragment-routes" not in later.reason
    assert {ROUTES[0], ROUTES[1]} <= {document.url for document in desk.documents().values()}


@pytest.mark.database
async def test_anchors_of_one_page_need_no_note(desk: Any, web: Any, rss: Any) -> None:
    web.put(FEED, feed(rss, ANCHORS))
    assert "fragment" not in (await desk.poll(desk.add())).reason
