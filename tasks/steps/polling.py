"""A look at sources: each is a task of its own, named after its source."""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic
from uuid import UUID

from prefect import task
from prefect.cache_policies import NO_CACHE
from sqlalchemy import select

from almanac import wiring
from models.tables import Source
from tasks import read
from tasks.discover import poll
from tasks.steps.retries import RETRIED
from tasks.steps.running import Row, now, show

POLLS_AT_ONCE = 16


async def poll_sources(limit: int, source_ids: Sequence[UUID] | None) -> int:
    """Look at the sources that are due, or at those named; how many. One that fails stops no other."""
    db = wiring.library().db
    ids = poll.due_sources(db, now(), limit) if source_ids is None else list(source_ids)
    with db.begin() as session:
        found = session.execute(select(Source.id, Source.name).where(Source.id.in_(ids)))
        names = {row.id: row.name for row in found}
    room = asyncio.Semaphore(POLLS_AT_ONCE)

    async def look(source_id: UUID) -> Row:
        async with room:
            return await poll_source(source_id, names.get(source_id, str(source_id)))

    rows = await asyncio.gather(*map(look, ids), return_exceptions=True)
    await show("polled", [row for row in rows if isinstance(row, dict)])
    for failure in rows:
        if isinstance(failure, BaseException):
            raise failure
    return len(ids)


@task(task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def poll_source(source_id: UUID, name: str) -> Row:
    """One look at a source, as a row of the run's table."""
    one, started = wiring.library(), monotonic()
    reading = partial(read.read_document, one.db, one.fetcher, one.parser, one.worker,
                      max_attempts=one.settings.max_attempts, renderer=one.renderer)
    result = await poll.poll_source(
        one.db, one.fetcher, one.parser, source_id, now(), reading, lambda: one.embedder)
    return {
        "source": name, "outcome": result.outcome, "reason": result.reason, "seen": result.items_seen,
        "new": result.items_new, "changed": result.items_changed, "passed over": result.items_skipped,
        "seconds": round(monotonic() - started, 1),
    }
