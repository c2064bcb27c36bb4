"""``python -m almanac.library``: the warm process. It answers HTTP at once, and says what is not ready yet.

It owns the models and the index, and executes the flow runs.
"""

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread
from uuid import UUID

import uvicorn

from almanac.api.app import create_app
from almanac.secret_file import secret_file
from almanac.settings import Settings, WrongSettings, settings
from almanac.stack.part import CANNOT_GO_ON
from almanac.wiring import library, prefect_environment
from tasks import read, reports
from tasks.callers.tokens import ensure_token
from tasks.chunk import cut
from tasks.discover.add import ensure_documentation
from tasks.discover.poll import poll_source
from tasks.errors import Transient
from tasks.index import follow
from tasks.keep import convert, temporary

log = logging.getLogger(__name__)

STARTING, READY = "starting", "ok"
DRAIN_SECONDS = 5  # for answers that are under way when the process ends
RETRY_SECONDS = 0.2
MANY = 10_000  # chunks that the index lacks: written by a process of their own, for their memory


def main() -> None:
    try:
        chosen = settings()
    except WrongSettings as error:
        log.critical("%s", error)
        sys.exit(CANNOT_GO_ON)
    os.environ |= prefect_environment(chosen)
    chosen.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    process = Process(chosen)
    log_plainly(chosen.log_level)
    status = asyncio.run(process.run())
    logging.shutdown()
    os._exit(status)  # a run that was cut off may still be in native code: it ends here, too


def log_plainly(level: str) -> None:
    """One line an event, on stderr; whatever Prefect arranged when it was imported."""
    logging.basicConfig(stream=sys.stderr, level=level.upper(), force=True,
                        format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in ("uvicorn", "fastapi", "fastmcp"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    for chatty in ("httpx", "httpx2", "httpcore", "mcp", "client", "openai"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # A short run gives its slot back while Prefect is about to renew it, and warns of that.
    logging.getLogger("prefect.concurrency").setLevel(logging.ERROR)


def forget_the_start() -> None:
    """Take what the start has made, which stays, out of the garbage collector's sight.

    A look at its 600,000 objects would stop every thread for half a second, now and again.
    """
    gc.collect()
    gc.freeze()


class Server(uvicorn.Server):
    """HTTP that stops when ``should_exit`` says so: signals are the process's own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Process:
    """The library's life: HTTP from the start, the rest one after the other behind it, and an orderly end."""

    def __init__(self, chosen: Settings) -> None:
        from almanac.deployments import read_specs, register  # Prefect reads its environment when imported
        from almanac.worker import WorkerThread

        self.settings = chosen
        self.library = library()
        self.library.worker = "library"  # the same after a restart: there is one such process a database
        self.parts = dict.fromkeys(("database", "model", "index", "documentation", "worker"), STARTING)
        self.status = 0
        self._whole, self._stopping = Event(), Event()  # the index is in order; the end has come
        self.worker = WorkerThread(lambda client: register(client, read_specs()), self._whole.wait)

    async def run(self) -> int:
        """Serve until SIGTERM or SIGINT, or until a part cannot be had; the exit status."""
        token = secret_file(self.settings.home / "token")
        app = create_app(self.library, self.worker.runs, token, parts=self.tell_parts)
        self.server = Server(uvicorn.Config(
            app, self.settings.host, self.settings.api_port, log_config=None, access_log=False,
            timeout_graceful_shutdown=DRAIN_SECONDS))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        Thread(target=self.prepare, args=(token,), name="start", daemon=True).start()
        stopped = asyncio.create_task(asyncio.to_thread(self._stop_worker))
        try:
            await self.server.serve()
        except SystemExit:  # uvicorn could not listen, and has said why
            self.status = 1
        self.stop()
        await stopped
        await asyncio.to_thread(self.library.close)
        log.info("stopped")
        return self.status

    def stop(self) -> None:
        """Let answers and runs end; from any thread."""
        self.server.should_exit = True
        self._stopping.set()
        self._whole.set()

    def tell_parts(self) -> dict[str, str]:
        """How each part is: starting, ok, or why its last work failed."""
        return {part: self.library.trouble.get(part, READY) if state == READY else state
                for part, state in self.parts.items()}

    def _stop_worker(self) -> None:
        self._stopping.wait()
        self.worker.stop()

    def prepare(self, token: str) -> None:
        """Get each part ready, the ones that others need first. One that cannot be had ends the process."""
        self.worker.start()
        try:
            for part, work in self._preparations(token):
                began = time.monotonic()
                work()
                self.parts[part] = READY
                log.info("%s: ready after %.1f s", part, time.monotonic() - began)
            forget_the_start()
        except Exception as error:
            log.critical("the library cannot go on: %s", (str(error) or type(error).__name__).splitlines()[0])
            log.debug("because of", exc_info=True)
            self.status = CANNOT_GO_ON
            self.stop()

    def _preparations(self, token: str) -> list[tuple[str, Callable[[], object]]]:
        one = self.library
        return [
            ("database", lambda: self._open_database(token)),
            ("model", lambda: one.embedder),
            ("index", self._mend_index),
            ("documentation", self._learn_documentation),
            ("worker", self._let_runs_begin),
        ]

    def _open_database(self, token: str) -> None:
        ensure_token(self.library.db, token)
        if lost := self.library.vault.prepare():
            log.error("%s", lost)
        follow.release(self.library.db, self.library.worker)
        convert.release(self.library.db, self.library.worker)
        temporary.clear(self.library.doors.folder)
        self.library.toolbox.start()
        if left := read.release(self.library.db, self.library.worker):
            log.info("%d documents that an earlier process was reading are free again", left)

    def _mend_index(self) -> None:
        one = self.library
        if one.index.count() + MANY < follow.answering(one.db):
            with one.refilling() as index:
                follow.fill(one.db, one.embedder, index)
        follow.repair(one.db, one.embedder, one.index)
        one.let_go()  # a kill may have come between a rebuild's end and this

    def _let_runs_begin(self) -> None:
        self._whole.set()
        while not (self.worker.ready or self._stopping.wait(RETRY_SECONDS)):
            pass
        if self.worker.ready and self.library.is_outdated:
            log.info("another collection of the index is to answer: it is filled in the background")
            asyncio.run(self.worker.runs.start("rebuild", {}))

    def _learn_documentation(self) -> None:
        """Read Almanac's own documentation where it changed: a new release may say something else."""
        one, now, chosen = self.library, datetime.now(UTC), self.settings
        source = ensure_documentation(one.db)
        reader = partial(read.read_document, one.db, one.fetcher, one.parser, one.worker)
        asyncio.run(poll_source(one.db, one.fetcher, one.parser, source, now, reader))
        pages = reports.documents(one.db, source_id=source)["documents"]
        changed = [UUID(page["id"]) for page in pages if page["due_at"] is not None]
        if changed:
            asyncio.run(read.read_documents(one.db, one.fetcher, one.parser, one.worker, len(changed), now,
                                            changed))
            try:
                follow.index_versions(  # no gate: it is ours, and the gate takes seconds to come
                    one.db, one.embedder, one.index, cut, len(changed), chosen.articles_per_hour,
                    chosen.articles_per_day, now, one.worker)
            except Transient as error:  # a model's server that is away keeps nothing else from beginning
                log.warning("the documentation is indexed later: %s", error)


if __name__ == "__main__":
    main()
