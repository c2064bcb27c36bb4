"""Doubts about what a page says: what comes and goes, or is suddenly nearly gone, is no new version yet."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, exists, func, or_, select
from sqlalchemy.orm import Session

from models.blocks import Block, text_of
from models.noise import essence
from models.tables import DocumentVersion
from tasks.errors import Transient
from tasks.read.claims import Claimed

FLAPPING = timedelta(days=1)  # between a text and the return of the one before it
LONG = 1000  # characters of a text that is missed when it goes
REST = 0.25  # of it
PART = 0.8  # of it, where all that is left was there before
AGAIN = timedelta(hours=1)


def is_noise_only(session: Session, document: Claimed, blocks: Sequence[Block], now: datetime) -> bool:
    """Whether nothing but noise parts a text from the newest version: clocks, counters, ages, today's date.

    A date that was the day's when the version was read may still be there, and be the day's no more.
    """
    newest = newest_of(session, document)
    if newest is None or newest.essence is None:
        return False
    return newest.essence in {essence(blocks, day) for day in (now.date(), newest.read_at.date())}


def goes_back_and_forth(
    session: Session, document: Claimed, blocks: Sequence[Block], content_hash: str, now: datetime
) -> str | None:
    """Why a text is no news: the document said it before, and its newest version is not a day old.

    Caches that serve two states of a page in turn would otherwise make a version of each look.
    """
    newest = newest_of(session, document)
    if newest is None or now - newest.read_at >= FLAPPING:
        return None
    said_before = select(DocumentVersion.id).where(
        DocumentVersion.document_id == document.id,
        or_(DocumentVersion.content_hash == content_hash,
            DocumentVersion.essence == essence(blocks, now.date())))
    if not session.scalar(select(exists(said_before.subquery().select()))):
        return None
    return f"it goes back and forth between two texts: version {newest.number} stands"


def check_whole(session: Session, document: Claimed, blocks: Sequence[Block]) -> None:
    """Raises Transient for a text that has lost most of the last one, until a second look says the same.

    A text that lost a part, and says nothing that it did not say, is doubted sooner: a region did not load.
    """
    newest = None if document.attempts else newest_of(session, document)
    if newest is None or newest.length < LONG:
        return
    left = len(text_of(blocks)) / newest.length
    if left < REST or (left < PART and is_cut(session, newest.id, blocks)):
        lost = "most" if left < 0.5 else "a part"
        raise Transient(f"it has lost {lost} of the text of version {newest.number}: "
                        "it is looked at again before that is believed", AGAIN)


def is_cut(session: Session, version: UUID, blocks: Sequence[Block]) -> bool:
    stored = session.scalars(select(DocumentVersion.blocks).where(DocumentVersion.id == version)).one()
    return {block.text for block in blocks} <= {block["text"] for block in stored}


def newest_of(session: Session, document: Claimed) -> Row[Any] | None:
    if document.content_hash is None:
        return None
    return session.execute(
        select(DocumentVersion.id, DocumentVersion.number, DocumentVersion.read_at, DocumentVersion.essence,
               func.length(DocumentVersion.text).label("length"))
        .where(DocumentVersion.document_id == document.id).order_by(DocumentVersion.number.desc()).limit(1)
    ).one_or_none()
