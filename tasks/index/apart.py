"""The embedded index in a process of its own while it is filled; run as one, this file is that process.

The engine needs a gigabyte for 200,000 chunks that have no search graph yet, and keeps Python's lock while it
writes.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import IO, Any, cast
from uuid import UUID

from tasks.errors import StageError, Transient
from tasks.index.edge import EdgeIndex
from tasks.index.optimise import end_with_parent
from tasks.ports import Entry, Filter, Hit, Payload, Vectors

GONE = "the process that fills the index ended: fill it again, it goes on from there"


class Apart:
    """Implements ports.Index by asking the process, which is asked one thing at a time.

    While it writes, the next chunks may be got ready: what goes wrong is told by the next call.
    """

    def __init__(self, folder: Path, dimensions: int) -> None:
        command = [sys.executable, "-P", "-m", __name__, str(folder), str(dimensions)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._questions = cast(IO[bytes], self._process.stdin)
        self._answers = cast(IO[bytes], self._process.stdout)
        self._asking = RLock()
        self._owed = False

    def upsert(self, entries: Sequence[Entry]) -> None:
        with self._asking:
            self._send("upsert", entries)

    def describe(self, payloads: Sequence[Payload]) -> None:
        self._ask("describe", payloads)

    def delete(self, ids: Sequence[UUID]) -> None:
        self._ask("delete", ids)

    def nearest(self, vector: Vectors, limit: int, where: Filter, minimum: float) -> list[Hit]:
        hits: list[Hit] = self._ask("nearest", vector, limit, where, minimum)
        return hits

    def containing(self, words: str, limit: int, where: Filter) -> list[Hit]:
        hits: list[Hit] = self._ask("containing", words, limit, where)
        return hits

    def count(self) -> int:
        return int(self._ask("count"))

    def ids(self) -> Iterator[UUID]:
        yield from self._ask("ids")

    def stale(self, payloads: Sequence[Payload]) -> set[UUID]:
        return set(self._ask("stale", payloads))

    def unlike(self, entries: Sequence[Entry]) -> set[UUID]:
        return set(self._ask("unlike", entries))

    def close(self) -> None:
        """End the process, whatever it does: what it has written stays."""
        self._process.kill()
        self._process.wait()
        self._answers.close()
        with suppress(OSError):  # what was still to be sent
            self._questions.close()

    def finish(self) -> None:
        """Give it its search graph, and end the process."""
        self._ask("optimise")
        self._ask("close")

    def _ask(self, name: str, *arguments: Any) -> Any:
        with self._asking:
            self._send(name, *arguments)
            return self._answer()

    def _send(self, name: str, *arguments: Any) -> None:
        if self._owed:
            self._answer()
        try:
            pickle.dump((name, arguments), self._questions, pickle.HIGHEST_PROTOCOL)
            self._questions.flush()
        except OSError as error:
            raise Transient(GONE) from error
        self._owed = True

    def _answer(self) -> Any:
        self._owed = False
        try:
            answer = pickle.load(self._answers)  # noqa: S301 - our own child wrote it
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise Transient(GONE) from error
        if isinstance(answer, StageError):
            raise answer
        return answer


def main(folder: str, dimensions: str) -> None:
    """Answer what is asked on standard input, until it ends."""
    end_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed
    index: EdgeIndex | None = None
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own parent wrote it
        except EOFError:
            return
        try:
            index = index or EdgeIndex(Path(folder), int(dimensions), unoptimised=sys.maxsize)
            answer = getattr(index, name)(*arguments)
        except StageError as error:
            answer = error
        pickle.dump(list(answer) if name == "ids" else answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
