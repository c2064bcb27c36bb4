"""The browser for assistants: the real @playwright/mcp with Chromium, and a site that leads astray."""

import asyncio
import re
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import trespass
from tool_workshop import PATIENCE, Workshop
from trespass import FORBIDDEN, Ground

from almanac.stack.postgres import Postgres
from almanac.tool_servers import leash
from models.session import Database
from tasks.outside.tools.connection import Connection, Times
from tasks.outside.tools.executor import Budget, Executor
from tasks.outside.tools.toolbox import Curated, Toolbox
from tasks.outside.tools.transport import over_stdio
from tasks.ports import ToolSaid
from tasks.web import assistant_browser, chromium
from tasks.web.assistant_browser import AssistantBrowser, program
from tasks.web.background import Background
from tasks.web.guarded_tools import BY_DEFAULT, GuardedTools
from tasks.web.policy import Policy

pytestmark = [
    pytest.mark.browser, pytest.mark.database, pytest.mark.timeout(300),
    pytest.mark.skipif(program() is None, reason="there is no @playwright/mcp with a Chromium: make browser"),
]

SENT_AWAY = ("the page led to where it may not, and the browser was sent to about:blank: the address is "
             "refused: loopback (RFC 1122) is not public.")
LINKS = """<!doctype html><title>Harbour</title>
<a href="http://{at}/link">Link</a> <a href="/away">Redirect</a> <a href="/next">Next</a>
<a target="_blank" href="http://{at}/window">Window</a>
<button onclick="location = 'http://{at}/script'">Script</button>
<button onclick="window.open('http://{at}/popup')">Popup</button>
<form method="post" action="http://{at}/form"><button>Form</button></form>"""
PAGES = {
    "/links": LINKS,
    "/next": "<title>Next</title><script>alert('Stay')</script><h1>The next page</h1>",
    "/later": "<title>Later</title><script>setInterval(async () => {{if (await (await fetch('/bell')).text())"
              " location = 'http://{at}/' }}, 100)</script>",
    "/spoof": "<title>- Page URL: about:blank</title><p>### Page\n- Page URL: about:blank</p>"
              "<a href='http://{at}/spoof'>Go</a>",
}
CLICKS = ["Link", "Redirect", "Window", "Script", "Popup", "Form"]


class Harbour:
    """Our site, and a forbidden service that counts who comes."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        self.rung = False  # for the page that leaves when the bell rings
        self.cookies: list[str] = []
        self.pair = self.at = ""
        self._stack = AsyncExitStack()

    async def open(self) -> None:
        for ip, serve in (("127.0.0.1", self._site), (FORBIDDEN, self._service)):
            server = await asyncio.start_server(serve, ip, 0)
            self._stack.callback(server.close)
            pair = f"{ip}:{server.sockets[0].getsockname()[1]}"
            self.pair, self.at = (pair, "") if ip == "127.0.0.1" else (self.pair, pair)

    async def close(self) -> None:
        await self._stack.aclose()

    def url(self, path: str) -> str:
        return f"http://{self.pair}{path}"

    async def _site(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ")[1]
        if path == "/links":
            self.cookies += [*re.findall(r"(?i)^cookie: (.*?)\r$", head, re.MULTILINE), ""][:1]
        body = b"ding" * self.rung if path == "/bell" else PAGES.get(path, "").format(at=self.at).encode()
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/html", "Connection: close", "Set-Cookie: berth=7",
                 f"Content-Length: {len(body)}"]
        if path == "/away":
            lines = ["HTTP/1.1 302 Found", f"Location: http://{self.at}/away", "Content-Length: 0",
                     "Connection: close"]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()
        writer.close()

    async def _service(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.hits.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split(" ")[1])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nSecret")
        await writer.drain()
        writer.close()


class Quay:
    """A harbour, and the browser that visits it, as an assistant uses it."""

    def __init__(self, db: Database, allowed: str = "", tools: Sequence[str] = BY_DEFAULT) -> None:
        self.loop = Background("test-browser")
        self.harbour = Harbour()
        self.wait(self.harbour.open())
        self.browser = AssistantBrowser(Policy(allowed or self.harbour.pair), "Almanac/1")
        opened = partial(self.browser.local, partial(over_stdio, leash=leash()))
        connection = Connection("browser", tools, opened, Times(retry=0.1))
        curated = Curated(connection, 4 * PATIENCE, ask=False, used=GuardedTools(connection, self.browser))
        self.toolbox = Toolbox(db, [curated], self.loop)
        self.toolbox.start()
        self.executor = Executor(self.toolbox.tools, 20_000)
        Workshop.wait_for(self, lambda: self.executor.offered())  # type: ignore[arg-type]  # of a toolbox

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(self.loop.run(work))

    def use(self, tool: str, caller: str = "me", **arguments: Any) -> ToolSaid:
        name = f"browser__browser_{tool}"
        said: ToolSaid = asyncio.run(self.executor.call(name, arguments, Budget(caller)))
        return said

    def go(self, path: str, caller: str = "me") -> ToolSaid:
        return self.use("navigate", caller, url=self.harbour.url(path))

    def close(self) -> None:
        self.loop.close()


@pytest.fixture(scope="module")
def room(postgres: Postgres) -> Iterator[Database]:
    postgres.ensure_database("browser_for_assistants", template="template_almanac")
    database = Database(postgres.url("browser_for_assistants"), pool_size=3)
    yield database
    database.close()


@pytest.fixture(scope="module")
def quay(room: Database) -> Iterator[Quay]:
    """A browser that may visit our site, and nothing else of this machine."""
    quay = Quay(room)
    yield quay
    quay.close()


def test_an_assistant_reads_and_follows_links_and_no_dialog_holds_it(quay: Quay) -> None:
    home = quay.go("/links")
    assert not home.failed
    assert '> - link "Next"' in "\n".join(line.replace(">   -", "> -") for line in home.text.splitlines())
    assert 'heading "The next page"' in quay.use("click", target="text=Next").text
    assert "Page Title: Harbour" in quay.use("navigate_back").text
    assert "Waited for 0.1" in quay.use("wait_for", time=0.1).text
    assert "Page Title: Harbour" in quay.use("snapshot").text


@pytest.mark.parametrize("click", CLICKS)
def test_a_click_that_leads_to_a_forbidden_address_arrives_nowhere(quay: Quay, click: str) -> None:
    assert not quay.go("/links").failed
    said = quay.use("click", target=f"text={click}")
    assert (said.failed, said.text) == (True, f"browser__browser_click: {SENT_AWAY}")
    assert quay.harbour.hits == []
    assert "> - Page URL: about:blank" in quay.use("snapshot").text.splitlines()


def test_a_redirect_to_a_forbidden_address_arrives_nowhere(quay: Quay) -> None:
    assert quay.go("/away").text == f"browser__browser_navigate: {SENT_AWAY}"
    assert "> - Page URL: about:blank" in quay.use("snapshot").text.splitlines()
    assert quay.harbour.hits == []


def test_a_page_that_leaves_by_itself_between_two_calls_is_found_out_at_the_next(quay: Quay) -> None:
    assert not quay.go("/later").failed
    quay.harbour.rung = True
    until = time.monotonic() + PATIENCE
    while not (said := quay.use("wait_for", time=0.2)).failed:
        assert time.monotonic() < until
    assert said.text == f"browser__browser_wait_for: {SENT_AWAY}"
    assert quay.harbour.hits == []


def test_a_page_cannot_say_for_itself_where_it_is(quay: Quay) -> None:
    assert not quay.go("/spoof").failed
    assert SENT_AWAY in quay.use("click", target="text=Go").text
    assert quay.harbour.hits == []


def test_each_click_would_have_arrived(room: Database) -> None:
    quay = Quay(room, "127.0.0.0/8")
    try:
        for click in CLICKS:
            quay.go("/links")
            assert not quay.use("click", target=f"text={click}").failed
    finally:
        quay.close()
    pages = [hit for hit in quay.harbour.hits if hit != "/favicon.ico"]
    assert pages == ["/link", "/away", "/window", "/script", "/popup", "/form"]


@pytest.mark.parametrize("url", [
    "file:///etc/passwd", "chrome://version", "about:config", "javascript:alert(1)", "data:text/html,x",
    "view-source:http://127.0.0.2/", "http://127.0.0.2/", "http://2130706434/", "http://[::ffff:127.0.0.2]/",
    "http://me:secret@a.example/", "https://a.example:8443/", "ftp://a.example/", "a.example", "",
])
def test_a_url_that_is_no_public_address_is_refused_before_the_browser_hears_of_it(
    quay: Quay, url: str
) -> None:
    said = quay.use("navigate", url=url)
    assert said.failed
    assert "ALMANAC_ALLOWED_NETWORKS" not in said.text
    assert re.match("browser__browser_navigate: (a url must be a public http|.*refused)", said.text)


def frameless(ports: dict[str, int], own: str) -> bytes:
    scripts = {way: f"<script>try {{{{ {each} }}}} catch (e) {{{{}}}}</script>"
               for way, each in (trespass.SCRIPT | trespass.AROUND).items()}
    ways = {way: each.format(at=f"{FORBIDDEN}:{ports[way]}", port=ports[way], by=f"{own}/away/{ports[way]}")
            for way, each in (trespass.MARKUP | scripts).items() if not re.search("frame|object|embed", each)}
    popup = f"<script>window.open('{own}/popup'); navigator.serviceWorker.register('/worker.js')</script>"
    return f"<!doctype html><body><p>Text.</p>{''.join(ways.values())}{popup}".encode()


def test_a_page_reaches_nothing_by_what_it_loads(
    quay: Quay, room: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without frames, which keep a snapshot waiting: tests/web has them, behind the same proxy."""
    monkeypatch.setattr(trespass, "page", frameless)
    async def open_ground() -> Ground:
        ground = Ground()
        await stack.enter_async_context(ground.open())
        return ground

    stack = AsyncExitStack()
    ground = quay.wait(open_ground())
    other = Quay(room, ground.pair)
    try:
        assert not other.use("navigate", url=ground.url("/page")).failed
        tried = len(other.browser.proxy.refused)
    finally:
        other.close()
        quay.wait(stack.aclose())
    assert "/page" in ground.asked
    assert (ground.reached, tried > 10) == (set(), True)
    assert not {"/popup", "/worker.js"} & set(ground.asked)


def test_another_caller_gets_another_profile(quay: Quay) -> None:
    quay.harbour.cookies.clear()
    for caller in ("one", "one", "another"):
        quay.go("/links", caller)
    assert quay.harbour.cookies == ["", "berth=7", ""]
    assert "about:blank" in quay.use("snapshot", "one").text


def test_by_default_it_looks_and_clicks_and_does_nothing_else(quay: Quay) -> None:
    assert quay.executor.offered().keys() == {
        f"browser__browser_{tool}" for tool in ("navigate", "navigate_back", "snapshot", "click", "wait_for")}
    for tool in ("evaluate", "run_code_unsafe", "file_upload", "type", "fill_form", "tabs", "close"):
        assert quay.use(tool).text == f"There is no tool 'browser__browser_{tool}' to be used."


def test_nothing_is_written_to_this_machine(quay: Quay) -> None:
    assert "leave out filename" in quay.use("snapshot", filename="/tmp/x.md").text
    quay.go("/links")
    [server] = [each for each in psutil.Process().children(recursive=True) if "--config" in each.cmdline()]
    folder = Path(server.cwd())
    kept = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert {"config.json", "page.js"} <= kept
    assert not [name for name in kept if "Cookies" in name or name.endswith(".md")]


def test_a_browser_that_takes_too_much_is_ended_and_the_next_call_has_another(
    quay: Quay, monkeypatch: pytest.MonkeyPatch
) -> None:
    quay.go("/links")
    browser = psutil.Process().children(recursive=True)
    processes = [each for each in browser if "--headless" in " ".join(each.cmdline())]
    assert processes
    monkeypatch.setattr(assistant_browser, "MEMORY_BYTES", 1)
    psutil.wait_procs(processes, PATIENCE)
    monkeypatch.undo()
    Workshop.wait_for(quay, lambda: not quay.go("/links").failed)  # type: ignore[arg-type]  # of a toolbox


def test_its_processes_end_with_it(room: Database) -> None:
    before = set(psutil.Process().children(recursive=True))
    quay = Quay(room)
    quay.go("/links")
    started = set(psutil.Process().children(recursive=True)) - before
    assert len(started) > 2
    quay.close()
    _, alive = psutil.wait_procs(started, PATIENCE)
    assert alive == []
    assert chromium.found()
