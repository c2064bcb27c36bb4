"""What a look came to, written in one transaction: the document's next state, or a new version of it."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session

from models.blocks import digest, text_of
from models.extracted import Extracted
from models.session import Database
from models.states import DocumentState
from models.tables import Document
from tasks.errors import NeedsBrowser, StageError, Transient
from tasks.ports import Fetched
from tasks.read.claims import Claimed
from tasks.read.versions import add_version, find_twin, withdraw

FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(days=1)
MAX_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at an address brought: an answer, and what it says unless it is the one we have."""

    fetched: Fetched
    extracted: Extracted | None


def save(
    db: Database, document: Claimed, outcome: Look | StageError, now: datetime,
    max_attempts: int = MAX_ATTEMPTS,
) -> tuple[str, str]:
    """Write what the look came to and give the lease back; the document's new state and reason."""
    with db.begin() as session:
        if isinstance(outcome, StageError):
            values = failure(outcome, document.attempts + 1, now, max_attempts)
        else:
            values = success(session, document, outcome)
        untouched = Document.due_at.is_not_distinct_from(document.due_at)  # no poll asked again meanwhile
        due_at = case((untouched, values.pop("due_at", None)), else_=Document.due_at)
        session.execute(
            update(Document).where(Document.id == document.id, Document.state != DocumentState.REMOVED)
            .values(**values, due_at=due_at, leased_by=None, leased_until=None)
        )
    return str(values["state"]), str(values["reason"])


def failure(error: StageError, attempts: int, now: datetime, max_attempts: int) -> dict[str, object]:
    """The document's next state after an error, by what the error's class says to do next."""
    if isinstance(error, Transient):
        if attempts >= max_attempts:
            reason = f"given up after {attempts} attempts: {error.reason}"
            return {"state": DocumentState.FAILED, "reason": reason, "attempts": attempts}
        wait = max(backoff(attempts), error.retry_after or timedelta())
        due_at = now + min(wait, LONGEST_RETRY)
        return {"state": DocumentState.WAITING, "reason": error.reason, "attempts": attempts,
                "due_at": due_at}
    state = DocumentState.NEEDS_BROWSER if isinstance(error, NeedsBrowser) else DocumentState.REJECTED
    return {"state": state, "reason": error.reason, "attempts": attempts}


def backoff(attempts: int) -> timedelta:
    """Doubling from a minute to a day, a quarter more or less: many failures do not return at once."""
    longest = LONGEST_RETRY / FIRST_RETRY
    return FIRST_RETRY * min(2.0 ** (attempts - 1), longest) * random.uniform(0.75, 1.25)  # noqa: S311


def success(session: Session, document: Claimed, look: Look) -> dict[str, object]:
    """The document's values after a good look: unchanged, a copy of another, or a new version."""
    fetched, extracted = look.fetched, look.extracted
    seen: dict[str, object] = {
        "attempts": 0, "read_at": fetched.fetched_at, "final_url": fetched.final_url,
        "etag": fetched.validators.etag, "last_modified": fetched.validators.last_modified,
    }
    if extracted is None:
        kept = {k: v for k, v in seen.items() if k not in {"etag", "last_modified"}}
        return kept | standing(document)
    body = text_of(extracted.blocks)
    content_hash = digest(body)
    if content_hash == document.content_hash:
        return seen | standing(document)
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(content_hash, 0))))
    if twin := find_twin(session, document, fetched, extracted, content_hash):
        withdraw(session, document.id)
        return seen | {"state": DocumentState.DUPLICATE, "reason": twin[1], "duplicate_of": twin[0],
                       "version_id": None, "content_hash": None}
    version = add_version(session, document, look.fetched, extracted, body, content_hash)
    return seen | {
        "state": DocumentState.READ, "content_hash": content_hash, "duplicate_of": None,
        "reason": "read" if version.number == 1 else f"changed: version {version.number}",
        "title": version.title, "author": version.author, "published_at": version.published_at,
    }


def standing(document: Claimed) -> dict[str, object]:
    """Nothing new was said: the document is where its last version is."""
    if not document.answers:
        return {"state": DocumentState.READ, "reason": "unchanged, waits for the index"}
    return {"state": DocumentState.INDEXED, "reason": "unchanged"}
