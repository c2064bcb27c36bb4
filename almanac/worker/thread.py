"""The worker as the library process holds it: in a thread, and started again when it fails."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from threading import Thread
from typing import Any, TypeVar, cast
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client

from almanac.deployments import ASKED, LIBRARY
from almanac.worker.pool import STOP_SECONDS, InProcessWorker
from tasks.errors import Transient

log = logging.getLogger(__name__)
T = TypeVar("T")

RETRY_SECONDS = 1.0
ANSWER_SECONDS = 15.0  # for Prefect to answer somebody who waits
NAMING = {"source_ids", "document_ids"}


class WorkerThread:
    """The worker in a thread of its own: it and HTTP never wait for each other."""

    def __init__(
        self, register: Callable[[PrefectClient], Awaitable[object]],
        may_begin: Callable[[], object] = lambda: None,  # blocks until runs may
    ) -> None:
        self.runs = Runs(self)
        self._register, self._may_begin = register, may_begin
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), name="worker", daemon=True)
        self._worker: InProcessWorker | None = None
        self._stopping = False

    @property
    def ready(self) -> bool:
        return self._worker is not None and self._worker.is_setup

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the worker and what it executes; returns when both have ended, or time is up."""
        self._stopping = True
        if self._worker:
            self._loop.call_soon_threadsafe(self._worker.stop)
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS + 3)

    async def call(self, ask: Callable[[InProcessWorker], Coroutine[Any, Any, T]]) -> T:
        """What the worker answers, from any event loop. Raises Transient while Prefect is away."""
        if not self.ready:
            raise Transient("Prefect is not ready yet: try again in a minute")
        asked = asyncio.run_coroutine_threadsafe(ask(cast(InProcessWorker, self._worker)), self._loop)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.wrap_future(asked)
        except Exception as error:
            raise Transient(f"Prefect does not answer: {error or type(error).__name__}") from error

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        while not self._stopping:
            try:
                async with get_client() as client:
                    if await client.api_healthcheck() is None:
                        await self._register(client)
                        await asyncio.to_thread(self._may_begin)
                        if not self._stopping:
                            self._worker = InProcessWorker()
                            await self._worker.serve()
            except Exception:
                log.exception("The worker failed, and starts again")
            if not self._stopping:
                await asyncio.sleep(RETRY_SECONDS)


class Runs:
    """Starts flows on the worker and says how they are doing, as the API asks of it."""

    def __init__(self, thread: WorkerThread) -> None:
        self._thread = thread

    async def start(self, flow: str, parameters: dict[str, Any]) -> UUID:
        """Start a run of ``flow`` now; its id. Raises Transient when that cannot be.

        One that names its sources or documents waits for nobody; another, for the run before it.
        """
        deployment = f"{flow}/{ASKED if NAMING & parameters.keys() else LIBRARY}"
        return await self._thread.call(lambda worker: worker.start_run(deployment, parameters))

    async def state(self, run_id: UUID) -> str | None:
        """The run's state in lower case; None for an unknown run."""
        return await self._thread.call(lambda worker: worker.state_of(run_id))

    async def message(self, run_id: UUID) -> str | None:
        """What Prefect says of the run's state: for a failed run, why."""
        return await self._thread.call(lambda worker: worker.message_of(run_id))

    async def recent(self, limit: int) -> list[dict[str, Any]]:
        """The runs that began last, of whichever pool, newest first."""
        return await self._thread.call(lambda worker: worker.recent_runs(limit))
