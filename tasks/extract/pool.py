"""The jail's children: started when needed, used one document at a time, replaced when worn or harmed."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from tasks.errors import Transient
from tasks.extract.child import Child, EndedError

SECONDS_TO_START = 120.0  # imports, on a machine that is busy starting everything else


class Pool:
    """Children that loaded the same parsers. Thread-safe; ``boot`` is what each is told (``jailed.main``)."""

    def __init__(self, boot: Mapping[str, Any], size: int, documents_per_child: int) -> None:
        self.closed = False
        self._boot = boot
        self._size = size
        self._documents_per_child = documents_per_child
        self._lock = Lock()
        self._idle: list[Child] = []
        self._children: set[Child] = set()

    @contextmanager
    def child(self) -> Iterator[Child]:
        """A child for one document; after any exception here it is not used again."""
        child = self.take()
        try:
            yield child
        except BaseException:
            self._discard(child)
            raise
        child.documents += 1
        self.give_back(child)

    def take(self) -> Child:
        """An idle child, or a new one. Raises Transient when it does not start."""
        with self._lock:
            child = self._idle.pop() if self._idle else None
        if child and child.alive:
            return child
        if child:
            self._discard(child)
        return self._start()

    def give_back(self, child: Child) -> None:
        with self._lock:
            fresh = child.documents < self._documents_per_child
            if fresh and len(self._idle) < self._size and not self.closed:
                self._idle.append(child)
                return
        self._discard(child)

    def clear(self) -> None:
        """End the idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            self._discard(child)

    def kill(self) -> None:
        """End all work at once, and start none."""
        with self._lock:
            self.closed = True
            for child in self._children:
                child.kill()

    def bury(self) -> None:
        """Leave no process behind; nothing may be using a child any more."""
        for child in list(self._children):
            self._discard(child)

    def _start(self) -> Child:
        with self._lock:
            if self.closed:
                raise Transient("the parsers are being stopped")
            child = Child(self._boot["answer_bytes"])
            self._children.add(child)
        try:
            self._boot_up(child)
        except BaseException:
            self._discard(child)
            raise
        return child

    def _boot_up(self, child: Child) -> None:
        path = [str(Path(entry).absolute()) for entry in sys.path]
        boot = json.dumps({**self._boot, "parent": os.getpid(), "path": path}).encode()
        try:
            answer = json.loads(child.ask(boot, seconds=SECONDS_TO_START))
        except (TimeoutError, EndedError) as error:
            raise Transient(f"the parsers did not start: {error}") from error
        if "failed" in answer:
            raise Transient(f"the parsers did not start: {answer['failed']}")

    def _discard(self, child: Child) -> None:
        child.end()
        with self._lock:
            self._children.discard(child)
