"""The owner's limits: how many articles may be analysed and indexed in an hour and in a day.

Counted from the rows: when a version was indexed, or analysed, where it was then refused or overtaken.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Select, Subquery, func, or_, select, union_all
from sqlalchemy.orm import Session

from models import lease
from models.session import Database
from models.states import HANDED_IN, DocumentState, SourceKind
from models.tables import Document, DocumentVersion, Source, VersionAnalysis

NO_ARTICLES = (SourceKind.DOCUMENTATION, *HANDED_IN)  # what limits are not for
FREE = Source.kind.in_(NO_ARTICLES)
METERED = Source.kind.not_in(NO_ARTICLES)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Hold:
    """Why nothing more may be indexed now, and when the next place becomes free."""

    reason: str
    until: datetime

    def to_json(self) -> dict[str, str]:
        return {"reason": self.reason, "until": self.until.astimezone(UTC).isoformat()}


def used(db: Database, now: datetime) -> tuple[int, int]:
    """How many articles were indexed in the last hour, and in the last day."""
    with db.begin() as session:
        return indexed(session, now)


def current_hold(db: Database, per_hour: int, per_day: int, now: datetime) -> Hold | None:
    with db.begin() as session:
        return hold(session, per_hour, per_day, now)


def allowance(session: Session, per_hour: int, per_day: int, now: datetime) -> int:
    """How many more articles may be taken now; those that somebody is indexing count as indexed."""
    # in one statement, so that what ends meanwhile counts once
    under_way = metered(func.count()).where(
        DocumentVersion.indexed_at.is_(None), DocumentVersion.superseded_at.is_(None),
        ~lease.free(DocumentVersion)).correlate(None).scalar_subquery()
    hour, day, begun = session.execute(in_the_last_day(now, under_way)).one()
    left: int = min(per_hour - hour, per_day - day) - begun
    return max(0, left)


def hold(session: Session, per_hour: int, per_day: int, now: datetime) -> Hold | None:
    """What holds articles back now: of the two limits the one that does so for longer; none when neither."""
    limits = [(per_hour, HOUR, "hour"), (per_day, DAY, "day")]
    holds = []
    for (limit, span, name), count in zip(limits, indexed(session, now), strict=True):
        if count >= limit:
            spent = moments(now - span)
            last = session.scalars(
                select(spent.c.moment).order_by(spent.c.moment.desc()).offset(limit - 1).limit(1)).one()
            holds.append(Hold(f"{count} of {limit} articles this {name} are indexed", last + span))
    return max(holds, key=lambda it: it.until, default=None)


def indexed(session: Session, now: datetime) -> tuple[int, int]:
    hour, day = session.execute(in_the_last_day(now)).one()
    return hour, day


def in_the_last_day(now: datetime, *more: Any) -> Select[Any]:
    """How many were indexed, or analysed in vain, in the last hour, and in the last day."""
    spent = moments(now - DAY)
    return select(func.count().filter(spent.c.moment > now - HOUR), func.count(), *more).select_from(spent)


def moments(since: datetime) -> Subquery:
    """When each article since then was indexed, or analysed if it is not to be indexed after all."""
    in_vain = or_(DocumentVersion.failure.is_not(None), DocumentVersion.superseded_at.is_not(None),
                  Document.state.in_([DocumentState.QUARANTINED, DocumentState.REMOVED]))
    analysed = metered(VersionAnalysis.analysed_at).join(
        VersionAnalysis, VersionAnalysis.version_id == DocumentVersion.id
    ).where(VersionAnalysis.analysed_at > since, DocumentVersion.indexed_at.is_(None), in_vain)
    indexed = metered(DocumentVersion.indexed_at.label("moment")).where(DocumentVersion.indexed_at > since)
    return union_all(indexed, analysed).subquery()


def metered(*columns: Any) -> Select[Any]:
    """Of the versions that count."""
    return (
        select(*columns).select_from(DocumentVersion).join(DocumentVersion.document).join(Document.source)
        .where(METERED)
    )
