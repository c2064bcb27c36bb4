"""The page at /docs works without a network, and loads nothing that is not ours."""

import os
import re
import shutil
from collections.abc import Iterator
from html import unescape
from threading import Thread
from time import sleep
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
import uvicorn
from household import Household
from playwright.sync_api import expect, sync_playwright

pytestmark = pytest.mark.database

CHROMIUM = shutil.which("chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture
def household(shared: Household) -> Household:
    return shared


def policy_of(answer: httpx.Response) -> dict[str, set[str]]:
    """The content security policy by directive."""
    parts = [part.split() for part in answer.headers["content-security-policy"].split(";")]
    return {name: set(sources) for name, *sources in parts}


async def test_all_that_the_page_names_is_ours_and_there(api: httpx.AsyncClient) -> None:
    page = await api.get("/docs")
    named = [unescape(name) for name in re.findall(r"""(?:src|href|url)(?:=|: )["']([^"']+)""", page.text)]
    assert len(named) == 4  # script, styles, icon, description
    for name in named:
        address = urljoin(str(page.url), name)
        assert urlsplit(address).netloc == urlsplit(str(page.url)).netloc
        answer = await api.get(address)
        assert (answer.status_code, len(answer.content) > 1000) == (200, True), address


async def test_a_browser_may_load_for_the_page_what_is_ours_only(api: httpx.AsyncClient) -> None:
    policy = policy_of(await api.get("/docs"))
    assert policy["default-src"] == policy["frame-ancestors"] == {"'none'"}
    foreign = {source for sources in policy.values() for source in sources
               if not re.fullmatch(r"'none'|'self'|'unsafe-inline'|data:|'sha256-[\w+/]{43}='", source)}
    assert foreign == set()
    assert "'unsafe-inline'" not in policy["script-src"]


@pytest.mark.parametrize("path", ["/health", "/openapi.json", "/v1/sources", "/nowhere", "/docs/assets/x.js"])
async def test_for_any_other_answer_a_browser_may_load_nothing(api: httpx.AsyncClient, path: str) -> None:
    assert policy_of(await api.get(path)) == {"default-src": {"'none'"}, "frame-ancestors": {"'none'"}}


async def test_there_is_one_page_of_documentation(api: httpx.AsyncClient) -> None:
    for path in ("/redoc", "/docs/oauth2-redirect", "/docs/assets/../../problems.py"):
        assert (await api.get(path)).status_code == 404


@pytest.fixture
def address(shared: Household) -> Iterator[str]:
    """The API on a port of this machine."""
    server = uvicorn.Server(uvicorn.Config(shared.app, "127.0.0.1", 0, log_config=None))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.mark.browser
def test_a_browser_shows_the_routes_and_asks_nobody_else(address: str) -> None:
    if CHROMIUM is None:
        sentence = "no chromium on this machine: install it (Debian: apt-get install chromium)"
        pytest.fail(sentence) if os.environ.get("CI") else pytest.skip(sentence)
    asked: list[str] = []
    said: list[tuple[str, str]] = []
    with sync_playwright() as playwright, playwright.chromium.launch(
            executable_path=CHROMIUM, args=QUIET) as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append((message.type, message.text)))
        page.on("pageerror", lambda error: said.append(("error", str(error))))
        page.goto(f"{address}/docs")
        row = page.locator("#operations-asking-find_v1_retrieve_post")
        row.click()
        row.get_by_role("button", name="Try it out").click()
        row.get_by_role("button", name="Execute").click()
        expect(row.locator(".live-responses-table")).to_contain_text("unauthenticated")
    assert {url for url in asked if not url.startswith((f"{address}/", "data:"))} == set()
    assert [words for kind, words in said if kind == "error" and "401" not in words] == []
