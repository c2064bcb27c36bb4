"""Builds the search graph of the shard named on the command line; run as a process of its own.

The engine keeps Python's lock for the seconds or minutes that this takes, so no thread of the library may.
"""

import ctypes
import os
import signal
import sys

import qdrant_edge as engine

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Be nobody's work that is left over, and nobody's hindrance."""
    os.nice(10)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(path: str) -> None:
    end_with_parent()
    shard = engine.EdgeShard.load(path)
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    main(sys.argv[1])
