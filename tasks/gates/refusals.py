"""The versions that a gate refused, each once with everything that was found."""

from collections import defaultdict
from uuid import UUID

from sqlalchemy import select, tuple_

from models.session import Database
from models.states import DocumentState, Verdict
from models.tables import Document, DocumentVersion, GateResult, Source
from tasks.gates.decisions import Json, counted, placed, told

FOUND = (GateResult.gate, GateResult.expectation, GateResult.severity, GateResult.reason, GateResult.observed,
         GateResult.passage, GateResult.judged_at)


def refusals(
    db: Database, verdict: Verdict = Verdict.QUARANTINED,
    source_id: UUID | None = None, limit: int = 50, after: str | None = None,
) -> Json:
    """A page of the versions that stand with this verdict, last read first: ``{"refusals": […], "next",
    "counts": {verdict: versions}}``.

    Each has its document's id and address, its number and title, its source, and its ``results``: FOUND.
    ValueError for a cursor that is none.
    """
    page = (
        select(DocumentVersion.id.label("version_id"), Document.id.label("document_id"), Document.url,
               DocumentVersion.title, DocumentVersion.number.label("version"), DocumentVersion.verdict,
               DocumentVersion.read_at, Source.id.label("source_id"), Source.name.label("source"))
        .join(Document, Document.id == DocumentVersion.document_id)
        .join(Source, Source.id == Document.source_id)
        .where(DocumentVersion.verdict == verdict, DocumentVersion.superseded_at.is_(None),
               Document.state != DocumentState.REMOVED)
        .order_by(DocumentVersion.read_at.desc(), DocumentVersion.id.desc()))
    if source_id is not None:
        page = page.where(Source.id == source_id)
    if after is not None:
        page = page.where(tuple_(DocumentVersion.read_at, DocumentVersion.id) < placed(after))
    results: defaultdict[UUID, list[Json]] = defaultdict(list)
    with db.begin() as session:
        rows = session.execute(page.limit(limit + 1)).mappings().all()
        for row in session.execute(
            select(GateResult.version_id, *FOUND)
            .where(GateResult.version_id.in_([row["version_id"] for row in rows[:limit]]))
            .order_by(GateResult.severity, GateResult.expectation)
        ).mappings():
            line = told(row)
            results[UUID(line.pop("version_id"))].append(line)
        counts = {row.verdict: row.versions for row in session.execute(counted())}
    last = rows[limit - 1] if len(rows) > limit else None
    return {"refusals": [told(row) | {"results": results[row["version_id"]]} for row in rows[:limit]],
            "next": last and f"{last['read_at'].isoformat()}_{last['version_id']}", "counts": counts}
