"""Documents that repeat another: what becomes of them when that one repeats nothing for them any more."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from models.states import DocumentState
from models.tables import Document


def let_go(session: Session, survivors: Select[UUID], reason: str, now: datetime) -> None:
    """Let the duplicates of ``survivors``, a query of ids, be read for themselves.

    One that is being saved at this moment is passed over, so that nobody waits in a circle: whoever saves it
    looks at its survivor afterwards.
    """
    freed = select(Document.id).where(
        Document.duplicate_of.in_(survivors), Document.state == DocumentState.DUPLICATE
    ).with_for_update(skip_locked=True)
    session.execute(
        update(Document).where(Document.id.in_(freed)).values(
            state=DocumentState.DISCOVERED, reason=reason, duplicate_of=None, due_at=now, attempts=0,
            etag=None, last_modified=None)
        .execution_options(synchronize_session=False)
    )
