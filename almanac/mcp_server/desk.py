"""What the tools ask of the library, in this process or another; answers are those of the HTTP API."""

from typing import Any, Protocol

Json = dict[str, Any]
STATUS = ("status", "parts", "version", "queues")  # what of /v1/system is for assistants


class Refusal(Exception):
    """The library said no; the message is one sentence that says what was wrong and what to do."""


class Desk(Protocol):
    """The library as one caller sees it. Each method raises Refusal."""

    caller: str  # told apart from others; nothing that anybody could sign in with

    async def search(self, query: str, previous: str | None, k: int, budget_tokens: int | None) -> Json: ...

    async def document(self, document_id: str) -> Json: ...

    async def keep(self, handed: Json) -> Json: ...

    async def sources(self) -> list[Json]: ...

    async def status(self) -> Json: ...

    async def tools(self) -> list[Json]:
        """Those of other servers that the caller may use: ``name``, ``description`` and ``schema``."""
        ...

    async def use_tool(self, name: str, arguments: Json) -> Json:
        """The ``text`` of what came of it, marked as data, and whether it ``failed``."""
        ...
