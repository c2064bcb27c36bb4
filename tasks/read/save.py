"""What a look came to, written in one transaction: the document's next state, or a new version of it."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session, load_only

from models.blocks import digest, text_of
from models.duplicates import let_go
from models.extracted import Extracted
from models.lease import GIVEN_BACK
from models.session import Database
from models.states import DocumentState, Severity, Verdict
from models.tables import Document, DocumentVersion, GateResult
from tasks.errors import NeedsBrowser, Postponed, StageError, Transient
from tasks.ports import Fetched
from tasks.read.claims import Claimed
from tasks.read.doubts import check_whole, goes_back_and_forth, is_noise_only
from tasks.read.versions import NOT_SURVIVING, absorb, add_version, find_twin, survives, withdraw

FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(days=1)
MAX_ATTEMPTS = 8
REFUSED: dict[str, DocumentState] = {
    Verdict.QUARANTINED: DocumentState.QUARANTINED, Verdict.REJECTED: DocumentState.REJECTED,
}


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at an address brought: an answer, and what it says unless it is the one we have."""

    fetched: Fetched
    extracted: Extracted | None
    instead: str = ""  # why it is the text in the feed that was read


@dataclass(frozen=True, slots=True)
class Saved:
    """What was written of a document."""

    state: str
    reason: str
    version: int | None = None  # the number of the one that was added
    due_at: datetime | None = None


def save(
    db: Database, document: Claimed, outcome: Look | StageError, now: datetime,
    max_attempts: int = MAX_ATTEMPTS,
) -> Saved | None:
    """Write what the look came to and give the lease back.

    None: the lease is lost, to time, to the owner's removal or to a restart. Then nothing is written, since
    whoever holds it now may know better.
    """
    with db.begin() as session:
        if not holds(session, document):
            return None
        if isinstance(outcome, StageError):
            values = failure(outcome, document.attempts + 1, now, max_attempts)
        else:
            try:
                values = success(session, document, outcome)
            except Transient as doubt:
                values = failure(doubt, document.attempts + 1, now, max_attempts)
        version = values.pop("version", None)
        untouched = Document.due_at.is_not_distinct_from(document.due_at)  # no poll asked again meanwhile
        due_at = case((untouched, values.pop("due_at", None)), else_=Document.due_at)
        row = session.execute(
            update(Document).where(Document.id == document.id)
            .values(**values, due_at=due_at, **GIVEN_BACK).returning(Document.due_at)
        ).one()
        if why := abandoned(document, str(values["state"]), version):
            let_go(session, select(Document.id).where(Document.id == document.id), why, now)
    if twin := values.get("duplicate_of"):
        confirm(db, twin, now)
    return Saved(str(values["state"]), str(values["reason"]), version, row.due_at)


def holds(session: Session, document: Claimed) -> bool:
    """Whether the document is still under this claim's lease; nobody else can take it until the end."""
    mine = select(Document.id).where(Document.id == document.id, Document.leased_by == document.lease)
    return session.scalar(mine.with_for_update(key_share=True)) is not None


def abandoned(document: Claimed, state: str, version: int | None) -> str | None:
    """Why duplicates of the document have to be read for themselves now: it no longer says what they say."""
    if state == DocumentState.DUPLICATE:
        return "what it repeated repeats another"
    if state in NOT_SURVIVING and document.content_hash is None:
        return "what it repeated could not be read"
    return "what it repeated has changed" if version and version > 1 else None


def confirm(db: Database, survivor: UUID, now: datetime) -> None:
    """Look again whether a document survives, now that another is its duplicate: it may have ended meanwhile.

    The first statement only waits for whoever changes it, and holds nothing that they could wait for.
    """
    ended = select(Document.id).where(Document.id == survivor, ~survives())
    db.execute(select(Document.id).where(Document.id == survivor).with_for_update(read=True))
    with db.begin() as session:
        let_go(session, ended, "what it repeated could not be read", now)


def failure(error: StageError, attempts: int, now: datetime, max_attempts: int) -> dict[str, Any]:
    """The document's next state after an error, by what the error's class says to do next."""
    if isinstance(error, Postponed):  # nobody was asked, so nothing is known of the address
        due_at = now + min(error.retry_after or FIRST_RETRY, LONGEST_RETRY)
        return {"state": DocumentState.WAITING, "reason": error.reason, "due_at": due_at}
    failed = {"attempts": attempts, "failing_since": func.coalesce(Document.failing_since, now)}
    if isinstance(error, Transient):
        if attempts >= max_attempts:
            reason = f"given up after {attempts} attempts: {error.reason}"
            return failed | {"state": DocumentState.FAILED, "reason": reason}
        wait = max(backoff(attempts), error.retry_after or timedelta())
        due_at = now + min(wait, LONGEST_RETRY)
        return failed | {"state": DocumentState.WAITING, "reason": error.reason, "due_at": due_at}
    state = DocumentState.NEEDS_BROWSER if isinstance(error, NeedsBrowser) else DocumentState.REJECTED
    return failed | {"state": state, "reason": error.reason}


def backoff(attempts: int) -> timedelta:
    """Doubling from a minute to a day, a quarter more or less: many failures do not return at once."""
    longest = LONGEST_RETRY / FIRST_RETRY
    return FIRST_RETRY * min(2.0 ** (attempts - 1), longest) * random.uniform(0.75, 1.25)  # noqa: S311


def success(session: Session, document: Claimed, look: Look) -> dict[str, Any]:
    """The document's values after a good look: unchanged, a copy of another, or a new version."""
    fetched, extracted = look.fetched, look.extracted
    seen: dict[str, Any] = {
        "attempts": 0, "failing_since": None, "read_at": fetched.fetched_at, "final_url": fetched.final_url,
        "etag": fetched.validators.etag, "last_modified": fetched.validators.last_modified,
        "whole_at": fetched.fetched_at,
    }
    if look.instead:
        seen = unremembered(seen)
    if extracted is None:
        return unremembered(seen) | standing(session, document)
    body = text_of(extracted.blocks)
    content_hash = digest(body)
    if content_hash == document.content_hash or is_noise_only(
            session, document, extracted.blocks, fetched.fetched_at):
        return seen | standing(session, document)
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(content_hash, 0))))
    if twin := find_twin(session, document, fetched, extracted, content_hash, body):
        withdraw(session, document.id)
        return seen | {"state": DocumentState.DUPLICATE, "reason": twin[1], "duplicate_of": twin[0],
                       "version_id": None, "content_hash": None}
    if why := goes_back_and_forth(session, document, extracted.blocks, content_hash, fetched.fetched_at):
        flapped = {"reason": why, "flapped_at": fetched.fetched_at}
        return unremembered(seen) | standing(session, document) | flapped
    check_whole(session, document, extracted.blocks)
    version = add_version(session, document, look.fetched, extracted, body, content_hash)
    absorb(session, document, fetched, body)
    return seen | {
        "state": DocumentState.READ, "content_hash": content_hash, "duplicate_of": None,
        "reason": sentence(version.number, look.instead),
        "version": version.number, "title": version.title, "author": version.author,
        "published_at": version.published_at,
    }


def sentence(number: int, instead: str) -> str:
    said = "read" if number == 1 else f"changed: version {number}"
    return f"{said}, from the text in its feed: {instead}" if instead else said


def unremembered(seen: dict[str, Any]) -> dict[str, Any]:
    """Without what would spare the server its next answer."""
    return {name: value for name, value in seen.items() if name not in {"etag", "last_modified", "whole_at"}}


def standing(session: Session, document: Claimed) -> dict[str, Any]:
    """Nothing new was said: the document is where its newest version is, which the index may have reached."""
    newest = session.scalars(
        select(DocumentVersion).where(DocumentVersion.document_id == document.id)
        .options(load_only(DocumentVersion.indexed_at, DocumentVersion.failure, DocumentVersion.verdict))
        .order_by(DocumentVersion.number.desc()).limit(1)).one()
    if newest.failure is not None:
        return {"state": DocumentState.FAILED, "reason": newest.failure}
    if state := REFUSED.get(newest.verdict or ""):
        return {"state": state, "reason": why_refused(session, newest)}
    if newest.indexed_at is None:
        return {"state": DocumentState.READ, "reason": "unchanged, waits for the index"}
    return {"state": DocumentState.INDEXED, "reason": "unchanged"}


def why_refused(session: Session, version: DocumentVersion) -> str:
    """What the gates said of it, or its owner."""
    if version.verdict == Verdict.REJECTED:
        return "rejected by its owner"
    return "; ".join(session.scalars(select(GateResult.reason).where(
        GateResult.version_id == version.id, GateResult.severity != Severity.WARNING))) or "refused by a gate"
