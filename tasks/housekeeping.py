"""What would grow for ever is bounded here; but what an answer was made of is kept: labels need it."""

from datetime import datetime

from sqlalchemy import delete, func, select

from models.session import Database
from models.states import PollOutcome
from models.tables import Poll, Source

AT_ONCE = 1_000  # rows in a transaction
GOOD = (PollOutcome.NEW, PollOutcome.UNCHANGED)


def prune_polls(db: Database, before: datetime) -> int:
    """Delete polls that began before that; how many.

    What happened since a source's last good poll stays, however old: it says since when the source fails.
    """
    with db.begin() as session:
        sources = session.scalars(select(Source.id)).all()
    return sum(prune_polls_of(db, source, before) for source in sources)


def prune_polls_of(db: Database, source: object, before: datetime) -> int:
    of_it = Poll.source_id == source
    last_good = select(func.max(Poll.started_at)).where(of_it, Poll.outcome.in_(GOOD)).scalar_subquery()
    old = select(Poll.id).where(of_it, Poll.started_at < before, Poll.started_at < last_good).limit(AT_ONCE)
    pruned = 0
    while True:
        with db.begin() as session:
            gone = len(session.scalars(delete(Poll).where(Poll.id.in_(old)).returning(Poll.id)).all())
        pruned += gone
        if gone < AT_ONCE:
            return pruned
