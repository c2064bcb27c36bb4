"""A Prefect server and an in-process worker, as tests want to use them."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from vacancy import free_port

from almanac.settings import Settings
from almanac.stack.parts import prefect_server_environment, shared_environment
from almanac.wiring import prefect_environment

FINAL: set[str | None] = {"completed", "failed", "cancelled", "crashed"}


def spec(flow: str, limit: int | None = None, **more: Any) -> dict[str, Any]:
    """A deployment of one of the sample flows, as prefect.yaml would have it."""
    limited = {"concurrency_limit": {"limit": limit, "collision_strategy": "CANCEL_NEW"}} if limit else {}
    entry = {"name": "library", "entrypoint": f"sample_flows:{flow}", "work_pool": {"name": "library"}}
    return entry | limited | more


async def until(done: Callable[[], Awaitable[bool]], seconds: float = 20) -> bool:
    """Whether it was done in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if await done():
            return True
        await asyncio.sleep(0.05)
    return False


class PrefectServer:
    """Prefect's server as the stack starts it."""

    def __init__(self, home: Path, database_url: str) -> None:
        settings = Settings(home=home, prefect_port=free_port())
        self.url = settings.prefect_api_url
        self.client_environment = shared_environment(settings) | prefect_environment(settings)
        self._environment = {
            **os.environ, **self.client_environment, **prefect_server_environment(settings, database_url),
            "ALMANAC_PREFECT_PORT": str(settings.prefect_port),
        }

    def start(self) -> None:
        command = [sys.executable, "-m", "almanac.stack.prefect_server"]
        self._process = subprocess.Popen(command, env=self._environment)
        deadline = time.monotonic() + 120
        while not self._answers():
            assert time.monotonic() < deadline, "the Prefect server does not answer"
            time.sleep(0.2)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False


class Worker:
    """An in-process worker that executes the given deployments."""

    def __init__(self, specs: list[dict[str, Any]]) -> None:
        from almanac.deployments import register
        from almanac.worker import WorkerThread

        self.thread = WorkerThread(lambda client: register(client, specs))
        self.runs = self.thread.runs
        self.thread.start()

    async def start(self, flow: str, **parameters: Any) -> UUID:
        await until(self._ready)
        return await self.runs.start(flow, parameters)

    async def _ready(self) -> bool:
        return self.thread.ready

    async def end_of(self, run: UUID, seconds: float = 20) -> str | None:
        """The state that the run ends in, or the one that it is in when time is up; None when it has gone."""
        return await self.reaches(run, FINAL | {None}, seconds)

    async def reaches(self, run: UUID, states: set[str | None], seconds: float = 20) -> str | None:
        async def there() -> bool:
            return await self.runs.state(run) in states

        await until(there, seconds)
        return await self.runs.state(run)
