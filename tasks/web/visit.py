"""One visit of a browser to one page, bounded in time and memory; its process never outlives it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from playwright.async_api import Browser as Process
from playwright.async_api import Error, Page, Playwright, Request, Response
from playwright.async_api import TimeoutError as PlaywrightTimeout

from tasks.ports import Wanted
from tasks.web import chromium
from tasks.web.failures import Content, of_content, of_status
from tasks.web.media import check_declared
from tasks.web.statuses import GOOD

WATCH = 0.5  # seconds between two looks at the memory
QUIET = 5.0  # seconds that a page may go on loading after it is there
TO_CLOSE = 5.0  # seconds, before it is killed
SETTLINGS = 3  # times that a page may lead on to another

# What Playwright says where it has no class for it.
DOWNLOAD = "Download is starting"
LEADING_ON = "page is navigating"


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float = 45.0  # of a visit, its start and end included
    memory_bytes: int = 1_500_000_000  # of all processes of a local browser
    html_bytes: int = 10_000_000


class Visit:
    """Reads one page through the proxy at ``way_out``."""

    def __init__(self, where: str, way_out: str, product: str, limits: Limits) -> None:
        self._where = where
        self._way_out = way_out
        self._product = product
        self._limits = limits
        self._mark = f"{product} {uuid4().hex}"
        self._overgrown = False
        self._answered: Response | None = None
        self.asked = ""  # the address that the page itself was last led to

    async def read(self, playwright: Playwright, url: str) -> tuple[str, str]:
        """Where the page came to stand, and its HTML. Raises StageErrors."""
        try:
            async with asyncio.timeout(self._limits.seconds), self._browser(playwright) as browser:
                return await self._read(browser, url)
        except TimeoutError as error:
            raise of_content(Content.TOO_LATE, seconds=self._limits.seconds) from error
        except Error as error:
            if self._overgrown:
                limit = self._limits.memory_bytes / 1e9
                raise of_content(Content.TOO_MUCH_MEMORY, limit=limit) from error
            if self._answered:
                check(self._answered)  # an error without a body is an error of the browser's
            if DOWNLOAD in error.message:
                raise of_content(Content.DOWNLOAD) from error
            raise of_content(Content.NOT_SHOWN, why=first_line(error)) from error

    async def _read(self, browser: Process, url: str) -> tuple[str, str]:
        context = await browser.new_context(
            accept_downloads=False, service_workers="block",
            user_agent=chromium.called(browser.version, self._product),
        )
        await context.add_init_script(chromium.SIDE_DOORS)
        page = await context.new_page()
        page.on("request", self._follow)
        page.on("response", self._note)
        check(await page.goto(url, wait_until="domcontentloaded", timeout=0))
        html = await settled(page)
        if len(html) > self._limits.html_bytes:
            raise of_content(Content.TOO_LARGE, limit=self._limits.html_bytes)
        return page.url, html

    def _follow(self, request: Request) -> None:
        if request.is_navigation_request() and is_of_page(request):
            self.asked = request.url

    def _note(self, response: Response) -> None:
        if response.request.is_navigation_request() and is_of_page(response.request):
            self._answered = response

    @asynccontextmanager
    async def _browser(self, playwright: Playwright) -> AsyncIterator[Process]:
        """A browser that is gone afterwards, whatever state it is in."""
        watching = asyncio.create_task(self._watch())
        try:
            browser = await self._launch(playwright)
            try:
                yield browser
            finally:
                chromium.kill(self._mark)
                with suppress(Error, TimeoutError):
                    async with asyncio.timeout(TO_CLOSE):
                        await browser.close()
        finally:
            watching.cancel()
            chromium.kill(self._mark)

    async def _launch(self, playwright: Playwright) -> Process:
        timeout = self._limits.seconds * 1000
        arguments = list(chromium.switches(self._way_out, self._mark))
        if not self._where.startswith(("ws://", "wss://")):
            return await playwright.chromium.launch(
                executable_path=self._where, args=arguments, ignore_default_args=list(chromium.NOT_WANTED),
                chromium_sandbox=chromium.may_be_sandboxed(), env=dict(chromium.ENVIRONMENT),
                timeout=timeout,
            )
        options = json.dumps({"args": arguments, "ignoreDefaultArgs": list(chromium.NOT_WANTED)})
        browser = await playwright.chromium.connect(self._where, timeout=timeout, headers={
            "x-playwright-browser": "chromium", "x-playwright-launch-options": options})
        await self._check_switches(browser)
        return browser

    async def _check_switches(self, browser: Process) -> None:
        """A server may leave our switches out, and a browser would then go around the proxy."""
        page = await browser.new_page()
        if await page.evaluate("navigator.userAgent") != self._mark:
            await browser.close()
            raise of_content(Content.BROWSER_ASTRAY)
        await page.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH)
            if chromium.memory(self._mark) > self._limits.memory_bytes:
                self._overgrown = True
                chromium.kill(self._mark)


def is_of_page(request: Request) -> bool:
    """Whether it is for the page and not for a frame in it."""
    try:
        return request.frame.parent_frame is None
    except Error:  # there is no frame yet: it is the page's
        return True


def check(response: Response | None) -> None:
    """Refuse what is no good page, as the door does. Raises StageErrors."""
    if response is None:
        raise of_content(Content.LED_ON)
    if response.status not in GOOD:
        raise of_status(response.status, response.headers, datetime.now(UTC))
    check_declared(Wanted.PAGE, response.headers.get("content-type", ""))


async def settled(page: Page) -> str:
    """The HTML once the page has loaded what it wanted, or has had its time for that."""
    for _ in range(SETTLINGS):
        with suppress(PlaywrightTimeout):
            await page.wait_for_load_state("networkidle", timeout=QUIET * 1000)
        try:
            return await page.content()
        except Error as error:
            if LEADING_ON not in error.message:
                raise
    raise of_content(Content.LED_ON)


def first_line(error: Error) -> str:
    return error.message.partition("\n")[0].removeprefix("Page.goto: ")
