"""Versions into the index, and the index made again: one run at a time, on whatever machine."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from prefect import task
from prefect.cache_policies import NO_CACHE

from almanac import wiring
from models.session import Database
from tasks.analyse.follow import Reanalysed, analyse_versions, catch_up, reanalyse, recheck
from tasks.chunk import cut
from tasks.errors import Transient
from tasks.index import follow
from tasks.steps.retries import RETRIED
from tasks.steps.running import in_thread, now, show, told, turn

log = logging.getLogger(__name__)

GRACE_SECONDS = 5  # for questions that began with the collection that is left


@task(task_run_name="index versions", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def index_versions(limit: int) -> int:
    """Bring a batch of versions that wait into the index; how many. What a crash left is finished first, and
    what was marked for another look gets it.
    """
    one = wiring.library()
    settings, started = one.settings, now()
    analyse = partial(analyse_versions, one.db, one.analyser, now=started)
    async with told("index"), turn(one.db, "index"):
        indexed = await in_thread(
            follow.index_versions, one.db, one.embedder, one.index, cut, limit,
            settings.articles_per_hour, settings.articles_per_day, started, one.worker, analyse, one.gate)
        again = await in_thread(recheck, one.db, one.analyser, limit, started)
        await in_thread(follow.describe, one.db, one.index, [it.version_id for it in again])
    await show("indexed", [
        {"address": it.url, "chunks": it.chunks, "embedded": it.embedded} for it in indexed])
    return len(indexed) + len(again)


@task(task_run_name="reanalyse versions", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def reanalyse_versions(limit: int, after: UUID, document_ids: Sequence[UUID] | None) -> UUID | None:
    """Judge again the next versions behind ``after``; the last one's id, or none when there are no more.

    The index learns of what was judged otherwise; nothing is embedded.
    """
    one = wiring.library()
    done = await in_thread(reanalyse, one.db, one.analyser, limit, after, now(), document_ids)
    await describe(done)
    return done[-1].version_id if done else None


@task(task_run_name="analyse what was left", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def catch_up_analyses(limit: int) -> int:
    """Analyse some of what nobody has, or only an earlier release; how many. A model that is away is left."""
    one = wiring.library()
    try:
        done = await in_thread(catch_up, one.db, one.analyser, limit, now())
    except Transient as error:
        log.warning("What was left is analysed another time: %s", error)
        return 0
    await describe(done)
    return len(done)


async def describe(done: Sequence[Reanalysed]) -> None:
    """Show what was judged again, and tell the index what was judged otherwise."""
    one = wiring.library()
    if changed := [it.version_id for it in done if it.changed]:
        async with turn(one.db, "index"):
            await in_thread(follow.describe, one.db, one.index, changed)
    await show("reanalysed", [{"address": it.url, "before": it.before, "now": it.now} for it in done])


@task(task_run_name="rebuild the index", cache_policy=NO_CACHE, persist_result=False, **RETRIED)
async def rebuild_index() -> int:
    """Fill a new collection from PostgreSQL alone and let it answer; how many chunks it holds.

    The one before answers, and is written to, meanwhile: what it takes in is caught up with at the end.
    A rebuild that was killed goes on where it was.
    """
    one = wiring.library()
    async with told("index"), turn(one.db, "rebuild"):
        with one.successor() as new:
            await in_thread(fill_apart, one.db, new)
            async with turn(one.db, "index"):
                done = await in_thread(follow.fill, one.db, new.embedder, new.index)
                await in_thread(one.adopt, new)
        await asyncio.sleep(GRACE_SECONDS)
        await in_thread(one.let_go)
    await show("rebuilt", [done.to_json()])
    return done.indexed


def fill_apart(db: Database, new: wiring.Searched) -> None:
    """Nearly all of the work, while the old collection is still written to."""
    with new.filling() as index:
        follow.fill(db, new.embedder, index)
