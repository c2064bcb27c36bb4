"""Great Expectations in a process of its own: its import takes seconds and 270 MB.

The process starts when it is first asked, stays while batches come, and ends after some idle minutes.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock, Timer
from time import monotonic
from typing import Any, cast

from tasks.errors import Transient
from tasks.gates.suite import Suite

ENVIRONMENT = {  # all of it: one thread, nothing told to anybody, no settings of ours
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "GX_ANALYTICS_ENABLED": "false", "PYTHONDONTWRITEBYTECODE": "1",
}
COMMAND = (sys.executable, "-m", "tasks.gates.examination")
PIECE = 1 << 16


class Examiner:
    """The process, seen from outside. Thread-safe: it judges one batch at a time."""

    def __init__(self, *, idle_seconds: float = 300.0, start_seconds: float = 120.0,
                 answer_seconds: float = 120.0, command: Sequence[str] = COMMAND) -> None:
        self._idle_seconds = idle_seconds
        self._start_seconds, self._answer_seconds = start_seconds, answer_seconds
        self._command = list(command)
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._rest: Timer | None = None
        self._closed = False

    def examine(self, suite: Suite, columns: Mapping[str, Sequence[Any]]) -> Sequence[Sequence[int]]:
        """For each expectation, the rows that do not meet it. Raises Transient when it cannot judge."""
        expectations = [[it.kind, {"column": it.column, **it.bounds}] for it in suite.expectations]
        question = json.dumps({"expectations": expectations, "columns": columns}, allow_nan=False)
        with self._lock:
            self._stay()
            try:
                answer = self._answer(question.encode() + b"\n")
            except TimeoutError:
                self._end()
                raise Transient("the quality gate did not answer in time, and is started anew") from None
            except (OSError, EOFError, ValueError) as error:
                self._end()
                fault = type(error).__name__
                raise Transient(f"the quality gate ended without an answer ({fault})") from error
            if failed := answer.get("failed"):
                self._end()
                raise Transient(f"the quality gate cannot judge: {failed}")
            self._leave_later()
            return cast(list[list[int]], answer["refused"])

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._stay()
            self._end()

    def _answer(self, question: bytes) -> dict[str, Any]:
        process = self._process
        if process is None or process.poll() is not None:
            self._end()
            process = self._start()
        deadline = monotonic() + self._answer_seconds
        pipe = process.stdin
        assert pipe is not None  # noqa: S101 - Popen was given a pipe
        rest = memoryview(question)
        while rest:
            wait(pipe.fileno(), select.POLLOUT, deadline)
            rest = rest[os.write(pipe.fileno(), rest):]
        return read(process, deadline)

    def _start(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise Transient("the quality gate is being stopped")
        path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
        self._process = process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            bufsize=0, env=ENVIRONMENT | {"PYTHONPATH": path}, cwd="/", start_new_session=True)
        os.set_blocking(process.stdin.fileno(), False)  # type: ignore[union-attr]  # Popen was given a pipe
        ready = read(process, monotonic() + self._start_seconds)
        if failed := ready.get("failed"):
            self._end()
            raise Transient(f"the quality gate cannot start: {failed}")
        return process

    def _stay(self) -> None:
        if self._rest:
            self._rest.cancel()

    def _leave_later(self) -> None:
        self._rest = Timer(self._idle_seconds, self._leave)
        self._rest.daemon = True
        self._rest.start()

    def _leave(self) -> None:
        """End the process, unless it is at work again: then it was asked after all."""
        if self._lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._lock.release()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            process.communicate()


def read(process: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
    """The next line of the process. Raises EOFError when it ended, TimeoutError when it does not come."""
    pipe = process.stdout
    assert pipe is not None  # noqa: S101 - Popen was given a pipe
    received = bytearray()
    while not received.endswith(b"\n"):
        wait(pipe.fileno(), select.POLLIN, deadline)
        piece = os.read(pipe.fileno(), PIECE)
        if not piece:
            raise EOFError
        received += piece
    answer: dict[str, Any] = json.loads(received)
    return answer


def wait(pipe: int, event: int, deadline: float) -> None:
    waiting = select.poll()
    waiting.register(pipe, event)
    if not waiting.poll(max(0.0, (deadline - monotonic()) * 1000)):
        raise TimeoutError
