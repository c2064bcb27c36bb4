"""What the gates made of one version: each of their expectations, met or not."""

from collections.abc import Iterator
from datetime import UTC
from typing import Any
from uuid import UUID

from sqlalchemy import Executable, Row, select, true

from models.session import Database
from models.states import DocumentState, SourceKind
from models.tables import Document, DocumentVersion, GateResult, Source
from tasks.gates.gate import CHUNKS, VERSIONS
from tasks.gates.suite import Expectation, suite

Json = dict[str, Any]


def results(db: Database, document_id: UUID, number: int | None = None) -> Json | None:
    """What was found of the version of that number, else the newest; None where this reader has none.

    ``{"version", "verdict", "results": [{"gate", "expectation", "severity", "met", …}]}``.
    ``met`` is None where nobody has judged: the gate was not asked, or found something graver about the same.
    What is not met has its ``reason``, ``observed`` value, ``passage`` and ``judged_at``.
    """
    with db.begin() as session:
        if (version := session.execute(wanted(document_id, number)).one_or_none()) is None:
            return None
        found = {(row.gate, row.expectation): row for row in session.scalars(
            select(GateResult).where(GateResult.version_id == version.id))}
    told = [line for gate in (VERSIONS, CHUNKS) for line in of_gate(gate, version, found)]
    return {"version": version.number, "verdict": version.verdict, "results": told}


def wanted(document_id: UUID, number: int | None) -> Executable:
    return (
        select(DocumentVersion.id, DocumentVersion.number, DocumentVersion.verdict, DocumentVersion.passed,
               DocumentVersion.indexed_at, Source.kind)
        .join(Document, Document.id == DocumentVersion.document_id)
        .join(Source, Source.id == Document.source_id)
        .where(Document.id == document_id, Document.state != DocumentState.REMOVED,
               true() if number is None else DocumentVersion.number == number)
        .order_by(DocumentVersion.number.desc()).limit(1))


def of_gate(gate: str, version: Row[Any], found: dict[tuple[str, str], GateResult]) -> Iterator[Json]:
    expectations = suite(gate).expectations
    names = {name for of, name in found if of == gate}
    judged = bool(names) or gate in version.passed or (
        version.indexed_at is not None and version.kind != SourceKind.DOCUMENTATION)
    failed_at = {each.column for each in expectations if each.name in names}
    for each in expectations:
        if each.of_articles and version.kind == SourceKind.KEPT:
            continue
        row = found.get((gate, each.name))
        met = False if row else True if judged and each.column not in failed_at else None
        yield told(gate, each, met, row)


def told(gate: str, expectation: Expectation, met: bool | None, row: GateResult | None) -> Json:
    line = {"gate": gate, "expectation": expectation.name, "severity": expectation.severity.value, "met": met}
    why = row and {"severity": row.severity, "reason": row.reason, "observed": row.observed,
                   "passage": row.passage, "judged_at": row.judged_at.astimezone(UTC).isoformat()}
    return line | (why or {"reason": None, "observed": None, "passage": None, "judged_at": None})
