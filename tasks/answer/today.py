"""What came in some period: new documents, new versions, failures; by source, over time, the last by name.

A document has arrived when its first version answers, and changed when a later one does.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Executable, Row, Text, and_, case, cast, func, select

from models.session import Database
from models.states import DocumentState
from models.tables import Document, DocumentVersion, Source

Json = dict[str, Any]

SHOWN = 10  # by name
STEPS = 24  # that the period is divided into
FAILING = (DocumentState.WAITING, DocumentState.FAILED, DocumentState.REJECTED, DocumentState.NEEDS_BROWSER)


def today(db: Database, scopes: Sequence[str], since: datetime, now: datetime) -> Json:
    """``counts`` of what arrived, changed and failed; ``steps``, those of what arrived and changed over time.

    ``sources``: the same by source, most first. ``changes``: the last, each with its ``version``'s number.
    ``failures``: what began to fail, by source and reason, with one document of each. ``failing``: sources
    whose last looks went wrong. ``quarantined``: how many documents wait for a decision.
    """
    with db.begin() as session:
        came = session.execute(_came(scopes, since, now)).all()
        failures = session.execute(_failures(scopes, since)).all()
        changes = session.execute(_changes(scopes, since)).all()
        failing = session.execute(_failing(scopes)).all()
        quarantined = session.scalar(select(func.count(Document.id)).where(
            Document.state == DocumentState.QUARANTINED, Document.scopes.contained_by(list(scopes))))
    sources, steps = _by_source(came, failures), Counter[tuple[int, str]]()
    for row in came:
        steps[row.step, row.name] += row.documents
    return {
        "since": since.isoformat(), "until": now.isoformat(),
        "counts": {name: sum(source[name] for source in sources)
                   for name in ("arrived", "changed", "failed")},
        "steps": [{name: steps[step, name] for name in ("arrived", "changed")}
                  for step in range(1, STEPS + 1)],
        "sources": sources,
        "changes": [_told(row) for row in changes],
        "failures": [_told(row) for row in failures[:SHOWN]],
        "failing": [_told(row) for row in failing],
        "quarantined": quarantined,
    }


def _by_source(came: Sequence[Row[Any]], failures: Sequence[Row[Any]]) -> list[Json]:
    found: dict[UUID, Json] = {}
    for row in (*came, *failures):
        name = getattr(row, "name", "failed")
        entry = found.setdefault(row.source_id, {
            "id": str(row.source_id), "source": row.source, "arrived": 0, "changed": 0, "failed": 0})
        entry[name] += row.documents
    return sorted(found.values(),
                  key=lambda it: (-it["arrived"] - it["changed"], -it["failed"], it["source"]))


def _came(scopes: Sequence[str], since: datetime, now: datetime) -> Executable:
    first, last = since.timestamp(), now.timestamp()
    moment = func.extract("epoch", DocumentVersion.indexed_at)
    step = func.least(func.width_bucket(moment, first, last, STEPS), STEPS).label("step")
    name = case((DocumentVersion.number == 1, "arrived"), else_="changed").label("name")
    return (
        select(Document.source_id, Source.name.label("source"), name, step, func.count().label("documents"))
        .join(Document, Document.id == DocumentVersion.document_id)
        .join(Source, Source.id == Document.source_id)
        .where(DocumentVersion.indexed_at >= since, _there(scopes))
        .group_by(Document.source_id, Source.name, name, step)
    )


def _changes(scopes: Sequence[str], since: datetime) -> Executable:
    """The last of them; a document that changed twice is named once."""
    last = (
        select(DocumentVersion.document_id, func.max(DocumentVersion.number).label("version"),
               func.max(DocumentVersion.indexed_at).label("at"))
        .where(DocumentVersion.indexed_at >= since, DocumentVersion.number > 1)
        .group_by(DocumentVersion.document_id).subquery()
    )
    return (
        select(last.c.document_id, last.c.version, last.c.at, Document.title, Document.url,
               Source.name.label("source"))
        .join(Document, Document.id == last.c.document_id).join(Source, Source.id == Document.source_id)
        .where(_there(scopes)).order_by(last.c.at.desc(), last.c.document_id).limit(SHOWN)
    )


def _failures(scopes: Sequence[str], since: datetime) -> Executable:
    one = func.min(cast(Document.id, Text)).label("document_id")
    many = func.count().label("documents")
    return (
        select(Document.source_id, Source.name.label("source"), Document.state, Document.reason, one, many,
               func.max(Document.failing_since).label("at"))
        .join(Source, Source.id == Document.source_id)
        .where(Document.failing_since >= since, Document.state.in_(FAILING), _there(scopes))
        .group_by(Document.source_id, Source.name, Document.state, Document.reason)
        .order_by(many.desc(), Source.name, Document.reason)
    )


def _failing(scopes: Sequence[str]) -> Executable:
    return (
        select(Source.id.label("source_id"), Source.name.label("source"), Source.failures, Source.health,
               Source.last_good_at)
        .where(Source.failures > 0, Source.removed_at.is_(None), Source.paused.is_(False),
               Source.scopes.contained_by(list(scopes)))
        .order_by(Source.failures.desc(), Source.name).limit(SHOWN)
    )


def _there(scopes: Sequence[str]) -> ColumnElement[bool]:
    return and_(Document.state != DocumentState.REMOVED, Source.removed_at.is_(None),
                Document.scopes.contained_by(list(scopes)))


def _told(row: Row[Any]) -> Json:
    return {name: _json(value) for name, value in row._mapping.items()}


def _json(value: Any) -> Any:
    match value:
        case UUID():
            return str(value)
        case datetime():
            return value.isoformat()
    return value
