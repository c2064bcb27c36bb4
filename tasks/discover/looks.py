"""What the looks at some sources came to, as their owner sees it over time."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy import Date, Executable, cast, func, select, true

from models.session import Database
from models.tables import Poll, Source

Json = dict[str, Any]

STRIP = 20  # looks
DAYS = 14


def history(
    db: Database, sources: Sequence[UUID], now: datetime, zone: str = "UTC", days: int = DAYS
) -> dict[UUID, Json]:
    """For each source its last ``looks``, oldest first, and the new items of its last ``days``.

    A look is ``{"at", "outcome", "reason", "new"}``, a day, of ``zone``, ``{"day", "new"}``, also where
    nothing was new.
    """
    today = now.astimezone(ZoneInfo(zone)).date()
    since = [today - timedelta(days=ago) for ago in range(days - 1, -1, -1)]
    begin = datetime.combine(since[0], datetime.min.time(), ZoneInfo(zone))
    with db.begin() as session:
        looks: defaultdict[UUID, list[Json]] = defaultdict(list)
        for look in session.execute(last_looks(sources)):
            at = look.started_at.astimezone(UTC).isoformat()
            looks[look.source_id].append(
                {"at": at, "outcome": look.outcome, "reason": look.reason, "new": look.items_new})
        new = {(row.source_id, row.day): row.new for row in session.execute(new_by_day(sources, begin, zone))}
    return {source: {
        "looks": looks[source],
        "days": [{"day": day.isoformat(), "new": new.get((source, day), 0)} for day in since],
    } for source in sources}


def last_looks(sources: Sequence[UUID]) -> Executable:
    last = (
        select(Poll.started_at, Poll.outcome, Poll.reason, Poll.items_new).where(Poll.source_id == Source.id)
        .order_by(Poll.started_at.desc()).limit(STRIP).lateral("last"))
    return (select(Source.id.label("source_id"), *last.c).join(last, true())
            .where(Source.id.in_(sources)).order_by(last.c.started_at))


def new_by_day(sources: Sequence[UUID], since: datetime, zone: str) -> Executable:
    day = cast(func.timezone(zone, Poll.started_at), Date).label("day")
    return (select(Poll.source_id, day, func.sum(Poll.items_new).label("new"))
            .where(Poll.source_id.in_(sources), Poll.started_at >= since).group_by(Poll.source_id, day))
