"""Between a claim and the index stands the gate: what it refuses is put aside with every reason."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, any_, delete, insert, literal, or_, select, update
from sqlalchemy.orm import Session

from models import lease
from models.session import Database
from models.states import DocumentState, Verdict
from models.tables import Document, DocumentVersion, GateResult, Source
from tasks.index.claim import still_held
from tasks.index.prepare import Prepared
from tasks.ports import Gate, Remark

VERSIONS, CHUNKS = "versions", "chunks"


def admitted(db: Database, gate: Gate | None, holder: str, versions: Sequence[UUID]) -> set[UUID]:
    """Those of the versions that the gate lets in; what its owner released is not asked again."""
    if gate is None or not versions:
        return set(versions)
    asked = unpassed(db, versions, VERSIONS)
    return set(versions) - put_in_quarantine(db, holder, VERSIONS, asked, gate.versions(asked))


def admit_chunks(
    db: Database, gate: Gate | None, holder: str, prepared: Prepared, window: int, dimensions: int
) -> Prepared:
    """What was prepared, without the versions whose chunks or vectors the gate refuses."""
    if gate is None or not prepared.chunks:
        return prepared
    asked = unpassed(db, [version.version_id for version in prepared.versions], CHUNKS)
    chunks = [row for row in prepared.chunks if row["version_id"] in asked]
    refused = put_in_quarantine(db, holder, CHUNKS, asked, gate.chunks(chunks, window, dimensions))
    return Prepared([version for version in prepared.versions if version.version_id not in refused],
                    [row for row in prepared.chunks if row["version_id"] not in refused], prepared.odd)


def unpassed(db: Database, versions: Sequence[UUID], gate: str) -> list[UUID]:
    passed = literal(gate) == any_(DocumentVersion.passed)
    with db.begin() as session:
        return list(session.scalars(
            select(DocumentVersion.id).where(DocumentVersion.id.in_(versions), ~passed)))


def put_in_quarantine(
    db: Database, holder: str, gate: str, judged: Sequence[UUID], remarks: Sequence[Remark]
) -> set[UUID]:
    """Write what the gate said instead of what it said before, and refuse what it refuses; those versions.

    What the holder has no longer is another's to judge.
    """
    if not judged:
        return set()
    refusals: defaultdict[UUID, list[str]] = defaultdict(list)
    for it in remarks:
        if it.version_id and it.refuses:
            refusals[it.version_id].append(it.reason)
    with db.begin() as session:
        held = still_held(session, holder, judged)
        forget(session, gate, held)
        write(session, [it for it in remarks if it.version_id in held or it.source_id])
        for version, reasons in refusals.items():
            if version in held:
                refuse(session, version, held[version], gate, reasons)
    return set(refusals)


def refuse(session: Session, version: UUID, document: UUID, gate: str, reasons: Sequence[str]) -> None:
    """What answered before goes on; what a later look has said of the document stands."""
    passed = [VERSIONS] if gate == CHUNKS else []
    session.execute(update(DocumentVersion).where(DocumentVersion.id == version).values(
        verdict=Verdict.QUARANTINED, passed=passed, **lease.GIVEN_BACK))
    session.execute(
        update(Document).where(Document.id == document, Document.state == DocumentState.READ)
        .values(state=DocumentState.QUARANTINED, reason="; ".join(reasons)))


def forget(session: Session, gate: str, versions: Mapping[UUID, UUID]) -> None:
    """What the gate said before of these versions and, where it judges them too, of their sources."""
    old: ColumnElement[bool] = GateResult.version_id.in_(versions) & (GateResult.gate == gate)
    if gate == VERSIONS:
        sources = select(Document.source_id).where(Document.id.in_(versions.values()))
        old = or_(old, GateResult.version_id.is_(None) & GateResult.source_id.in_(sources))
    session.execute(delete(GateResult).where(old), execution_options={"synchronize_session": False})


def write(session: Session, remarks: Sequence[Remark]) -> None:
    versions = {row.version_id: row._mapping for row in session.execute(
        select(DocumentVersion.id.label("version_id"), DocumentVersion.document_id, DocumentVersion.scopes,
               Document.source_id)
        .join(Document, Document.id == DocumentVersion.document_id)
        .where(DocumentVersion.id.in_([it.version_id for it in remarks])))}
    sources = {row.source_id: row._mapping for row in session.execute(
        select(Source.id.label("source_id"), Source.scopes)
        .where(Source.id.in_([it.source_id for it in remarks])))}
    for it in remarks:
        of = versions[it.version_id] if it.version_id else sources[it.source_id]
        session.execute(insert(GateResult).values(
            id=uuid4(), gate=it.gate, expectation=it.expectation, severity=it.severity, reason=it.reason,
            observed=it.observed, passage=it.passage, **of))
