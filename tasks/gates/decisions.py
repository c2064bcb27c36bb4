"""What the owner decides about refused versions, and the report that helps to decide."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select, tuple_, update
from sqlalchemy.orm import Session

from models.lease import GIVEN_BACK
from models.session import Database
from models.states import ChunkState, DocumentState, Severity, Verdict
from models.tables import Chunk, Document, DocumentVersion, GateResult, Source

Json = dict[str, Any]

PAGE = 100
REJECTED = "rejected by its owner"
AS_JUDGED = (DocumentState.QUARANTINED, DocumentState.READ, DocumentState.INDEXED)  # no look failed since
RESULT = (GateResult.gate, GateResult.expectation, GateResult.severity, GateResult.reason,
          GateResult.observed, GateResult.passage)


def release(db: Database, document_id: UUID) -> bool:
    """Let the document's refused version be indexed, as it is; whether there is one.

    Gates that let it pass, or refused it, are not asked again. Raises ValueError for what nobody can release.
    """
    with db.begin() as session:
        version = judged(session, document_id)
        if version is None or version.verdict == Verdict.RELEASED:
            return False
        against = session.execute(select(GateResult.gate, GateResult.severity, GateResult.reason).where(
            GateResult.version_id == version.id)).all()
        if fatal := [row.reason for row in against if row.severity == Severity.FATAL]:
            raise ValueError(
                f"it cannot be indexed as it is: {fatal[0]}. `almanac document retry` makes it anew")
        gates = {row.gate for row in against if row.severity != Severity.WARNING}
        decide(session, version.id, Verdict.RELEASED, passed=sorted({*version.passed, *gates}))
        move(session, document_id, DocumentState.READ, "released by its owner, waits for the index")
        return True


def reject(db: Database, document_id: UUID) -> bool:
    """Confirm the refusal, or take back its release: the version is never indexed; whether there is one.

    What answered before it answers again. A changed page has another version.
    """
    with db.begin() as session:
        if (version := judged(session, document_id)) is None:
            return False
        decide(session, version.id, Verdict.REJECTED, indexed_at=None, **GIVEN_BACK)
        if version.verdict == Verdict.RELEASED:
            take_back(session, document_id, version)
        move(session, document_id, DocumentState.REJECTED, REJECTED)
        return True


def decide_all(
    db: Database, documents: Sequence[UUID], decision: Callable[[Database, UUID], bool]
) -> dict[UUID, str]:
    """``release`` or ``reject`` each of them; why not, of those for which that could not be done."""
    left: dict[UUID, str] = {}
    for document in documents:
        try:
            if not decision(db, document):
                left[document] = "no gate has refused what it says: there is nothing to decide"
        except ValueError as error:
            left[document] = str(error)
    return left


def judged(session: Session, document_id: UUID) -> Any:
    """The version that a gate refused and nothing has overtaken, whatever was decided of it since; locked."""
    return session.execute(
        select(DocumentVersion.id, DocumentVersion.number, DocumentVersion.passed, DocumentVersion.verdict,
               DocumentVersion.indexed_at)
        .join(Document, Document.id == DocumentVersion.document_id)
        .where(Document.id == document_id, Document.state != DocumentState.REMOVED,
               DocumentVersion.superseded_at.is_(None), DocumentVersion.verdict.is_not(None))
        .order_by(DocumentVersion.number.desc()).limit(1).with_for_update()).one_or_none()


def take_back(session: Session, document_id: UUID, version: Any) -> None:
    """Let a version that was released answer no more; the index follows, and brings back what it replaced."""
    become(session, version.id, [ChunkState.PENDING, ChunkState.LIVE], ChunkState.RETIRING)
    if version.indexed_at is None:
        return
    before = session.scalar(
        select(DocumentVersion.id).where(
            DocumentVersion.document_id == document_id, DocumentVersion.number < version.number,
            DocumentVersion.indexed_at.is_not(None),
            or_(DocumentVersion.verdict.is_(None), DocumentVersion.verdict == Verdict.RELEASED))
        .order_by(DocumentVersion.number.desc()).limit(1))
    session.execute(update(Document).where(Document.id == document_id).values(version_id=before))
    if before:
        session.execute(
            update(DocumentVersion).where(DocumentVersion.id == before).values(superseded_at=None))
        become(session, before, [ChunkState.RETIRING, ChunkState.RETIRED], ChunkState.PENDING)


def become(session: Session, version: UUID, before: Sequence[ChunkState], after: ChunkState) -> None:
    session.execute(
        update(Chunk).where(Chunk.version_id == version, Chunk.state.in_(before)).values(state=after))


def decide(session: Session, version: UUID, verdict: Verdict, **more: Any) -> None:
    session.execute(
        update(DocumentVersion).where(DocumentVersion.id == version).values(verdict=verdict, **more))


def move(session: Session, document: UUID, state: DocumentState, reason: str) -> None:
    """The document follows, unless a later look has said something else of it."""
    as_judged = or_(Document.state.in_(AS_JUDGED), Document.reason == REJECTED)
    session.execute(
        update(Document).where(Document.id == document, as_judged).values(state=state, reason=reason))


def report(
    db: Database, verdict: Verdict | None = None, severity: Severity | None = None,
    gate: str | None = None, source_id: UUID | None = None, limit: int = PAGE, after: str | None = None,
) -> Json:
    """A page of what gates found in versions that stand, last judged first, and the sources that are flagged.

    ``{"results": […], "next": cursor or None, "sources": […], "counts": {verdict: versions}}``; each
    result has the document's id, title, address and state, and the gate's words. ValueError for a cursor that
    is none.
    """
    page = results().join(Document, Document.id == GateResult.document_id).join(
        DocumentVersion, DocumentVersion.id == GateResult.version_id).add_columns(
        Document.id.label("document_id"), Document.url, DocumentVersion.title, Document.state,
        DocumentVersion.number.label("version"), DocumentVersion.verdict,
    ).where(DocumentVersion.superseded_at.is_(None), Document.state != DocumentState.REMOVED)
    wishes = ((DocumentVersion.verdict, verdict), (GateResult.severity, severity), (GateResult.gate, gate),
              (GateResult.source_id, source_id))
    page = page.where(*(column == wish for column, wish in wishes if wish is not None))
    if after is not None:
        page = page.where(tuple_(GateResult.judged_at, GateResult.id) < placed(after))
    with db.snapshot() as session:
        rows = session.execute(page.limit(limit + 1)).mappings().all()
        flagged = session.execute(results().where(
            GateResult.version_id.is_(None), Source.removed_at.is_(None))).mappings().all()
        counts = {row.verdict: row.versions for row in session.execute(counted())}
    last = rows[limit - 1] if len(rows) > limit else None
    return {"results": [told(row) for row in rows[:limit]],
            "next": last and f"{last['judged_at'].isoformat()}_{last['id']}",
            "sources": [told(row) for row in flagged], "counts": counts}


def results() -> Select[Any]:
    """What gates found, with the source that it is of, newest first."""
    columns: list[Any] = [GateResult.id, GateResult.judged_at, *RESULT, Source.id.label("source_id"),
                          Source.name.label("source")]
    return (
        select(*columns)
        .join(Source, Source.id == GateResult.source_id)
        .order_by(GateResult.judged_at.desc(), GateResult.id.desc()))


def counted() -> Select[str | None, int]:
    return (
        select(DocumentVersion.verdict, func.count().label("versions"))
        .join(Document, Document.id == DocumentVersion.document_id)
        .where(DocumentVersion.verdict.is_not(None), DocumentVersion.superseded_at.is_(None),
               Document.state != DocumentState.REMOVED)
        .group_by(DocumentVersion.verdict))


def told(row: Any) -> Json:
    """Ready for JSON."""
    return {name: str(value) if isinstance(value, UUID)
            else value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
            for name, value in row.items()}


def placed(after: str) -> ColumnElement[Any]:
    """The place in the report that a cursor stands for."""
    judged_at, _, result_id = after.rpartition("_")
    try:
        return tuple_(datetime.fromisoformat(judged_at), UUID(result_id))
    except ValueError:
        raise ValueError("the cursor is not one that a page ended with: leave it out to begin anew") from None
