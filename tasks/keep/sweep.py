"""What nothing leads to any more is deleted: bytes of documents that were removed, and of a crash; and
promises to take a file that have run out.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select, update

from models.session import Database
from models.states import DocumentState
from models.tables import Artifact, Document
from tasks.keep import tickets
from tasks.ports import Store

GRACE = timedelta(days=1)  # between the bytes of a file and its row lies a moment
AT_ONCE = 1_000


async def sweep(db: Database, store: Store, now: datetime) -> int:
    """Delete what lies in the store for a day without leading back to a document; how much that was."""
    tickets.forget(db, now)
    old = [key async for key, written_at in store.written() if written_at < now - GRACE]
    lost = [key for at in range(0, len(old), AT_ONCE) for key in unknown(db, old[at:at + AT_ONCE])]
    for key in lost:
        await store.delete(key)
    return len(lost)


def unknown(db: Database, keys: Sequence[str]) -> list[str]:
    """Those of the keys that no document leads to; their rows forget them first."""
    known = (
        select(Artifact.key).join(Document, Document.artifact_id == Artifact.id)
        .where(Artifact.key.in_(keys), Document.state != DocumentState.REMOVED))
    with db.begin() as session:
        lost = sorted(set(keys).difference(session.scalars(known)))
        session.execute(update(Artifact).where(Artifact.key.in_(lost)).values(key=None))
    return lost
