"""Doubts about what a page says: what comes and goes, or is suddenly nearly gone, is no new version yet."""

from datetime import datetime, timedelta

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from models.tables import DocumentVersion
from tasks.errors import Transient
from tasks.read.claims import Claimed

FLAPPING = timedelta(days=1)  # between a text and the return of the one before it
LONG = 1000  # characters of a text that is missed when it goes
REST = 0.25  # of it
AGAIN = timedelta(hours=1)


def goes_back_and_forth(
    session: Session, document: Claimed, content_hash: str, now: datetime
) -> str | None:
    """Why a text is no news: the document said it before, and its newest version is not a day old.

    Caches that serve two states of a page in turn would otherwise make a version of each look.
    """
    versions = select(DocumentVersion.number, DocumentVersion.read_at).where(
        DocumentVersion.document_id == document.id)
    newest = session.execute(versions.order_by(DocumentVersion.number.desc()).limit(1)).one_or_none()
    if newest is None or now - newest.read_at >= FLAPPING:
        return None
    said_before = versions.where(DocumentVersion.content_hash == content_hash)
    if not session.scalar(select(exists(said_before.subquery().select()))):
        return None
    return f"it goes back and forth between two texts: version {newest.number} stands"


def check_whole(session: Session, document: Claimed, body: str) -> None:
    """Raises Transient for a text that has lost most of the last one, until a second look says the same."""
    if document.attempts:
        return
    newest = session.execute(
        select(DocumentVersion.number, func.length(DocumentVersion.text).label("length"))
        .where(DocumentVersion.document_id == document.id).order_by(DocumentVersion.number.desc()).limit(1)
    ).one_or_none()
    if newest and newest.length >= LONG and len(body) < REST * newest.length:
        raise Transient(f"it has lost most of the text of version {newest.number}: "
                        "it is looked at again before that is believed", AGAIN)
