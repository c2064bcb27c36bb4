"""Leases on rows: taken by one holder for a while, renewed by it, free again when given back or run out.

Moments are those of the database's clock, which all workers share, unless others are given.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Update, and_, func, or_, update

from models.tables import Artifact, Document, DocumentVersion

Leased = type[Document] | type[DocumentVersion] | type[Artifact]
Moment = datetime | ColumnElement[datetime]

NOW = func.now()
GIVEN_BACK: dict[str, Any] = {"leased_by": None, "leased_until": None}


def new_holder(worker: str) -> str:
    """A name for one piece of the worker's work: two processes of one name never hold the same lease."""
    return f"{worker}/{uuid4().hex}"


def free(rows: Leased, now: Moment = NOW) -> ColumnElement[bool]:
    """Nobody holds the row."""
    return or_(rows.leased_until.is_(None), rows.leased_until < now)


def held_by(rows: Leased, holder: str, now: Moment = NOW) -> ColumnElement[bool]:
    """The holder has it still: neither has another taken it, nor has its time run out."""
    return and_(rows.leased_by == holder, rows.leased_until >= now)


def taken(holder: str, length: timedelta, now: Moment = NOW) -> dict[str, Any]:
    """What a row is set to when it is taken, or kept on."""
    return {"leased_by": holder, "leased_until": now + length}


def renewal(rows: Leased, holder: str, length: timedelta) -> Update:
    """Keep on what is held still: what has run out may be another's next."""
    return update(rows).where(held_by(rows, holder)).values(**taken(holder, length))


def return_of(rows: Leased, holder: str) -> Update:
    """Give back all that one holder has."""
    return update(rows).where(rows.leased_by == holder).values(**GIVEN_BACK)


def return_from(rows: Leased, worker: str) -> Update:
    """Give back all that a worker of this name had when it was killed."""
    return update(rows).where(rows.leased_by.startswith(f"{worker}/", autoescape=True)).values(**GIVEN_BACK)
