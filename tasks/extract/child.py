"""One jailed process, seen from outside: frames go in and out of its pipes until a deadline."""

import os
import select
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import IO, cast

INSIDE = Path(__file__).with_name("jailed.py")
# No user site, nothing of the working folder on the path, no bytecode written, text in UTF-8.
FLAGS = ("-s", "-P", "-B", "-X", "utf8")
# One seed for all children: where a library walks a set, the same page must give the same text twice.
ENVIRONMENT = {"PYTHONHASHSEED": "0"}
FRAME = 4  # bytes that say a frame's length, most significant first
PIECE = 1 << 20
SECONDS_TO_DIE = 2.0


class EndedError(Exception):
    """The process ended, or closed its pipe, without an answer; ``status`` is negative for a signal."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the process ended with status {status}")
        self.status = status


class TooLongError(Exception):
    """The answer is longer than allowed, and is left unread."""


class Child:
    """A fresh process. Used by one thread at a time; only ``kill`` may come from another.

    Linux kills the process together with the *thread* that made this, so make it in a thread that lasts.
    """

    def __init__(self, answer_bytes: int) -> None:
        self.documents = 0
        self._answer_bytes = answer_bytes
        self._process = subprocess.Popen(
            [sys.executable, *FLAGS, str(INSIDE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=ENVIRONMENT, cwd="/", bufsize=0, start_new_session=True,
        )
        self._requests = cast(IO[bytes], self._process.stdin)
        self._answers = cast(IO[bytes], self._process.stdout)
        os.set_blocking(self._requests.fileno(), False)
        os.set_blocking(self._answers.fileno(), False)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, *frames: bytes, seconds: float) -> bytes:
        """The frame that answers these.

        Raises TimeoutError, TooLongError or EndedError: the child is then of no more use.
        """
        deadline = monotonic() + seconds
        try:
            for frame in frames:
                self._send(frame, deadline)
            length = int.from_bytes(self._receive(FRAME, deadline), "big")
            if length > self._answer_bytes:
                raise TooLongError
            return self._receive(length, deadline)
        except (BrokenPipeError, EOFError) as error:
            raise EndedError(self._status()) from error

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Kill and bury it: no process, zombie or pipe is left."""
        self._process.kill()
        self._process.wait()
        self._requests.close()
        self._answers.close()

    def _send(self, frame: bytes, deadline: float) -> None:
        rest = memoryview(len(frame).to_bytes(FRAME, "big") + frame)
        while rest:
            _wait(self._requests, select.POLLOUT, deadline)
            rest = rest[os.write(self._requests.fileno(), rest):]

    def _receive(self, length: int, deadline: float) -> bytes:
        received = bytearray()
        while len(received) < length:
            _wait(self._answers, select.POLLIN, deadline)
            piece = os.read(self._answers.fileno(), min(length - len(received), PIECE))
            if not piece:
                raise EOFError
            received += piece
        return bytes(received)

    def _status(self) -> int:
        try:
            return self._process.wait(SECONDS_TO_DIE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _wait(pipe: IO[bytes], event: int, deadline: float) -> None:
    waiting = select.poll()
    waiting.register(pipe, event)
    if not waiting.poll(max(0, (deadline - monotonic()) * 1000)):
        raise TimeoutError("no answer in time")
