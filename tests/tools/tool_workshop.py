"""A toolbox with the hostile server in it, and what a test does with it."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from models.session import Database
from tasks.outside.tools.connection import Connection, Times
from tasks.outside.tools.executor import Budget, Executor
from tasks.outside.tools.toolbox import Curated, Toolbox
from tasks.outside.tools.transport import Streams, over_stdio
from tasks.ports import ToolSaid
from tasks.web.background import Background

SERVER = Path(__file__).with_name("hostile_server.py")
ANY = {"type": "object"}
PATIENCE = 30.0  # seconds, on a slow machine


@dataclass
class Workshop:
    """What a test has in hand: the toolbox, an executor, and the server's own files."""

    toolbox: Toolbox
    executor: Executor
    folder: Path
    loop: Background
    turn: Budget = field(default_factory=lambda: Budget("a test", 100))

    def offer(self, **tools: Mapping[str, Any]) -> None:
        write_tools(self.folder, tools)

    def close(self) -> None:
        self.loop.close()

    @property
    def called(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().split() if log.exists() else []

    def states(self) -> dict[str, str]:
        [server] = self.toolbox.told()
        return {tool["name"].partition("__")[2]: tool["state"] for tool in server["tools"]}

    def wait_for(self, what: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not what():
            assert time.monotonic() < until, self.toolbox.told()
            time.sleep(0.01)

    def wait_until_offered(self, tool: str) -> None:
        self.wait_for(lambda: self.states()[tool] == "offered")

    async def use(self, tool: str, **arguments: Any) -> ToolSaid:
        return await self.executor.call(f"hostile__{tool}", arguments, self.turn)


def write_tools(folder: Path, tools: Mapping[str, Mapping[str, Any]]) -> None:
    listed = [{"name": name, "description": name, "inputSchema": ANY, **tool} for name, tool in tools.items()]
    new = folder / "new"
    new.write_text(json.dumps(listed))
    new.replace(folder / "tools")


@pytest.fixture
def workshop(db: Database, tmp_path: Path) -> Iterator[Callable[..., Workshop]]:
    """Starts the hostile server, or what ``opened`` opens; it offers what is listed, or ``first``."""
    loops = []

    def start(
        *tools: str, first: Mapping[str, Any] | None = None,
        opened: Callable[[], AbstractAsyncContextManager[Streams]] | None = None,
        seconds: float = PATIENCE, longest: int = 1000, refresh: float = 0.05, secrets: Sequence[str] = (),
    ) -> Workshop:
        write_tools(tmp_path, {tool: {} for tool in tools} if first is None else first)
        command = [sys.executable, "-S", str(SERVER), str(tmp_path / "tools"), str(tmp_path / "log")]
        connection = Connection("hostile", tools, opened or partial(over_stdio, command, {}),
                                Times(refresh, 0.05), secrets)
        loops.append(Background("test-tools"))
        toolbox = Toolbox(db, [Curated(connection, seconds, ask=True)], loops[-1])
        toolbox.start()
        return Workshop(toolbox, Executor(toolbox.tools, longest), tmp_path, loops[-1])

    yield start
    for loop in loops:
        loop.close()
