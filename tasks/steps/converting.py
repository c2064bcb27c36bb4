"""A batch of files that were handed in, converted: one task, and a row of its table for each."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from almanac import wiring
from tasks.keep import convert
from tasks.steps.retries import RETRIED
from tasks.steps.running import now, show


@task(task_run_name="convert files", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def convert_files(limit: int) -> int:
    """Convert files that wait; how many. The converter's child ends with the batch: it is large."""
    one = wiring.library()
    try:
        done = await convert.convert_files(
            one.db, one.doors.store, one.converter, one.doors.folder, one.worker, limit, now())
    finally:
        one.conversion.rest()
    await show("converted", [{"file": it.name, "state": it.state, "reason": it.reason} for it in done])
    return len(done)
