"""Offers that are not believed at once: those that hold nothing, or far less than before."""

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from models.states import DocumentState, PollOutcome, SourceKind
from models.tables import Document, Poll, Source
from tasks.discover.offers import Offer

GOOD = (PollOutcome.NEW, PollOutcome.UNCHANGED)
LOOKED_BACK = 50  # polls
MANY = 8  # items: fewer than that come and go
FRACTION = 4  # an offer of less than a quarter of the last one is doubted
BELIEVED = 3  # times in a row that it was doubted: then the source is like that now


def doubt(session: Session, source: Source, offer: Offer) -> str | None:
    """Why the offer is not to be touched, if it is suspicious beside what the source offered before."""
    if source.kind == SourceKind.DOCUMENTATION or offer.partial:
        return None  # our own, or what is new of a whole that is not all looked at
    if not offer.items and has_documents(session, source):
        return "it offers nothing to read, although it did before"
    polls = session.execute(
        select(Poll.outcome, Poll.items_seen).where(Poll.source_id == source.id)
        .order_by(Poll.started_at.desc()).limit(LOOKED_BACK)
    ).all()
    usual = next((poll.items_seen for poll in polls if poll.outcome in GOOD and poll.items_seen), 0)
    before = [poll.outcome for poll in polls[:BELIEVED]]
    if usual < MANY or offer.seen * FRACTION >= usual or before == [PollOutcome.SUSPECT] * BELIEVED:
        return None
    return f"it offers only {offer.seen}, although it offered {usual} before"


def has_documents(session: Session, source: Source) -> bool:
    live = exists().where(Document.source_id == source.id, Document.state != DocumentState.REMOVED)
    return bool(session.scalar(select(live)))
