"""Where others than this machine may come, nothing of the dashboard answers who has not shown a token."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_in import TOKEN, Api, Open, Read, source
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from almanac.client import exposed
from almanac.settings import settings
from dashboards import visitors
from dashboards.entrance import SignedIn
from dashboards.visitors import COOKIE, admit, visitor


async def screen(request: Any) -> PlainTextResponse:
    return PlainTextResponse("a screen")


async def channel(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("a channel")
    await socket.close()


@pytest.fixture
def browser(api: Api) -> Iterator[TestClient]:
    """Somebody elsewhere, before a dashboard that may be reached from there."""
    api.answers["GET /v1/interests"] = {"interests": []}
    inside = Starlette(routes=[Route("/{path:path}", screen), WebSocketRoute("/_stcore/stream", channel)])
    with TestClient(SignedIn(inside), headers={"accept": "text/html"}, follow_redirects=False) as client:
        yield client
    visitors.known.clear()


@pytest.mark.parametrize(
    ("host", "hosts", "open_to_others"),
    [
        ("127.0.0.1", '["localhost", "127.0.0.1", "[::1]"]', False),
        ("127.0.0.1", '["LOCALHOST", "127.8.0.1"]', False),
        ("::1", '["localhost"]', False),
        ("0.0.0.0", '["localhost"]', True),
        ("192.168.1.5", '["localhost"]', True),
        ("127.0.0.1", '["localhost", "library.example"]', True),  # behind a server of its owner's
    ],
)
def test_it_is_exposed_where_its_address_or_its_names_are_not_this_machines(
    host: str, hosts: str, open_to_others: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALMANAC_HOST", host)
    monkeypatch.setenv("ALMANAC_HOSTS", hosts)
    settings.cache_clear()
    assert exposed() is open_to_others
    settings.cache_clear()


def test_nothing_answers_before_a_token_is_shown_but_whether_it_is_well(browser: TestClient) -> None:
    for path in ("/", "/sources?x=1", "/static/app.js", "/_stcore/host-config", "/_stcore/healthy"):
        answer = browser.get(path)
        assert (answer.status_code, "a screen" in answer.text) == (401, False)
    assert browser.put("/_stcore/upload_file/x", content=b"x").status_code == 401
    assert browser.get("/_stcore/health").text == "a screen"
    with pytest.raises(WebSocketDenialResponse), browser.websocket_connect("/_stcore/stream"):
        pass


def test_a_token_opens_what_was_asked_for(browser: TestClient) -> None:
    asked = browser.get("/search?q=lifts+%26+stairs")
    assert 'value="/search?q=lifts+%26+stairs"' in asked.text
    shown = browser.post("/sign-in", data={"token": f" {TOKEN}\n", "back": "/search?q=lifts+%26+stairs"})
    assert (shown.status_code, shown.headers["location"]) == (303, "/search?q=lifts+%26+stairs")
    cookie = shown.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert browser.get("/sources").text == "a screen"
    with browser.websocket_connect("/_stcore/stream") as socket:
        assert socket.receive_text() == "a channel"


def test_who_signs_out_is_asked_again(browser: TestClient) -> None:
    browser.post("/sign-in", data={"token": TOKEN})
    kept = browser.cookies[COOKIE]
    assert browser.get("/sign-out").headers["location"] == "/"
    browser.cookies.set(COOKIE, kept)
    assert browser.get("/").status_code == 401


@pytest.mark.parametrize("token", [
    "another", "", "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "a\r\nb: c", "x" * 20_000,
])
def test_a_wrong_token_opens_nothing(token: str, browser: TestClient) -> None:
    answer = browser.post("/sign-in", data={"token": token})
    assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
    assert "unknown or revoked" in answer.text
    assert browser.get("/").status_code == 401


def test_a_library_that_is_away_says_so_and_opens_nothing(browser: TestClient, api: Api) -> None:
    api.close()
    answer = browser.post("/sign-in", data={"token": TOKEN})
    assert answer.status_code == 503
    assert "try again" in answer.text


@pytest.mark.parametrize("back", [
    "https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "evil", "",
])
def test_it_leads_nowhere_else(back: str, browser: TestClient) -> None:
    answer = browser.post("/sign-in", data={"token": TOKEN, "back": back})
    assert answer.headers["location"] == "/"


def test_what_an_address_says_stays_in_its_place_in_the_form(browser: TestClient) -> None:
    answer = browser.get('/search?q="><script>alert(1)</script>{back.__class__}')
    assert "<script>" not in answer.text
    assert "__class__}" not in answer.text


def test_only_so_many_are_remembered(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "MOST", 2)
    first, *others = [admit(TOKEN) for _ in range(3)]
    assert visitor({COOKIE: str(first)}) is None
    assert all(visitor({COOKIE: str(name)}) for name in others)


def test_a_screen_that_no_cookie_came_to_shows_nothing(
    api: Api, opened: Open, words: Read, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """Its session outlived the sign-in: the server before it has forgotten the visitor."""
    monkeypatch.setenv("ALMANAC_HOST", "0.0.0.0")
    settings.cache_clear()
    api.lists(source())
    said = words(opened("sources.py"))
    assert "You are signed out" in said.text
    assert "Tower news" not in said.text
    assert "/sign-out" in said.links
    assert api.requests == []
