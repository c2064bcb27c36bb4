"""What answers were made of, and what readers say and ask."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import LIBRARY_SCOPE, NOW, Table, scoped


class UsageEvent(Table):
    """An excerpt that a retrieval used or dropped; labels are resolved from here and nowhere else.

    ``start`` and ``end`` are its place in the version's text (none: its chunk's, in old rows). Of an excerpt
    of two chunks, ``chunk_id`` is the better.
    """

    __tablename__ = "usage_event"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    retrieval_id: Mapped[UUID]
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    query: Mapped[str]
    previous: Mapped[str | None]  # the message before it
    label: Mapped[str]
    used: Mapped[bool]
    why: Mapped[str | None]
    document_id: Mapped[UUID] = mapped_column(ForeignKey("document.id", ondelete="CASCADE"))
    version_id: Mapped[UUID] = mapped_column(ForeignKey("document_version.id", ondelete="CASCADE"))
    chunk_id: Mapped[UUID] = mapped_column(ForeignKey("chunk.id", ondelete="CASCADE"))
    start: Mapped[int | None]
    end: Mapped[int | None]
    score: Mapped[dict[str, Any]]
    happened_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        scoped(),
        Index("uq_usage_event_retrieval_id_label", "retrieval_id", "label", unique=True),
        Index("ix_usage_event_document_id_happened_at", "document_id", "happened_at"),
    )


class Interest(Table):
    """What readers of exactly these scopes ask about, and how much; it fades unless it is ``kept``."""

    __tablename__ = "interest"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    topic: Mapped[str]  # in lower case
    strength: Mapped[float]  # 0 to 1, at ``touched_at``
    touched_at: Mapped[datetime] = mapped_column(server_default=NOW)
    kept: Mapped[bool] = mapped_column(default=False)  # as its owner has set it: neither fades nor learns

    __table_args__ = (
        scoped(),
        CheckConstraint("strength BETWEEN 0 AND 1", name="strength"),
        Index("uq_interest_scopes_topic", "scopes", "topic", unique=True),
    )


class Ranking(Table):
    """How answers are ranked, as it was set at some time; see tasks.answer.tuning. The last one counts."""

    __tablename__ = "ranking"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    weights: Mapped[dict[str, Any]]  # by part of a score
    half_lives: Mapped[dict[str, Any]]  # days by content type; null does not age
    set_by: Mapped[str]
    set_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (Index("ix_ranking_set_at", "set_at"),)


class Judgment(Table):
    """Whether a document answers a question, as a reader of these scopes has said; the last word counts."""

    __tablename__ = "judgment"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    query: Mapped[str]
    previous: Mapped[str | None]  # the message before it
    question: Mapped[str]  # the hash of both
    document_id: Mapped[UUID] = mapped_column(ForeignKey("document.id", ondelete="CASCADE"))
    good: Mapped[bool]
    judged_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        scoped(),
        Index("uq_judgment_scopes_question_document_id", "scopes", "question", "document_id", unique=True),
    )
