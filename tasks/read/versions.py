"""Versions and copies: what is stored when a page says something new, and which document a page repeats."""

from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from models.addresses import identity_key
from models.extracted import Extracted
from models.states import ChunkState, DocumentState
from models.tables import Chunk, Document, DocumentVersion
from tasks.ports import Fetched
from tasks.read.claims import Claimed

NOT_SURVIVING = (
    DocumentState.DUPLICATE, DocumentState.REMOVED, DocumentState.REJECTED, DocumentState.FAILED,
    DocumentState.NEEDS_BROWSER,
)


def find_twin(
    session: Session, document: Claimed, fetched: Fetched, extracted: Extracted, content_hash: str
) -> tuple[UUID, str] | None:
    """Another document that this one repeats, by address or by content, and the sentence that says so."""
    keys = {"it moved to": fetched.final_url, "its canonical address is": extracted.canonical_url}
    for why, url in keys.items():
        if url and (key := key_of(url)) and key != document.key:
            found = survivor(session, document, Document.key == key)
            if found:
                return found, f"{why} {url}, which is read already"
    found = survivor(session, document, Document.content_hash == content_hash)
    return (found, f"{session.get_one(Document, found).url} says exactly the same") if found else None


def key_of(url: str) -> str | None:
    try:
        return identity_key(url)
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
        language=extracted.language, canonical_url=extracted.canonical_url,
        final_url=fetched.final_url, extractor=extracted.extractor, read_at=fetched.fetched_at,
    )
    session.add(version)
    return version
