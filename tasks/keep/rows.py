"""What is written of a document that is handed in; whoever writes holds the lock of its scope set."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

from sqlalchemy import case, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.addresses import check_address
from models.blocks import BlockKind, digest, text_of
from models.extracted import Extracted
from models.session import Database
from models.states import DocumentState, SourceKind
from models.tables import Document, DocumentVersion, Source
from tasks.keep.given import Given
from tasks.keep.identity import ADDRESS, PREFIX, Content, Known, Outcome, key_of, moved

WAITS = "kept; waits for the index"
CONVERTED = "kept; its file waits to be converted"
SOURCE_NAME = "Handed in"
WANTED = 100  # the priority of what somebody has just handed in
LONGEST_TITLE = 120  # characters of a text's first line that stand for a title


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of one thing that was handed in."""

    document_id: UUID
    outcome: Outcome
    artifact_id: UUID | None = None

    @property
    def created(self) -> bool:
        return self.outcome is Outcome.INSERTED

    def to_json(self) -> dict[str, Any]:
        return {"document_id": str(self.document_id), "outcome": self.outcome.value, "created": self.created,
                "artifact_id": str(self.artifact_id) if self.artifact_id else None}


def standing(db: Database, document_id: UUID) -> dict[str, str]:
    """How far a document has come, and why: what was kept is found only once it is indexed."""
    rows = db.execute(select(Document.state, Document.reason).where(Document.id == document_id))
    return {"state": rows[0].state, "reason": rows[0].reason}


def lock(session: Session, scopes: Sequence[str]) -> None:
    """Let nobody else write into the scope set until the transaction ends: what comes twice is kept once."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(source_url(scopes), 0))))


def source_url(scopes: Sequence[str]) -> str:
    return ADDRESS + "+".join(quote(scope, safe="") for scope in scopes)


def source_of(session: Session, scopes: Sequence[str]) -> UUID:
    """The source of what is handed in for this scope set: made when it is first needed, and never polled."""
    url = source_url(scopes)
    session.execute(insert(Source).values(
        kind=SourceKind.KEPT, url=url, name=SOURCE_NAME, scopes=list(scopes), every_seconds=None,
        next_poll_at=None,
    ).on_conflict_do_nothing(index_elements=[Source.kind, Source.url],
                             index_where=Source.removed_at.is_(None)))
    mine = select(Source.id).where(
        Source.kind == SourceKind.KEPT, Source.url == url, Source.removed_at.is_(None))
    return session.execute(mine).scalar_one()


def write(
    session: Session, given: Given, content: Content, known: Known | None, artifact_id: UUID | None,
    now: datetime,
) -> UUID:
    """Insert the document, or let it be what is given now; its version is added by itself. Its id."""
    values = said(session, given, known) | {
        "given_hash": content.given_hash, "artifact_id": artifact_id, "recheck": None}
    if artifact_id:  # what it said before answers until the file is read
        answers = Document.version_id.is_not(None)
        values |= {"state": case((answers, DocumentState.INDEXED), else_=DocumentState.DISCOVERED),
                   "reason": CONVERTED}
    if known:
        session.execute(update(Document).where(Document.id == known.id).values(values))
        return known.id
    identity = uuid4()
    address = {"url": f"{ADDRESS}{identity}", "key": f"{PREFIX}{identity}", "title": None}
    values |= {"state": DocumentState.DISCOVERED} if artifact_id else {}
    session.execute(insert(Document).values(
        **address | values, id=identity, source_id=source_of(session, given.scopes),
        scopes=list(given.scopes), priority=WANTED, discovered_at=now))
    return identity


def said(session: Session, given: Given, known: Known | None) -> dict[str, Any]:
    """The columns that hold what is given beside the content."""
    values: dict[str, Any] = {}
    if given.uri and not is_anothers(session, given, known):
        values |= {"url": check_address(given.uri), "key": key_of(given.uri)}
    if given.title:
        values |= {"title": given.title}
    if given.subject:
        values |= {"subject_type": given.subject.type, "subject_title": given.subject.title}
    if given.observed_at:
        values |= {"observed_at": given.observed_at, "published_at": given.observed_at}
    return values if given.upload else values | {"expires_at": given.expires_at}


def is_anothers(session: Session, given: Given, known: Known | None) -> bool:
    """Whether the address is that of another document already: a file is known by its bytes first."""
    key = key_of(given.uri or "")
    if known is None or known.key == key:
        return False
    other = select(Document.id).where(
        Document.key == key, Document.scopes == list(given.scopes), Document.state != DocumentState.REMOVED)
    return session.scalar(other) is not None


def refresh(session: Session, given: Given, known: Known) -> None:
    """The content is the same: its vectors stay, and what was derived from it is to be looked at again."""
    why = f"kept again with another {' and '.join(moved(given, known))}"
    values = said(session, given, known)
    session.execute(update(Document).where(Document.id == known.id).values(**values, recheck=why))
    shown: dict[str, Any] = {name: values[name] for name in ("title", "published_at") if name in values}
    if "url" in values:
        shown["final_url"] = values["url"]
    if shown:
        session.execute(update(DocumentVersion).where(
            DocumentVersion.document_id == known.id, DocumentVersion.superseded_at.is_(None)).values(shown))


def add_version(session: Session, document_id: UUID, extracted: Extracted, now: datetime) -> None:
    """Store what the document says now, unless it says the same; the index stage lets it answer."""
    document = session.get_one(Document, document_id)
    body = text_of(extracted.blocks)
    newest = session.scalars(
        select(DocumentVersion).where(DocumentVersion.document_id == document_id)
        .order_by(DocumentVersion.number.desc()).limit(1)).one_or_none()
    if newest and newest.content_hash == digest(body) and newest.superseded_at is None:
        document.state = DocumentState.READ if newest.indexed_at is None else DocumentState.INDEXED
        document.reason = "kept again; it says the same"
        return
    waiting = update(DocumentVersion).where(
        DocumentVersion.document_id == document_id, DocumentVersion.indexed_at.is_(None),
        DocumentVersion.superseded_at.is_(None))
    session.execute(waiting.values(superseded_at=now))
    if document.title is None or (newest and document.title == title_of(newest.blocks, newest.text)):
        document.title = extracted.title or first_line(body)
    document.state, document.reason, document.read_at = DocumentState.READ, WAITS, now
    session.add(DocumentVersion(
        id=uuid4(), document_id=document_id, scopes=document.scopes,
        number=newest.number + 1 if newest else 1,
        blocks=[block.to_json() for block in extracted.blocks], text=body, content_hash=digest(body),
        title=document.title, author=extracted.author,
        published_at=document.observed_at or extracted.published_at, language=extracted.language,
        final_url=document.url, extractor=extracted.extractor, read_at=now))


def title_of(blocks: Sequence[dict[str, Any]], body: str) -> str:
    """The title that a text has where nobody gave it one."""
    tops = (each["text"] for each in blocks if each["kind"] == BlockKind.HEADING and each.get("level") == 1)
    return next(tops, None) or first_line(body)


def first_line(body: str) -> str:
    line = body.partition("\n")[0]
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"
