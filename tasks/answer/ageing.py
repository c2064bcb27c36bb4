"""How documents age: where some of every age stand on the curves, what one's scores were and will be."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Executable, Row, Select, and_, bindparam, func, select, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import aliased

from models.session import Database
from models.states import ContentType, DocumentState
from models.tables import Document, DocumentVersion, Source, UsageEvent, VersionAnalysis
from tasks.answer.candidates import readable
from tasks.answer.freshness import age, content_type, freshness
from tasks.answer.tuning import DAY, Tuning, current

Json = dict[str, Any]

AGES = (0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 9, 11, 14, 17, 21, 25, 30, 36, 43, 50, 60, 70, 80, 95, 110)  # days
OF_EACH = 8  # documents from each of these ages on
ASKED = 20  # retrievals that used or dropped the document, the last ones
AHEAD = tuple(days * DAY for days in (1, 3, 7, 30, 90, 365))


def ageing(db: Database, scopes: Sequence[str], now: datetime) -> Json:
    """``half_lives`` in days by content type (None: does not age), those of the ``default``, ``counts`` of
    what answers by type, and ``documents``: some that arrived at each of AGES, the last first, each with
    ``type``, ``age`` in days and ``freshness``.

    What is not analysed is of the type that its source's kind makes likely.
    """
    tuning, _ = current(db)
    rows = db.execute(_of_all_ages(scopes, now))
    return {
        "half_lives": tuning.to_json()["half_lives"], "default": Tuning().to_json()["half_lives"],
        "documents": [_placed(row, tuning, now) for row in rows],
        "counts": {row.content_type: row.documents for row in db.execute(_counts(scopes))},
    }


def life(db: Database, document_id: UUID, scopes: Sequence[str], now: datetime) -> Json | None:
    """One of ``ageing``'s documents, its ``half_life``, its freshness ``ahead`` at some days from now, and
    ``asked``: the last questions that it was found for, the ``score`` then, and what age makes of it ``now``.
    """
    tuning, _ = current(db)
    rows = db.execute(_answering(scopes).where(Document.id == document_id))
    if not rows:
        return None
    kind, dated = _kind(rows[0]), _dated(rows[0])
    half_life = tuning.half_lives.get(kind)
    asked = db.execute(
        select(UsageEvent.query, UsageEvent.happened_at, UsageEvent.used, UsageEvent.score)
        .where(UsageEvent.document_id == document_id, readable(UsageEvent.scopes))
        .order_by(UsageEvent.happened_at.desc(), UsageEvent.id).limit(ASKED), {"scopes": list(scopes)})
    today = freshness(age(dated, now), half_life)
    return _placed(rows[0], tuning, now) | {
        "half_life": half_life and half_life / DAY, "weight": tuning.weights.freshness,
        "ahead": [{"days": ahead / DAY, "freshness": round(freshness(age(dated, now + ahead), half_life), 4)}
                  for ahead in AHEAD],
        "asked": [{"query": row.query, "at": row.happened_at.isoformat(), "used": row.used,
                   "age": age(dated, row.happened_at) / DAY, "score": row.score,
                   "now": round(row.score["total"] + tuning.weights.freshness
                                * (today - row.score["freshness"]), 4)} for row in asked],
    }


def _placed(row: Row[Any], tuning: Tuning, now: datetime) -> Json:
    kind, old = _kind(row), age(_dated(row), now)
    return {
        "document_id": str(row.document_id), "title": row.title, "url": row.url, "source": row.source,
        "type": kind.value, "dated": _dated(row).isoformat(), "is_published": row.published_at is not None,
        "age": round(old / DAY, 3), "freshness": round(freshness(old, tuning.half_lives.get(kind)), 4),
    }


def _kind(row: Row[Any]) -> ContentType:
    return content_type(row.kind, row.content_type)


def _dated(row: Row[Any]) -> datetime:
    dated: datetime = row.published_at or row.discovered_at
    return dated


def _answering(
    scopes: Sequence[str],
) -> Select[UUID, str, str, str, str, str, datetime | None, datetime]:
    return (
        select(Document.id.label("document_id"), DocumentVersion.title, Document.url,
               Source.name.label("source"), Source.kind, VersionAnalysis.content_type,
               DocumentVersion.published_at, Document.discovered_at)
        .join(DocumentVersion, and_(  # from either side by an index
            DocumentVersion.id == Document.version_id, DocumentVersion.document_id == Document.id))
        .join(Source, Source.id == Document.source_id)
        .outerjoin(VersionAnalysis, VersionAnalysis.version_id == DocumentVersion.id)
        .where(Document.state != DocumentState.REMOVED, Source.removed_at.is_(None),
               Document.scopes.contained_by(list(scopes)))
    )


def _of_all_ages(scopes: Sequence[str], now: datetime) -> Executable:
    """By the index on the times of arrival, so that it looks at no more than it shows."""
    ages = bindparam("ages", [now - days * DAY for days in AGES], type_=ARRAY(DateTime(timezone=True)))
    moments = select(func.unnest(ages).label("moment")).subquery()
    arrived = aliased(DocumentVersion)
    some = (
        select(arrived.id).where(arrived.indexed_at <= moments.c.moment, arrived.superseded_at.is_(None))
        .order_by(arrived.indexed_at.desc()).limit(OF_EACH).lateral("some")
    )
    found = select(some.c.id).select_from(moments).join(some, true())
    return (_answering(scopes).where(DocumentVersion.id.in_(found))
            .order_by(DocumentVersion.indexed_at.desc(), DocumentVersion.id))


def _counts(scopes: Sequence[str]) -> Executable:
    return (
        select(VersionAnalysis.content_type, func.count().label("documents"))
        .join(Document, Document.version_id == VersionAnalysis.version_id)
        .where(Document.state != DocumentState.REMOVED, Document.scopes.contained_by(list(scopes)))
        .group_by(VersionAnalysis.content_type)
    )
