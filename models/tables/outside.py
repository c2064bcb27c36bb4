"""Outside help: sealed keys, how much of them is used, and what was asked with them."""

from datetime import date, datetime
from uuid import UUID, uuid4

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.states import ErrandOutcome
from models.tables.base import LIBRARY_SCOPE, NOW, Table, one_of, scoped


class Credential(Table):
    """A key for an external AI, sealed for this row, its provider, address and owner (``tasks.outside``)."""

    __tablename__ = "credential"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    principal_id: Mapped[UUID | None]  # whose it is; none: everybody's
    provider: Mapped[str]
    url: Mapped[str]  # that it is sent to, and no other
    model: Mapped[str]
    sealed: Mapped[bytes]  # models.sealing
    last_four: Mapped[str]  # of its characters: all that is ever shown; empty where it is short
    priority: Mapped[int] = mapped_column(default=50)
    enabled: Mapped[bool] = mapped_column(default=True)
    requests_per_minute: Mapped[int | None]
    tokens_per_minute: Mapped[int | None]
    requests_per_day: Mapped[int | None]
    tokens_per_day: Mapped[int | None]
    refused: Mapped[str | None]  # why its provider will not have it: not tried until its owner asks for it
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        CheckConstraint("priority BETWEEN 0 AND 100", name="priority"),
        Index("ix_credential_principal_id", "principal_id"),
    )


class CredentialDay(Table):
    """What a credential was used for on one day, as its provider counts days."""

    __tablename__ = "credential_day"

    credential_id: Mapped[UUID] = mapped_column(
        ForeignKey("credential.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    requests: Mapped[int] = mapped_column(default=0)
    tokens: Mapped[int] = mapped_column(default=0)


class Errand(Table):
    """A question that left for an external AI, word for word, and what came back."""

    __tablename__ = "errand"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    retrieval_id: Mapped[UUID]  # which found nothing relevant
    principal_id: Mapped[UUID]  # who asked
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    credential_id: Mapped[UUID | None] = mapped_column(ForeignKey("credential.id", ondelete="SET NULL"))
    provider: Mapped[str]
    model: Mapped[str]
    question: Mapped[str]  # as it left
    outcome: Mapped[str] = mapped_column(default=ErrandOutcome.SENT.value)
    reason: Mapped[str | None]  # why there is no answer
    tokens: Mapped[int | None]  # as the provider reports
    document_id: Mapped[UUID | None] = mapped_column(ForeignKey("document.id", ondelete="SET NULL"))
    sent_at: Mapped[datetime] = mapped_column(server_default=NOW)
    ended_at: Mapped[datetime | None]

    __table_args__ = (
        one_of("outcome", ErrandOutcome),
        scoped(),
        Index("ix_errand_sent_at", "sent_at"),
        Index("ix_errand_retrieval_id", "retrieval_id"),
        Index("ix_errand_document_id", "document_id"),
        Index("ix_errand_credential_id", "credential_id"),
    )
