"""Versions and copies: what is stored when a page says something new, and which document a page repeats."""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ARRAY, ColumnElement, Row, Text, any_, func, literal, or_, select, update
from sqlalchemy.orm import Session

from models.addresses import identity_key, is_route
from models.duplicates import let_go
from models.extracted import Extracted
from models.noise import essence
from models.states import ChunkState, DocumentState
from models.tables import Chunk, Document, DocumentVersion
from tasks.ports import Fetched
from tasks.read.alike import is_within, says_the_same
from tasks.read.claims import Claimed
from tasks.read.twins import is_dressed, twins

MOST_TWINS = 20  # that one read takes in
NOT_SURVIVING = (
    DocumentState.DUPLICATE, DocumentState.REMOVED, DocumentState.REJECTED, DocumentState.FAILED,
    DocumentState.NEEDS_BROWSER,
)


def find_twin(
    session: Session, document: Claimed, fetched: Fetched, extracted: Extracted, content_hash: str, body: str
) -> tuple[UUID, str] | None:
    """Another document that this one repeats, by address or by content, and the sentence that says so.

    A canonical address is believed when what is said here is said there: some pages name the wrong one.
    """
    if moved := elsewhere(session, document, fetched.final_url):
        return moved, f"it moved to {fetched.final_url}, which is read already"
    main = elsewhere(session, document, extracted.canonical_url)
    if main and is_within(body, newest_text(session, main)):
        return main, f"its canonical address is {extracted.canonical_url}, which is read already"
    if found := survivor(session, document, Document.content_hash == content_hash):
        return found, f"{session.get_one(Document, found).url} says exactly the same"
    alike = [row for row in in_other_dress(session, document, body)
             if is_dressed(document.key) or not is_dressed(row.key)]
    first = min(alike, key=lambda row: is_dressed(row.key), default=None)
    return (first.id, f"{first.url} says the same in another dress") if first else None


def in_other_dress(session: Session, document: Claimed, body: str) -> list[Row[UUID, str, str, str]]:
    """The documents at addresses that may show the same for phones or to print, and do; the oldest first."""
    said = (
        select(Document.id, Document.key, Document.url, DocumentVersion.text)
        .join(DocumentVersion, DocumentVersion.document_id == Document.id)
        .where(Document.key == any_(literal(list(twins(document.key)), ARRAY(Text))),
               Document.scopes == document.scopes, Document.id != document.id, survives(),
               DocumentVersion.content_hash == Document.content_hash)
        .order_by(Document.discovered_at, Document.id)
    )
    return [row for row in session.execute(said) if says_the_same(body, row.text)]


def elsewhere(session: Session, document: Claimed, url: str | None) -> UUID | None:
    """The document at another address than the document's own."""
    key = key_of(url, is_route(document.key)) if url else None
    return survivor(session, document, Document.key == key) if key and key != document.key else None


def newest_text(session: Session, document_id: UUID) -> str:
    newest = select(DocumentVersion.text).where(DocumentVersion.document_id == document_id)
    return session.scalar(newest.order_by(DocumentVersion.number.desc()).limit(1)) or ""


def absorb(session: Session, document: Claimed, fetched: Fetched, body: str) -> None:
    """Let those that were read before their canonical address, which is this one, repeat it from now on, and
    those that show the same in another dress.

    One that is being saved at this moment is passed over.
    """
    claiming = session.execute(
        select(Document.id, DocumentVersion.text)
        .join(DocumentVersion, DocumentVersion.document_id == Document.id)
        .where(
            DocumentVersion.canonical_url.in_({document.url, fetched.final_url}),
            DocumentVersion.superseded_at.is_(None), Document.id != document.id,
            Document.scopes == document.scopes,
            Document.state.in_([DocumentState.READ, DocumentState.INDEXED]),
        )
        .order_by(DocumentVersion.number).limit(MOST_TWINS)
        .with_for_update(of=Document, skip_locked=True, key_share=True)
    ).all()
    canonical = f"its canonical address is {document.url}, which is read now"
    for twin in claiming:
        if is_within(twin.text, body):
            repeat(session, twin.id, document, canonical, fetched.fetched_at)
    dressed = [row.id for row in in_other_dress(session, document, body) if is_dressed(row.key)]
    free = select(Document.id).where(
        Document.id.in_(dressed), Document.state.in_([DocumentState.READ, DocumentState.INDEXED])
    ).with_for_update(skip_locked=True, key_share=True)
    same = f"{document.url} says the same, which is read now"
    for identity in session.scalars(free).all() if dressed else ():
        repeat(session, identity, document, same, fetched.fetched_at)


def repeat(session: Session, twin: UUID, document: Claimed, reason: str, now: datetime) -> None:
    """Let ``twin`` be a duplicate of the document from now on."""
    withdraw(session, twin)
    session.execute(update(Document).where(Document.id == twin).values(
        state=DocumentState.DUPLICATE, duplicate_of=document.id, version_id=None, content_hash=None,
        reason=reason))
    let_go(session, select(Document.id).where(Document.id == twin), "what it repeated repeats another", now)


def key_of(url: str, fragment_routes: bool = False) -> str | None:
    try:
        return identity_key(url, fragment_routes)
    except ValueError:
        return None


def survivor(session: Session, document: Claimed, likeness: ColumnElement[bool]) -> UUID | None:
    return session.scalar(
        select(Document.id)
        .where(likeness, Document.id != document.id, Document.scopes == document.scopes,
               survives())
        .order_by(Document.discovered_at, Document.id).limit(1)
    )


def survives() -> ColumnElement[bool]:
    """The document answers, or is on its way to."""
    return or_(Document.state.not_in(NOT_SURVIVING), Document.version_id.is_not(None))


def withdraw(session: Session, document_id: UUID) -> None:
    """Let what the document said before answer no more; the index follows."""
    session.execute(
        update(Chunk)
        .where(Chunk.document_id == document_id, Chunk.state.in_([ChunkState.LIVE, ChunkState.PENDING]))
        .values(state=ChunkState.RETIRING)
    )
    supersede(session, document_id)


def supersede(session: Session, document_id: UUID, only_waiting: bool = False) -> None:
    versions = update(DocumentVersion).where(
        DocumentVersion.document_id == document_id, DocumentVersion.superseded_at.is_(None)
    )
    if only_waiting:
        versions = versions.where(DocumentVersion.indexed_at.is_(None))
    session.execute(versions.values(superseded_at=func.now()))


def add_version(
    session: Session, document: Claimed, fetched: Fetched, extracted: Extracted, body: str, content_hash: str
) -> DocumentVersion:
    """Store what the page says now; a version that still waits for the index is overtaken by it."""
    supersede(session, document.id, only_waiting=True)
    last = session.scalar(
        select(func.max(DocumentVersion.number)).where(DocumentVersion.document_id == document.id)
    )
    version = DocumentVersion(
        id=uuid4(), document_id=document.id, scopes=document.scopes, number=(last or 0) + 1,
        blocks=[block.to_json() for block in extracted.blocks], text=body, content_hash=content_hash,
        title=extracted.title or document.title or document.url,
        author=extracted.author or document.author,
        published_at=document.published_at or extracted.published_at,
        modified_at=extracted.modified_at, site_name=extracted.site_name,
        language=extracted.language, canonical_url=extracted.canonical_url,
        final_url=fetched.final_url, extractor=extracted.extractor, read_at=fetched.fetched_at,
        hidden=[asdict(passage) for passage in extracted.hidden],
        essence=essence(extracted.blocks, fetched.fetched_at.date()),
    )
    session.add(version)
    return version
