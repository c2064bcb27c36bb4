"""What left for external AIs, and what came of it: read, and never changed."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select

from models.session import Database
from models.tables import Errand
from tasks.outside.providers import title_of

NEWEST = 100


def asked(db: Database, principal_id: UUID, scopes: Sequence[str]) -> list[dict[str, Any]]:
    """The last questions of a principal, word for word as they left, the newest first."""
    mine = Errand.principal_id == principal_id, Errand.scopes.contained_by(list(scopes))
    with db.at_once() as session:
        rows = session.scalars(select(Errand).where(*mine).order_by(Errand.sent_at.desc()).limit(NEWEST))
        return [{
            "id": str(row.id), "sent_at": row.sent_at.isoformat(), "provider": title_of(row.provider),
            "model": row.model, "question": row.question, "outcome": row.outcome, "reason": row.reason,
            "tokens": row.tokens, "retrieval_id": str(row.retrieval_id),
            "document_id": str(row.document_id) if row.document_id else None} for row in rows]
