"""A browser for assistants: ``@playwright/mcp`` behind the guard proxy, with a profile that is never written.

What it may do is for the tools that are listed of it; what it reaches is for the proxy, whatever a page does.
"""

import asyncio
import json
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from tasks.errors import Transient
from tasks.web import chromium
from tasks.web.dialling import GuardedBackend, Resolver, look_up
from tasks.web.guard_proxy import GuardProxy
from tasks.web.policy import Policy

PROGRAM = "playwright-mcp"
BESIDE_US = Path(sys.prefix) / "node" / "node_modules" / ".bin"  # where `make browser` puts it
LOCAL = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - of a container's own networks; the proxy serves the browser alone
PROXY_PORT = 8430  # in the network that the containers of the library and the browser share
MEMORY_BYTES = 1_500_000_000
WATCH = 2.0  # seconds between two looks at the memory
IDLE = 300_000  # milliseconds without a call, after which the browser ends until the next one
SCRIPT = "page.js"  # which runs before a page's own
ONE_WINDOW = "--block-new-web-contents"
# No dialog that would hold the browser; what a click would open in a window of its own opens in this one.
QUIET = """
for (const name of ["alert", "confirm", "prompt", "print"]) globalThis[name] = () => {};
globalThis.open = address => { if (navigator.userActivation.isActive) location = address; return null; };
addEventListener("click", event => {
  const link = event.target.closest?.("a[target]");
  if (link) link.target = "_self";
}, true);
"""

T = TypeVar("T")
Json = dict[str, Any]


def program() -> str | None:
    """The path of @playwright/mcp, where it is installed and there is a Chromium for it."""
    found = shutil.which(PROGRAM, path=BESIDE_US) or shutil.which(PROGRAM)
    return found if found and shutil.which("node") and chromium.found() else None


class AssistantBrowser:
    """The surroundings of the one browser. Belongs to the event loop that it is opened in."""

    def __init__(self, policy: Policy, product: str, resolver: Resolver | None = None) -> None:
        self.backend = GuardedBackend(policy, resolver)
        self._product = product
        self._clients: set[str] = {LOCAL}
        self.proxy = GuardProxy(self.backend, self._clients)

    @asynccontextmanager
    async def local(
        self, start: Callable[[Sequence[str], Mapping[str, str], str], AbstractAsyncContextManager[T]]
    ) -> AsyncIterator[T]:
        """What ``start`` gives for the command, environment and folder of a server of this machine."""
        command, where = program(), chromium.found()
        if command is None or where is None:
            raise Transient(f"there is no {PROGRAM} with a Chromium here: `make browser` installs it")
        mark = f"{self._product} {uuid4().hex}"
        agent = chromium.called(await version_of(where), self._product)
        with TemporaryDirectory(prefix="almanac-browser-") as folder:
            async with self.proxy.open() as way_out:
                launch = configuration(way_out, mark, agent, where, chromium.may_be_sandboxed())
                (Path(folder) / "config.json").write_text(json.dumps(launch))
                (Path(folder) / SCRIPT).write_text(page_script())
                watching = asyncio.create_task(watch(mark))
                try:
                    async with start([command, "--config", "config.json"], {"HOME": folder}, folder) as made:
                        yield made
                finally:
                    watching.cancel()
                    chromium.kill(mark)

    @asynccontextmanager
    async def remote(
        self, url: str, start: Callable[[str, Mapping[str, str]], AbstractAsyncContextManager[T]]
    ) -> AsyncIterator[T]:
        """The same of a server in a container, whose only way out is our proxy (docker/compose.yaml)."""
        host, port = urlsplit(url).hostname or "", urlsplit(url).port or 80
        try:
            self._clients |= set(await look_up(host, port))
            async with self.proxy.open(EVERYWHERE, PROXY_PORT), start(url, {}) as made:
                yield made
        except OSError as error:
            raise Transient(f"the browser's container cannot be reached ({error.strerror})") from error


def page_script() -> str:
    return chromium.SIDE_DOORS + QUIET


def configuration(way_out: str, mark: str, agent: str, where: str, sandbox: bool) -> Json:
    """The server's configuration file: nothing on disk that is not asked for, nothing around the proxy."""
    return {
        "browser": {
            "browserName": "chromium",
            "isolated": True,  # the profile is in memory
            "launchOptions": {
                "headless": True, "executablePath": where, "chromiumSandbox": sandbox,
                "args": [*chromium.switches(way_out, mark), ONE_WINDOW],
                "ignoreDefaultArgs": list(chromium.NOT_WANTED), "env": dict(chromium.ENVIRONMENT),
            },
            "contextOptions": {"acceptDownloads": False, "serviceWorkers": "block", "userAgent": agent},
            "initScript": [SCRIPT],
        },
        "webmcp": False,
        "codegen": "none",
        "imageResponses": "omit",
        "outputDir": "output",
        "outputMaxSize": 1_000_000,
        "snapshot": {"mode": "none"},  # it is asked for after each call: see guarded_tools.py
        "timeouts": {"idle": IDLE, "navigation": 20_000},
    }


async def version_of(where: str) -> str:
    process = await asyncio.create_subprocess_exec(
        where, "--version", stdout=PIPE, stderr=DEVNULL, env=dict(chromium.ENVIRONMENT))
    said, _ = await process.communicate()
    return next((word for word in said.decode(errors="replace").split() if word[:1].isdigit()), "")


async def watch(mark: str) -> None:
    """End a browser that takes too much; the next call starts another."""
    while True:
        await asyncio.sleep(WATCH)
        if chromium.memory(mark) > MEMORY_BYTES:
            chromium.kill(mark)
