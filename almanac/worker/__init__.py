"""A Prefect worker that executes flow runs in this process, where models are loaded and the index is owned.

Every run has a thread and an event loop of its own, so that a flow that blocks stops neither HTTP nor the
polling, cancellation and heartbeats of the worker. A pool has one such worker. It leans on private parts of
Prefect 3.9: the life-cycle tests say whether another release still fits.
"""

from almanac.worker.thread import Runs, WorkerThread

__all__ = ["Runs", "WorkerThread"]
