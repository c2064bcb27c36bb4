"""Old looks at sources go, but for those that say how a source is."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from models.session import Database
from models.states import PollOutcome
from models.tables import Poll, Source
from tasks import housekeeping
from tasks.housekeeping import prune_polls

pytestmark = pytest.mark.database

NOW = datetime(2026, 6, 1, tzinfo=UTC)
YEAR = NOW - timedelta(days=365)


def source_with(db: Database, polls: dict[int, PollOutcome]) -> UUID:
    """A source that was looked at so many days ago, with what came of it."""
    source = uuid4()
    with db.begin() as session:
        session.add(Source(id=source, kind="feed", name="A", url=f"https://site.example/{source}"))
        session.flush()
        for days, outcome in polls.items():
            at = NOW - timedelta(days=days)
            session.add(Poll(source_id=source, started_at=at, finished_at=at, outcome=outcome, reason="-"))
    return source


def days_left(db: Database, source: UUID) -> list[int]:
    with db.begin() as session:
        times = session.scalars(select(Poll.started_at).where(Poll.source_id == source))
        return sorted((NOW - at).days for at in times)


def test_polls_older_than_the_limit_go_and_the_others_stay(db: Database) -> None:
    source = source_with(db, dict.fromkeys([1, 364, 366, 367, 800], PollOutcome.UNCHANGED))
    assert prune_polls(db, YEAR) == 3
    assert days_left(db, source) == [1, 364]
    assert prune_polls(db, YEAR) == 0


def test_what_happened_since_the_last_good_poll_stays_however_old(db: Database) -> None:
    failing = source_with(db, {900: PollOutcome.NEW, 800: PollOutcome.UNCHANGED, 700: PollOutcome.FAILED,
                               600: PollOutcome.SUSPECT, 10: PollOutcome.FAILED})
    never_good = source_with(db, {900: PollOutcome.FAILED, 10: PollOutcome.FAILED})
    assert prune_polls(db, YEAR) == 1
    assert days_left(db, failing) == [10, 600, 700, 800]
    assert days_left(db, never_good) == [10, 900]


def test_many_are_deleted_in_transactions_that_hold_nobody_up(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 4)
    source = source_with(db, dict.fromkeys(range(400, 411), PollOutcome.UNCHANGED))
    assert prune_polls(db, YEAR) == 10
    assert days_left(db, source) == [400]
