"""The work of the library process on its index, to be killed: ``indexing_process.py URL HOME``.

At a line on standard input a child begins: it repairs, indexes what waits, and makes the index again. Its
pid is told at once; at the next line it is waited for, and its status told. All is imported but once.
"""

import hashlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pydantic import SecretStr

from almanac.settings import Settings
from almanac.wiring import Library
from tasks.chunk import cut
from tasks.index import apart, edge, follow  # noqa: F401 - children have them by then
from tasks.ports import Vectors

NAME = "library"  # of the holder of leases, the same after a restart
BATCH = 4
ALL = 1_000_000


class Hashing:
    """Vectors that hashes of words make."""

    name, dimensions, window = "hashing", 32, 64

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
        made = [np.random.default_rng(seed).standard_normal(self.dimensions) for seed in seeds]
        vectors = np.asarray(made, np.float32).reshape(-1, self.dimensions)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])


def work(one: Library) -> None:
    follow.release(one.db, NAME)
    follow.repair(one.db, one.embedder, one.index)
    while follow.index_versions(
            one.db, one.embedder, one.index, cut, BATCH, ALL, ALL, datetime.now(UTC), NAME):
        pass
    with one.successor() as new:
        with new.filling() as index:
            follow.fill(one.db, new.embedder, index)
        follow.fill(one.db, new.embedder, new.index)
        one.adopt(new)
    one.let_go()
    one.close()


def main(url: str, home: str) -> None:
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                library = Library(Settings(home=Path(home), database_url=SecretStr(url)))
                library.bundled = Hashing()
                work(library)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        print(pid, flush=True)
        sys.stdin.readline()
        _, status = os.waitpid(pid, 0)
        print(status, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
