"""Fixtures for tools of other servers."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tool_workshop import PATIENCE, Workshop, write_tools

from models.session import Database
from tasks.outside.tools.connection import Connection, Times
from tasks.outside.tools.executor import Executor
from tasks.outside.tools.toolbox import Curated, Toolbox
from tasks.outside.tools.transport import Streams, over_stdio
from tasks.web.background import Background

SERVER = Path(__file__).with_name("hostile_server.py")


@pytest.fixture
def workshop(db: Database, tmp_path: Path) -> Iterator[Callable[..., Workshop]]:
    """Starts the hostile server, or what ``opened`` opens; it offers what is listed, or ``first``."""
    loops = []

    def start(
        *tools: str, first: Mapping[str, Any] | None = None,
        opened: Callable[[], AbstractAsyncContextManager[Streams]] | None = None,
        seconds: float = PATIENCE, longest: int = 1000, refresh: float = 0.05,
    ) -> Workshop:
        write_tools(tmp_path, {tool: {} for tool in tools} if first is None else first)
        command = [sys.executable, "-S", str(SERVER), str(tmp_path / "tools"), str(tmp_path / "log")]
        connection = Connection("hostile", tools, opened or partial(over_stdio, command, {}),
                                Times(refresh, 0.05))
        loops.append(Background("test-tools"))
        toolbox = Toolbox(db, [Curated(connection, seconds, ask=True)], loops[-1])
        toolbox.start()
        return Workshop(toolbox, Executor(toolbox.tools, longest), tmp_path, loops[-1])

    yield start
    for loop in loops:
        loop.close()
