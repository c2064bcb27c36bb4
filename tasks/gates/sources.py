"""The measures of a source beside its own history: what it offers, and how long its texts are."""

from collections.abc import Collection, Sequence
from statistics import median
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select

from models.session import Database
from models.states import PollOutcome, SourceKind
from models.tables import Document, DocumentVersion, Poll, Source
from tasks.gates.judge import Measured

HISTORY = 20  # polls, and texts, that are looked back on
LEAST = 5  # of them make a history
LATEST = 3  # texts that are held to it: one short notice is no change of the site


def sources_of(db: Database, versions: Collection[UUID]) -> list[UUID]:
    with db.begin() as session:
        return list(session.scalars(
            select(Document.source_id).distinct()
            .join(DocumentVersion, DocumentVersion.document_id == Document.id)
            .where(DocumentVersion.id.in_(versions)).order_by(Document.source_id)))


def measure_sources(db: Database, sources: Sequence[UUID]) -> list[Measured]:
    """The columns of the suite for each source; no value where there is no history yet."""
    return [Measured(source, {"items_ratio": against(series(db, items(source)), 1),
                              "length_ratio": against(series(db, lengths(source)), LATEST)})
            for source in sources]


def against(newest_first: Sequence[int], latest: int) -> float | None:
    """The median of the latest values beside the median of those before."""
    before = newest_first[latest:]
    usual = median(before) if len(before) >= LEAST else 0
    return median(newest_first[:latest]) / usual if usual else None


def series(db: Database, query: Select[Any]) -> list[int]:
    with db.begin() as session:
        return list(session.scalars(query.limit(HISTORY)))


def items(source: UUID) -> Select[Any]:
    """What its polls saw; those that failed, or were told that nothing changed, saw nothing.

    A look at a sitemap sees those of its files that changed, so their numbers tell nothing.
    """
    return select(Poll.items_seen).join(Source, Source.id == Poll.source_id).where(
        Poll.source_id == source, Poll.items_seen > 0, Source.kind != SourceKind.SITEMAP,
        Poll.outcome.in_([PollOutcome.NEW, PollOutcome.UNCHANGED])).order_by(Poll.started_at.desc())


def lengths(source: UUID) -> Select[Any]:
    """How long its texts are, each document's newest."""
    return (
        select(func.length(DocumentVersion.text)).join(Document, Document.id == DocumentVersion.document_id)
        .where(Document.source_id == source, DocumentVersion.superseded_at.is_(None))
        .order_by(DocumentVersion.read_at.desc()))
