"""What the owner decides about refused versions, and the report that helps to decide."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select, tuple_, update
from sqlalchemy.orm import Session

from models.session import Database
from models.states import DocumentState, Severity, Verdict
from models.tables import Document, DocumentVersion, GateResult, Source

Json = dict[str, Any]

PAGE = 100
REJECTED = "rejected by its owner"
RESULT = (GateResult.gate, GateResult.expectation, GateResult.severity, GateResult.reason,
          GateResult.observed, GateResult.passage)


def release(db: Database, document_id: UUID, scopes: Sequence[str]) -> bool:
    """Let the document's refused version be indexed, as it is; whether there is one.

    Gates that let it pass, or refused it, are not asked again. Raises ValueError for what nobody can release.
    """
    with db.begin() as session:
        if (version := refused(session, document_id, scopes)) is None:
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


def reject(db: Database, document_id: UUID, scopes: Sequence[str]) -> bool:
    """Confirm the refusal: the version is never indexed; whether there is one. A changed page has another."""
    with db.begin() as session:
        if (version := refused(session, document_id, scopes)) is None:
            return False
        decide(session, version.id, Verdict.REJECTED)
        move(session, document_id, DocumentState.REJECTED, REJECTED)
        return True


def decide_all(
    db: Database, documents: Sequence[UUID], scopes: Sequence[str],
    decision: Callable[[Database, UUID, Sequence[str]], bool],
) -> dict[UUID, str]:
    """``release`` or ``reject`` each of them; why not, of those for which that could not be done."""
    left: dict[UUID, str] = {}
    for document in documents:
        try:
            if not decision(db, document, scopes):
                left[document] = "no gate has refused what it says: there is nothing to decide"
        except ValueError as error:
            left[document] = str(error)
    return left


def refused(session: Session, document_id: UUID, scopes: Sequence[str]) -> Any:
    """The version that a gate refused and nothing has overtaken, locked; a rejected one, too."""
    return session.execute(
        select(DocumentVersion.id, DocumentVersion.passed)
        .join(Document, Document.id == DocumentVersion.document_id)
        .where(Document.id == document_id, Document.scopes.contained_by(list(scopes)),
               Document.state != DocumentState.REMOVED, *STANDING,
               DocumentVersion.verdict.in_([Verdict.QUARANTINED, Verdict.REJECTED]))
        .with_for_update()).one_or_none()


STANDING = (DocumentVersion.superseded_at.is_(None), DocumentVersion.indexed_at.is_(None))


def decide(session: Session, version: UUID, verdict: Verdict, **more: Any) -> None:
    session.execute(
        update(DocumentVersion).where(DocumentVersion.id == version).values(verdict=verdict, **more))


def move(session: Session, document: UUID, state: DocumentState, reason: str) -> None:
    """The document follows, unless a later look has said something else of it."""
    undecided = or_(Document.state == DocumentState.QUARANTINED, Document.reason == REJECTED)
    session.execute(
        update(Document).where(Document.id == document, undecided).values(state=state, reason=reason))


def report(
    db: Database, scopes: Sequence[str], verdict: Verdict | None = None, severity: Severity | None = None,
    gate: str | None = None, source_id: UUID | None = None, limit: int = PAGE, after: str | None = None,
) -> Json:
    """A page of what gates found in versions that stand, last judged first, and the sources that are flagged.

    ``{"results": […], "next": cursor or None, "sources": […], "counts": {verdict: versions}}``; each
    result has the document's id, title, address and state, and the gate's words. ValueError for a cursor that
    is none.
    """
    page = results(scopes).join(Document, Document.id == GateResult.document_id).join(
        DocumentVersion, DocumentVersion.id == GateResult.version_id).add_columns(
        Document.id.label("document_id"), Document.url, DocumentVersion.title, Document.state,
        DocumentVersion.number.label("version"), DocumentVersion.verdict,
    ).where(DocumentVersion.superseded_at.is_(None), Document.state != DocumentState.REMOVED)
    wishes = ((DocumentVersion.verdict, verdict), (GateResult.severity, severity), (GateResult.gate, gate),
              (GateResult.source_id, source_id))
    page = page.where(*(column == wish for column, wish in wishes if wish is not None))
    if after is not None:
        page = page.where(tuple_(GateResult.judged_at, GateResult.id) < placed(after))
    with db.begin() as session:
        rows = session.execute(page.limit(limit + 1)).mappings().all()
        flagged = session.execute(results(scopes).where(
            GateResult.version_id.is_(None), Source.removed_at.is_(None))).mappings().all()
        counts = {row.verdict: row.versions for row in session.execute(counted(scopes))}
    last = rows[limit - 1] if len(rows) > limit else None
    return {"results": [told(row) for row in rows[:limit]],
            "next": last and f"{last['judged_at'].isoformat()}_{last['id']}",
            "sources": [told(row) for row in flagged], "counts": counts}


def results(scopes: Sequence[str]) -> Select[Any]:
    """What gates found, with the source that it is of, newest first."""
    columns: list[Any] = [GateResult.id, GateResult.judged_at, *RESULT, Source.id.label("source_id"),
                          Source.name.label("source")]
    return (
        select(*columns)
        .join(Source, Source.id == GateResult.source_id)
        .where(GateResult.scopes.contained_by(list(scopes)))
        .order_by(GateResult.judged_at.desc(), GateResult.id.desc()))


def counted(scopes: Sequence[str]) -> Select[str | None, int]:
    return (
        select(DocumentVersion.verdict, func.count().label("versions"))
        .join(Document, Document.id == DocumentVersion.document_id)
        .where(DocumentVersion.verdict.is_not(None), DocumentVersion.superseded_at.is_(None),
               Document.state != DocumentState.REMOVED, DocumentVersion.scopes.contained_by(list(scopes)))
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
