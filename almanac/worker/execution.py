"""One flow run, executed in this process."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from threading import Thread
from typing import Any, cast

import anyio
from prefect._flow_run_suspension import FlowRunSuspensionRequest
from prefect.client.schemas.objects import State
from prefect.flow_engine import AsyncFlowRunEngine


class Execution(AsyncFlowRunEngine[Any, Any]):
    """One flow run, executed in the thread that calls ``execute``; ``stop`` may be called from any other."""

    stopping = False
    by_owner = False
    ended: anyio.Event  # of the worker's loop
    _interrupt: Callable[[], object] | None = None  # set while there is something to interrupt

    def execute(self) -> None:
        asyncio.run(self._execute())

    async def _execute(self) -> None:
        loop, task = asyncio.get_running_loop(), cast("asyncio.Task[None]", asyncio.current_task())
        self._interrupt = partial(loop.call_soon_threadsafe, task.cancel)
        if self.stopping:
            task.cancel()
        try:
            async with self.start():
                while self.is_running():
                    async with self.run_context():
                        await cast(Awaitable[object], self.call_flow_fn())
        finally:
            self._interrupt = None

    def stop(self, by_owner: bool) -> None:
        """Interrupt the run at its next await: Cancelled when its owner asked for it, else Crashed."""
        if not self.stopping:
            self.stopping, self.by_owner = True, by_owner
            if interrupt := self._interrupt:
                with suppress(RuntimeError):  # its loop has just closed
                    interrupt()

    def suspend(self, state: State[Any]) -> None:
        """Let the run rest at its next task, until its owner resumes it."""
        self._flow_run_suspension_request.mark_requested(state)

    @contextmanager
    def setup_flow_run_suspension_request(self) -> Iterator[FlowRunSuspensionRequest]:
        """Without Prefect's own observer, which costs a thread and a socket a run: the worker tells."""
        yield self._flow_run_suspension_request

    async def handle_crash(self, exc: BaseException) -> None:
        await (self.handle_cancellation(exc) if self.by_owner else super().handle_crash(exc))


async def in_thread(function: Callable[[], object], name: str) -> BaseException | None:
    """Call in a thread of its own, which does not keep the process alive; what it raised."""
    done: Future[BaseException | None] = Future()
    done.set_running_or_notify_cancel()  # a caller that is cancelled leaves the thread to itself

    def work() -> None:
        try:
            function()
        except BaseException as error:
            done.set_result(error)
        else:
            done.set_result(None)

    Thread(target=work, name=name, daemon=True).start()
    return await asyncio.wrap_future(done)
