"""The browser's tools, each use judged: the addresses it is given before, and where it stands after."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from models.addresses import Address
from tasks.errors import Permanent, StageError, Unsafe
from tasks.ports import ToolSaid, ToolServer
from tasks.web.assistant_browser import AssistantBrowser
from tasks.web.policy import REMEDY

NAVIGATE, SNAPSHOT, CLOSE = "browser_navigate", "browser_snapshot", "browser_close"
BY_DEFAULT = (NAVIGATE, "browser_navigate_back", SNAPSHOT, "browser_click", "browser_wait_for")
BLANK = "about:blank"
PAGE = "### Page"
PLACE = re.compile(r"^- Page URL: (.+)$", re.MULTILINE)
FAILED_PAGE = "chrome-error:"
TO_FILES = {"filename", "paths"}  # of this machine


class GuardedTools:
    """Implements ports.ToolServer. One call at a time, and one caller: another one gets a new profile."""

    def __init__(self, inside: ToolServer, browser: AssistantBrowser) -> None:
        self.name = inside.name
        self._inside, self._browser = inside, browser
        self._turn = asyncio.Lock()
        self._caller: str | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any], caller: str) -> ToolSaid:
        async with self._turn:
            await self._judge(arguments)
            if caller != self._caller:
                await self._ask(CLOSE)
                self._caller = caller
            self._browser.proxy.renew()
            said = await self._ask(tool, **arguments)
            seen = said if tool == SNAPSHOT else await self._ask(SNAPSHOT)
            await self._judge_places(seen)
            if said is seen or said.failed:
                return said
            return ToolSaid(said.text.partition(PAGE)[0] + seen.text)

    async def _judge(self, arguments: Mapping[str, Any]) -> None:
        for name, value in leaves(arguments):
            if "url" in name.lower():
                await self._judge_address(value)
            elif name in TO_FILES:
                raise Permanent(f"no file of this machine is read or written for it: leave out {name}")

    async def _judge_address(self, url: object) -> None:
        """Raises Unsafe, Transient for a name that leads nowhere."""
        try:
            address = Address.parse(url if isinstance(url, str) else "")
        except ValueError as error:
            raise Unsafe(f"a url must be a public http or https address: {error}") from error
        try:
            await self._browser.backend.addresses(address.host, address.port)
        except Unsafe as error:
            raise Unsafe(reason_of(error)) from error

    async def _judge_places(self, seen: ToolSaid) -> None:
        """Have it leave where it may not stand, and say so. Raises StageErrors."""
        places = PLACE.findall(seen.text)
        try:
            for place in places:
                await self._judge_place(place)
            if self._browser.proxy.overrun:
                raise self._browser.proxy.overrun
        except Unsafe as error:
            left = await self._leave()
            raise Unsafe(f"the page led to where it may not, {left}: {reason_of(error)}") from error
        except StageError as error:
            left = await self._leave()
            raise Permanent(f"the page could not be loaded, {left}: {error.reason}") from error
        if not places and not seen.failed:
            await self._ask(CLOSE)
            raise Permanent("where the browser stands is not known: it was closed")

    async def _judge_place(self, place: str) -> None:
        if place == BLANK:
            return
        if place.startswith(FAILED_PAGE):
            refusals = sorted(self._browser.proxy.refused.values(), key=lambda it: not isinstance(it, Unsafe))
            raise next(iter(refusals), Permanent("the browser says so"))
        await self._judge_address(place)

    async def _leave(self) -> str:
        """Where the browser is then."""
        await self._ask(NAVIGATE, url=BLANK)
        seen = await self._ask(SNAPSHOT)
        if set(PLACE.findall(seen.text)) == {BLANK}:
            return f"and the browser was sent to {BLANK}"
        await self._ask(CLOSE)
        return "and the browser was closed"

    async def _ask(self, tool: str, **arguments: Any) -> ToolSaid:
        return await self._inside.call(tool, arguments, self._caller or "")


def reason_of(error: Unsafe) -> str:
    """Without the remedy that the library has, and this browser not: it is for public addresses only."""
    return error.reason.removesuffix(REMEDY)


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that holds no others, under the name that it stands below, however deep."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from leaves(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, name)
    else:
        yield name, value
