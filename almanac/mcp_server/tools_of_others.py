"""Tools of other servers, handed on to assistants as they were accepted; the library uses them for them."""

from collections.abc import Callable, Sequence
from typing import Any

from fastmcp.server.providers import Provider
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from fastmcp.utilities.versions import VersionSpec
from mcp_types import ToolAnnotations
from pydantic import PrivateAttr

from almanac.mcp_server.desk import Json, Refusal
from tasks.outside.tools.servers import SEPARATOR

STRANGE = ToolAnnotations(readOnlyHint=False, openWorldHint=True)


class ToolsOfOthers(Provider):
    """What the caller's desk tells of tools, at each moment."""

    def __init__(self, at_desk: Callable[..., Any], look: Callable[[], Any]) -> None:
        """``look`` is a desk whose use counts as no call."""
        super().__init__()
        self._at_desk, self._look = at_desk, look

    async def _list_tools(self) -> Sequence[Tool]:
        try:
            told = await (await self._look()).tools()
        except Refusal:  # our own say why
            return []
        return [HandedOn.of(tool, self._at_desk) for tool in told]

    async def _get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        if SEPARATOR not in name:  # one of ours
            return None
        return next((tool for tool in await self._list_tools() if tool.name == name), None)


class HandedOn(Tool):
    _at_desk: Any = PrivateAttr()

    @classmethod
    def of(cls, told: Json, at_desk: Callable[..., Any]) -> "HandedOn":
        tool = cls(name=told["name"], description=told["description"], parameters=told["schema"],
                   annotations=STRANGE)
        tool._at_desk = at_desk
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        async with self._at_desk(None) as desk:  # the executor has their limits
            said = await desk.use_tool(self.name, arguments)
        return ToolResult(content=said["text"], is_error=said["failed"])
