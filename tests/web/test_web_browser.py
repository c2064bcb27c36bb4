"""A page that scripts make is read as they leave it, within limits, and nothing of the browser stays."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright._impl._driver import compute_driver_executable

from tasks.errors import NeedsCredential, Permanent, StageError, Transient, Unsafe
from tasks.ports import Validators
from tasks.web import chromium, guard_proxy
from tasks.web.browser import Browser
from tasks.web.policy import Policy
from tasks.web.visit import Limits

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
OpenBrowser = Callable[..., Browser]


@pytest.fixture
def open_browser(site: Any) -> Iterator[OpenBrowser]:
    """Browsers that may reach ``site`` and nothing else of this machine."""
    opened = []

    def start(where: str | None = None, **settings: Any) -> Browser:
        where = where or chromium.found() or ""
        opened.append(Browser(Policy(site.pair), where, "me@a.example", limits=Limits(**settings)))
        return opened[-1]

    yield start
    for browser in opened:
        browser.close()
    _, alive = psutil.wait_procs(browsers(), 5)
    assert alive == []


def browsers(of: int | None = None) -> list[psutil.Process]:
    """The processes of Chromium below a process, this one if none is named; dead ones do not count."""
    found = []
    for process in psutil.Process(of).children(recursive=True):
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and "--type" in str(process.cmdline()):
                found.append(process)
    return found


def app(script: str) -> tuple[int, bytes, dict[str, str]]:
    page = f"<!doctype html><body><div id='root'></div><script>{script}</script></body>"
    return 200, page.encode(), {"connection": "close", "etag": '"shell"'}


async def test_the_text_that_scripts_load_is_in_the_page(site: Any, open_browser: OpenBrowser) -> None:
    site.routes["/"] = app("fetch('/text').then(a => a.text()).then(text => root.innerHTML = text)"
                           ".then(() => history.pushState({}, '', '/story#top'))")
    site.routes["/text"] = (200, b"<p>The tide is at three metres.</p>", {})
    rendered = await open_browser().render(site.url("/"))
    assert b"<p>The tide is at three metres.</p>" in rendered.body
    assert (rendered.url, rendered.final_url) == (site.url("/"), site.url("/story"))
    assert (rendered.status, rendered.media_type, rendered.charset) == (200, "text/html", "utf-8")
    assert rendered.validators == Validators()  # those of the shell say nothing of what scripts put into it


async def test_the_browser_says_who_it_is(site: Any, open_browser: OpenBrowser) -> None:
    site.routes["/"] = app("new Worker(URL.createObjectURL(new Blob([`fetch('" + site.url("/w") + "')`])))")
    await open_browser().render(site.url("/"))
    agents = {request.headers["user-agent"] for request in site.requests}
    assert len(agents) == 1
    agent = agents.pop()
    assert agent.startswith("Mozilla/5.0 ")
    assert agent.endswith(" Almanac/0.1.0 (+me@a.example)")
    assert "Headless" not in agent


async def test_a_page_that_leads_on_is_read_where_it_leads(site: Any, open_browser: OpenBrowser) -> None:
    site.routes["/"] = app("location = '/next'")
    site.routes["/next"] = (200, b"<p>Here it is.</p>", {})
    rendered = await open_browser().render(site.url("/"))
    assert rendered.final_url == site.url("/next")
    assert b"Here it is." in rendered.body


async def test_every_visit_is_the_first(site: Any, open_browser: OpenBrowser) -> None:
    site.routes["/"] = app("root.textContent = 'before: ' + document.cookie + localStorage.getItem('a');"
                           "document.cookie = 'a=1; max-age=9999'; localStorage.setItem('a', '1')")
    browser = open_browser()
    for _ in range(2):
        assert b"before: null" in (await browser.render(site.url("/"))).body


async def test_a_page_is_permitted_nothing(site: Any, open_browser: OpenBrowser) -> None:
    site.routes["/"] = app(
        "Promise.all(['geolocation', 'notifications', 'camera', 'microphone', 'clipboard-read', 'midi'].map("
        "name => navigator.permissions.query({name}).then(p => p.state))).then(s => root.textContent = s)")
    body = (await open_browser().render(site.url("/"))).body
    assert b"prompt" in body or b"denied" in body
    assert b"granted" not in body


@pytest.mark.parametrize(("reply", "failure", "reason"), [
    ((404, b"gone", {}), Permanent, "not found (HTTP 404)"),
    ((503, b"later", {"retry-after": "60"}), Transient, "the server is not available (HTTP 503)"),
    ((401, b"", {}), NeedsCredential, "a login is needed (HTTP 401)"),
    ((200, b"{}", {"content-type": "application/json"}), Permanent,
     "its content type is application/json, which is not a page"),
    ((200, b"PK", {"content-type": "application/zip"}), Permanent,
     "its content type is application/zip, which is not a page"),
    ((200, b"<p>x", {"content-disposition": "attachment"}), Permanent, "it is a download, not a page"),
    ((200, b"x" * 300_000, {}), Permanent, "it is larger than 200,000 bytes"),
])
async def test_what_is_no_good_page_fails_as_at_the_door(
    site: Any, open_browser: OpenBrowser, reply: Any, failure: type[StageError], reason: str
) -> None:
    site.routes["/"] = reply
    with pytest.raises(failure) as failed:
        await open_browser(html_bytes=200_000).render(site.url("/"))
    assert failed.value.reason == reason


@pytest.mark.parametrize("url", [
    "file:///etc/passwd", "chrome://version/", "data:text/html,x", "javascript:1", "about:blank",
    "view-source:http://a.example/", "http://127.0.0.2/", "http://localhost/", "http://10.0.0.1/",
])
async def test_an_unsafe_address_is_refused_before_a_browser_sees_it(
    url: str, open_browser: OpenBrowser
) -> None:
    with pytest.raises(Unsafe):
        await open_browser(where="/no/browser/here").render(url)


SCRIPTS_THAT_HURT = {
    "loops": ("for (;;);", Transient, "it took longer than 8 seconds"),
    "eats memory": ("a = []; for (i = 0; i < 60; i++) a.push(new Uint8Array(3e7).fill(1)); for (;;);",
                    Permanent, "rendering it needed more than 0.6 GB of memory"),
}


@pytest.mark.parametrize("what", SCRIPTS_THAT_HURT)
async def test_a_page_that_hurts_is_ended_and_the_next_is_read(
    what: str, site: Any, open_browser: OpenBrowser
) -> None:
    script, failure, reason = SCRIPTS_THAT_HURT[what]
    site.routes |= {"/bad": app(script), "/good": app("root.textContent = 'good'")}
    browser = open_browser(memory_bytes=600_000_000, seconds=8 if what == "loops" else 60)
    with pytest.raises(failure) as failed:
        await browser.render(site.url("/bad"))
    assert failed.value.reason == reason
    assert b"good" in (await open_browser().render(site.url("/good"))).body


async def test_a_browser_that_is_killed_is_started_again(site: Any, open_browser: OpenBrowser) -> None:
    site.routes |= {"/slow": app("setInterval(() => fetch('/'), 100)"), "/": app("root.textContent = 'good'")}
    browser = open_browser()
    rendering = asyncio.create_task(browser.render(site.url("/slow")))
    await asked(site)
    for process in browsers():
        with suppress(psutil.Error):
            process.kill()
    with pytest.raises(Transient, match="the browser could not show it: "):
        await rendering
    assert b"good" in (await browser.render(site.url("/"))).body


async def test_no_more_are_rendered_at_once_than_there_is_room_for(
    site: Any, open_browser: OpenBrowser
) -> None:
    together = []

    async def page(request: Any, writer: asyncio.StreamWriter) -> None:
        together.append(len([each for each in browsers() if "--type=gpu-process" in each.cmdline()]))
        writer.write(b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\n\r\n<p>Text.")

    site.routes = {f"/{number}": page for number in range(3)}
    browser = open_browser()
    await asyncio.gather(*(browser.render(site.url(f"/{number}")) for number in range(3)))
    assert together == [1, 1, 1]


async def asked(site: Any) -> None:
    """Wait until the site was asked for something."""
    async with asyncio.timeout(60):
        while not site.requests:  # noqa: ASYNC110 - the site is another test's tool too
            await asyncio.sleep(0.05)


async def hang(request: Any, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def test_closing_ends_a_visit_under_way(site: Any, open_browser: OpenBrowser) -> None:
    site.routes["/"] = hang
    browser = open_browser()
    rendering = asyncio.create_task(browser.render(site.url("/")))
    await asked(site)
    await asyncio.to_thread(browser.close)
    with pytest.raises(Transient, match="the browser is being stopped"):
        await rendering
    with pytest.raises(Transient, match="the browser is being stopped"):
        await browser.render(site.url("/"))


PARENT = """
import asyncio, sys
from tasks.web import chromium, guard_proxy
from tasks.web.browser import Browser
from tasks.web.policy import Policy
pair = sys.argv[1]
asyncio.run(Browser(Policy(pair), chromium.found()).render(f"http://{pair}/"))
"""


async def test_killing_almanac_leaves_no_browser(site: Any) -> None:
    site.routes["/"] = hang
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, site.pair)
    await asked(site)
    processes = browsers(parent.pid)
    parent.kill()
    await parent.wait()
    assert processes
    _, alive = await asyncio.to_thread(psutil.wait_procs, processes, 15)
    assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
def playwright_server(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    """The command of Playwright's server and its environment, in which our Chromium passes for its own."""
    driver = list(compute_driver_executable())
    environment = {**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    dry = subprocess.check_output([*driver, "install", "--dry-run", "chromium"], env=environment, text=True)
    for folder, place in re.findall(r"Install location: +(\S*/(chromium\S*)-\d+)", dry):
        name = {"chromium": "chrome-linux64/chrome"}.get(
            place, "chrome-headless-shell-linux64/chrome-headless-shell")
        there = Path(folder, name)
        there.parent.mkdir(parents=True)
        there.symlink_to(chromium.found() or "")
    return [*driver, "run-server", "--host", "127.0.0.1"], environment


@pytest.fixture
async def server(playwright_server: Any) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Starts Playwright's server, as a browser container does; gives its ws:// address."""
    command, environment = playwright_server
    started = []

    async def start(*options: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *command, *options, stdout=subprocess.PIPE, env=environment)
        started.append(process)
        assert process.stdout
        return (await process.stdout.readline()).decode().split()[-1]

    yield start
    for process in started:
        process.kill()
        await process.wait()


async def test_a_browser_server_renders_behind_the_same_proxy(
    site: Any, open_browser: OpenBrowser, server: Callable[..., Awaitable[str]]
) -> None:
    site.routes["/"] = app("root.textContent = 'good'")
    browser = open_browser(await server("--unsafe"))
    assert b"good" in (await browser.render(site.url("/"))).body
    assert site.requests[0].headers["connection"] == "close"  # the proxy's mark
    with pytest.raises(Unsafe):
        await browser.render(site.url("/", "127.0.0.2"))


async def test_a_browser_server_that_drops_our_switches_is_not_used(
    site: Any, open_browser: OpenBrowser, server: Callable[..., Awaitable[str]]
) -> None:
    browser = open_browser(await server())
    with pytest.raises(Transient, match=r"leaves out the switches .*: start it with --unsafe"):
        await browser.render(site.url("/"))
    assert site.requests == []


async def test_a_browser_server_that_is_away_is_tried_again_later(
    site: Any, open_browser: OpenBrowser
) -> None:
    with pytest.raises(Transient):
        await open_browser("ws://127.0.0.1:9/").render(site.url("/"))


async def test_a_page_that_loads_without_end_is_ended(
    site: Any, open_browser: OpenBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_proxy, "MOST_BYTES", 1_000_000)
    site.routes = {f"/{number}": (200, b"x" * 400_000, {}) for number in range(9)}
    site.routes["/"] = app("for (let n = 0; n < 9; n++) fetch('/' + n)")
    with pytest.raises(Permanent) as failed:
        await open_browser().render(site.url("/"))
    assert failed.value.reason == "its scripts load more than 1 MB"


async def test_half_a_character_does_not_cost_the_page(site: Any, open_browser: OpenBrowser) -> None:
    site.routes["/"] = app(r"root.textContent = 'good \ud83d end'")
    assert b"good" in (await open_browser().render(site.url("/"))).body


async def test_robots_txt_of_where_scripts_lead_has_a_say_in_what_is_read(
    site: Any, open_door: Any
) -> None:
    site.routes = {
        "/robots.txt": (200, b"User-agent: *\nDisallow: /private", {"connection": "close"}),
        "/app": app("location = '/private/a'"), "/private/a": app("root.innerHTML = '<p>Text'"),
        "/open": app("history.replaceState({}, '', '/open/b'); root.innerHTML = '<p>Text'"),
    }
    browser = Browser(Policy(site.pair), chromium.found() or "", admit=open_door(site.pair).admit)
    try:
        assert (await browser.render(site.url("/open"))).final_url == site.url("/open/b")
        with pytest.raises(Permanent, match="refuses this address"):
            await browser.render(site.url("/app"))
    finally:
        await asyncio.to_thread(browser.close)


async def test_a_route_in_the_fragment_is_rendered_and_stays_in_the_address(
    site: Any, open_browser: OpenBrowser
) -> None:
    site.routes = {"/": app("root.innerHTML = `<p>Page ${location.hash}`")}
    page = await open_browser().render(site.url("/#/post/2"))
    assert page.final_url == site.url("/#/post/2")
    assert b"Page #/post/2" in page.body
