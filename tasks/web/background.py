"""An event loop of its own thread, for what lives as long as the process and is called from any loop."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
SECONDS_TO_END = 10.0


class Background:
    """Runs coroutines in its thread. Cancelling the caller cancels them; so does ``close``.

    ``threads`` is how many calls that block, such as look-ups of names, its loop can have under way;
    ``finish`` is awaited in it at the end.
    """

    def __init__(
        self, name: str, threads: int | None = None, finish: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.closed = False
        self._finish = finish
        self._closing = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(threads, f"{name}-calls"))
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Have it run until it ends, or all ends."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End everything under way and the thread. May be called again."""
        with self._closing:
            if self.closed:
                return
            self.closed = True
            try:
                ending = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
                ending.result(timeout=SECONDS_TO_END)
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join(timeout=SECONDS_TO_END)
            self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._finish:
            await self._finish()
