"""Versions into the index, and the index made again: one run at a time, on whatever machine."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from almanac import wiring
from tasks.chunk import cut
from tasks.index import follow
from tasks.steps.retries import RETRIED
from tasks.steps.running import in_thread, now, show, told, turn


@task(task_run_name="index versions", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def index_versions(limit: int) -> int:
    """Bring a batch of versions that wait into the index; how many. What a crash left is finished first."""
    one = wiring.library()
    settings = one.settings
    async with told("index"), turn(one.db, "index"):
        indexed = await in_thread(
            follow.index_versions, one.db, one.embedder, one.index, cut, limit,
            settings.articles_per_hour, settings.articles_per_day, now(), one.worker,
            one.gate)
    await show("indexed", [
        {"address": it.url, "chunks": it.chunks, "embedded": it.embedded} for it in indexed])
    return len(indexed)


@task(task_run_name="rebuild the index", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def rebuild_index() -> int:
    """Write every chunk that answers into the index, from PostgreSQL alone; how many."""
    one = wiring.library()
    async with told("index"), turn(one.db, "index"):
        done = await in_thread(follow.rebuild, one.db, one.index)
    await show("rebuilt", [done.to_json()])
    return done.written
