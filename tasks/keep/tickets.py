"""The upload door: a promise to take one file, short-lived and good for one time."""

import asyncio
import secrets
from asyncio import to_thread
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import delete, update
from sqlalchemy.dialects.postgresql import insert

from models.session import Database
from models.tables import UploadTicket
from tasks.errors import Rejected
from tasks.keep.files import Doors, Received, keep_file, received
from tasks.keep.given import Declaration, Given, Subject
from tasks.keep.rows import Kept
from tasks.ports import Original

LIFETIME = timedelta(minutes=15)


class NoTicket(Exception):
    """Unknown, used or too old: nobody is told which."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What is told to whoever asked for it, once."""

    secret: str
    expires_at: datetime


def issue(db: Database, given: Given, now: datetime) -> Ticket:
    """A ticket for the file that ``given`` declares."""
    declared = given.upload
    if declared is None:
        raise ValueError("only an upload gets a ticket")
    ticket = Ticket(secrets.token_urlsafe(32), now + LIFETIME)
    with db.begin() as session:
        session.execute(insert(UploadTicket).values(
            hash=hash_of(ticket.secret), scopes=list(given.scopes), name=declared.name,
            media_type=declared.media_type, size=declared.size, sha256=declared.sha256, title=given.title,
            about=given.about, created_at=now, expires_at=ticket.expires_at,
            subject_type=given.subject and given.subject.type,
            subject_title=given.subject and given.subject.title))
    return ticket


def forget(db: Database, now: datetime) -> None:
    """Delete those that have run out long ago."""
    with db.begin() as session:
        session.execute(delete(UploadTicket).where(UploadTicket.expires_at < now - timedelta(days=1)))


async def upload(doors: Doors, secret: str, chunks: AsyncIterator[bytes], now: datetime) -> Kept:
    """Keep the file that a ticket promises to take.

    The ticket is used up by a file that was kept, and by one that is not what was declared; half an upload,
    or a scanner that is away, leave it good for another try. Raises NoTicket, Rejected and Transient.
    """
    row = await to_thread(take, doors.db, secret, now)
    if row is None:
        raise NoTicket
    try:
        async with received(chunks, doors.folder, row.size) as file:
            hold_to(row, file)
            mine = replace(doors, db=doors.db.caller(row.scopes))  # who asked for it wrote into these
            work = keep_file(mine, given_by(row), file, Original(file.path, row.name, row.media_type), now)
            return await to_thread(asyncio.run, work)  # which waits for the database, in a loop of its own
    except Rejected:
        raise
    except BaseException:
        give_back(doors.db, secret)
        raise


def hold_to(row: UploadTicket, file: Received) -> None:
    """Raises Rejected, with all that is otherwise than declared."""
    wrong = []
    if file.size != row.size:
        wrong.append(f"{row.size:,} bytes were declared, and {file.size:,} came")
    if file.sha256 != row.sha256:
        wrong.append("its SHA-256 is not the one that was declared")
    if wrong:
        raise Rejected(wrong)


def take(db: Database, secret: str, now: datetime) -> UploadTicket | None:
    """Use a ticket: of two who try at once, one gets it."""
    good = UploadTicket.hash == hash_of(secret), UploadTicket.used_at.is_(None), UploadTicket.expires_at > now
    with db.begin() as session:
        return session.scalars(
            update(UploadTicket).where(*good).values(used_at=now).returning(UploadTicket)).one_or_none()


def give_back(db: Database, secret: str) -> None:
    with db.begin() as session:
        session.execute(update(UploadTicket).where(UploadTicket.hash == hash_of(secret)).values(used_at=None))


def given_by(row: UploadTicket) -> Given:
    subject = Subject(row.subject_type or "", row.subject_title) if row.subject_title else None
    return Given(tuple(row.scopes), title=row.title, about=row.about, subject=subject,
                 upload=Declaration(row.name, row.media_type, row.size, row.sha256))


def hash_of(secret: str) -> str:
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()
