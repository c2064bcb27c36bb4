"""Ticks of the scheduler: a clock that jumps, a machine that sleeps and one that is killed make no burst, and
leave nothing out.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, text

from models.session import Database
from models.tables import Poll, Source
from tasks.discover.poll import due_sources

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
Rss = Callable[..., str]


@pytest.fixture
def sources(desk: Any, rss: Rss) -> list[UUID]:
    """Six feeds that are due hourly, at six different minutes."""
    found = []
    for number in range(6):
        desk.web.put(url := f"https://tide.example/feed/{number}", rss(number), etag='"a"')
        found.append(desk.add(url, next_poll_at=NOW + number * 10 * MINUTE))
    return found


async def tick(desk: Any, now: datetime, ticks: int = 1) -> Counter[UUID]:
    """How often each source was looked at in so many minutes."""
    looked: Counter[UUID] = Counter()
    for minute in range(ticks):
        for source_id in due_sources(desk.db, now + minute * MINUTE):
            await desk.poll(source_id, now + minute * MINUTE)
            looked[source_id] += 1
    return looked


async def test_in_an_hour_of_ticks_each_source_is_looked_at_once(desk: Any, sources: list[UUID]) -> None:
    assert await tick(desk, NOW, 60) == dict.fromkeys(sources, 1)


@pytest.mark.parametrize("away", [2 * HOUR, 9 * HOUR, 40 * DAY], ids=["a jump", "a night", "a long journey"])
async def test_after_a_jump_or_a_sleep_each_source_is_looked_at_once_and_then_as_ever(
    desk: Any, sources: list[UUID], away: timedelta
) -> None:
    await tick(desk, NOW, 60)
    back = NOW + HOUR + away
    assert await tick(desk, back) == dict.fromkeys(sources, 1)
    assert not await tick(desk, back + MINUTE, 59)
    assert await tick(desk, back + HOUR) == dict.fromkeys(sources, 1)


async def test_a_clock_that_is_set_back_keeps_no_source_waiting_and_makes_no_burst(
    desk: Any, sources: list[UUID]
) -> None:
    await tick(desk, NOW, 60)
    back = NOW + HOUR - 3 * DAY
    assert await tick(desk, back) == dict.fromkeys(sources, 1)
    assert not await tick(desk, back + MINUTE, 59)


async def test_a_clock_that_is_put_right_by_minutes_changes_nothing(desk: Any, sources: list[UUID]) -> None:
    await tick(desk, NOW, 60)
    assert not await tick(desk, NOW + 51 * MINUTE, 9)


async def test_what_has_no_schedule_is_never_due_whatever_the_clock_does(desk: Any, rss: Rss) -> None:
    source_id = desk.add(every_seconds=None, next_poll_at=None)
    desk.web.put("https://tide.example/feed", rss(1))
    await desk.poll(source_id)
    assert due_sources(desk.db, NOW - 3 * DAY) == due_sources(desk.db, NOW + 3 * DAY) == []


async def test_a_cron_source_that_slept_through_three_mornings_is_looked_at_once(desk: Any, rss: Rss) -> None:
    desk.web.put("https://tide.example/feed", rss(1))
    source_id = desk.add(every_seconds=None, cron="0 7 * * *", next_poll_at=NOW)
    await tick(desk, NOW + 3 * DAY)
    assert desk.source(source_id).next_poll_at == datetime(2026, 3, 6, 7, tzinfo=UTC)
    assert len(desk.polls()) == 1


async def test_a_restart_looks_at_nothing_twice_and_at_what_was_under_way_again(
    desk: Any, sources: list[UUID]
) -> None:
    class Killed(BaseException):
        """No failure that anything could catch."""

    def kill() -> None:
        raise Killed

    back = NOW + 9 * HOUR
    for source_id in sources[:3]:
        await desk.poll(source_id, back)
    desk.web.meanwhile = kill
    with pytest.raises(Killed):
        await desk.poll(sources[3], back)
    desk.web.meanwhile = lambda: None
    restarted = Database(desk.db.url, pool_size=1)
    try:
        assert set(due_sources(restarted, back + MINUTE)) == set(sources[3:])
    finally:
        restarted.close()


async def test_no_question_of_a_pass_reads_all_documents_however_many_there_are(desk: Any, rss: Rss) -> None:
    source_id = desk.add()
    desk.web.put("https://tide.example/feed", rss(1, 2), etag='"a"')
    with desk.db.begin() as session:
        session.execute(text("""
            INSERT INTO document
                (id, source_id, scopes, url, key, item_key, state, reason, attempts, priority)
            SELECT gen_random_uuid(), :source, '{library}', 'https://b.example/' || n,
                   'https://b.example/' || n, 'guid:' || n, 'indexed', 'indexed', 0, 50
            FROM generate_series(1, 20000) n
        """), {"source": source_id})
    desk.db.execute(text("ANALYZE document"))
    before = scanned(desk.db)
    await desk.poll(source_id)
    await desk.poll(source_id, NOW + HOUR)
    assert scanned(desk.db) - before < 1000
    with desk.db.begin() as session:
        assert session.scalars(select(Poll.outcome).order_by(Poll.started_at)).all() == ["new", "unchanged"]
        assert session.get_one(Source, source_id).failures == 0


def scanned(db: Database) -> int:
    """Documents that PostgreSQL has read one after the other so far."""
    with db.begin() as session:
        session.execute(text("SELECT pg_stat_force_next_flush()"))
    told = text("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'document'")
    return int(db.execute(told)[0][0])
