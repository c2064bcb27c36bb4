"""A batch of documents, read: one task, and what became of each is a row of the run's table."""

from collections.abc import Sequence
from uuid import UUID

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.runtime import task_run

from almanac import wiring
from tasks import read
from tasks.steps.retries import RETRIED
from tasks.steps.running import now, show


@task(task_run_name="read documents", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def read_documents(limit: int, document_ids: Sequence[UUID] | None) -> int:
    """Read a batch of documents that are due, or those named; how many."""
    one = wiring.library()
    worker = f"{one.worker}/{task_run.id}"
    if task_run.run_count > 1:
        read.release(one.db, worker)  # what the attempt before this one had taken
    reads = await read.read_documents(
        one.db, one.fetcher, one.parser, worker, limit, now(), document_ids, one.settings.max_attempts,
        one.renderer)
    await show("read", [
        {"address": it.url, "state": it.state, "reason": it.reason, "seconds": round(it.seconds, 1)}
        for it in reads
    ])
    return len(reads)
