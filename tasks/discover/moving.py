"""A source whose address has gone elsewhere for good: believed when it was said again and again."""

from dataclasses import replace
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from models.addresses import without_fragment
from models.headers import headers_for
from models.tables import Source
from tasks.discover.doubt import GOOD
from tasks.discover.offers import Offer
from tasks.discover.wishes import LONGEST_URL

BELIEVED = 3  # good polls in a row that were led to the same address


def moved(session: Session, source: Source, offer: Offer) -> tuple[Offer, dict[str, Any]]:
    """The offer, which says of a move that is made or cannot be, and what changes of the source.

    Only an answer that is what the source should be counts; one that goes wrong changes nothing.
    """
    to = offer.moved_to and without_fragment(offer.moved_to)
    if offer.outcome not in GOOD or (to is None and source.moved_to is None):
        return offer, {}
    if to is None or to == source.url or len(to) > LONGEST_URL:
        return offer, {"moved_to": None, "moved_polls": 0}
    polls = source.moved_polls + 1 if to == source.moved_to else 1
    noted = {"moved_to": to, "moved_polls": polls}
    if polls < BELIEVED:
        return offer, noted
    if why := hindrance(session, source, to):
        return replace(offer, reason=f"{offer.reason}; it has moved to {to}, {why}"), noted
    reason = f"{offer.reason}; it has moved to {to} and is looked at there from now on"
    return replace(offer, reason=reason), {"url": to, "moved_to": None, "moved_polls": 0}


def hindrance(session: Session, source: Source, to: str) -> str | None:
    """Why the source stays where it is, and goes on being led there."""
    if source.url.startswith("https:") and not to.startswith("https:"):
        return "which is less secure"
    if headers_for(to, source.headers, source.url) != source.headers:
        return "a server that its headers were not set for"
    taken = exists().where(Source.kind == source.kind, Source.url == to, Source.removed_at.is_(None))
    return "which is a source of its own" if session.scalar(select(taken)) else None
