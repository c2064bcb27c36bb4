"""What arrived, by story: documents of different sources about one event, as ``stories`` tells them apart."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Executable, Row, and_, literal, select

from models.session import Database
from models.states import DocumentState
from models.tables import Chunk, Document, DocumentVersion, Source, VersionAnalysis
from tasks.answer.about import About
from tasks.answer.candidates import STORED, Candidate
from tasks.answer.origin import columns, origin
from tasks.answer.rank import dated
from tasks.answer.stories import label

Json = dict[str, Any]

LOOKED_AT = 300  # documents, the last that arrived
SHOWN = 8  # stories
TOLD = 20  # documents of each
OTHERS = 10


def happenings(db: Database, embedder: str, scopes: Sequence[str], since: datetime) -> Json:
    """``stories``, most sources first: ``title``, how many ``sources``, and ``documents``, first told first.

    ``others`` are the last that arrived and are of no story; ``documents`` says how many were looked at. They
    are compared by their beginnings, as the model of the name ``embedder`` sees them.
    """
    rows = db.execute(_arrived(embedder, scopes, since))
    found = [_candidate(row) for row in rows]
    groups: dict[str, list[Candidate]] = defaultdict(list)
    others = []
    for candidate, story in zip(found, label(found), strict=True):
        groups[story].append(candidate) if story else others.append(candidate)
    stories = sorted(map(_story, groups.values()), key=lambda story: (-story["sources"], -story["told"]))
    return {"documents": len(found), "stories": stories[:SHOWN], "others": list(map(_told, others[:OTHERS]))}


def _story(documents: Sequence[Candidate]) -> Json:
    """Called as the one is that is most like all of them."""
    vectors = np.stack([it.vector for it in documents if it.vector is not None])
    central = documents[int(np.argmax(vectors @ vectors.mean(0)))]
    return {
        "title": central.origin.title, "sources": len({it.source_id for it in documents}),
        "told": len(documents),
        "documents": list(map(_told, sorted(documents, key=dated)[:TOLD])),
    }


def _told(found: Candidate) -> Json:
    it = found.origin
    return {"document_id": str(found.document_id), "title": it.title, "url": it.url, "source": it.source,
            "published_at": it.published_at and it.published_at.isoformat(),
            "at": dated(found).isoformat()}


def _candidate(row: Row[Any]) -> Candidate:
    about = About(*(tuple(terms or ()) for terms in (row.topics, row.entities, row.keywords)))
    vector = np.frombuffer(row.vector, STORED).astype(np.float32) if row.vector else None
    return Candidate(0.0, row.chunk_id, row.version_id, row.document_id, row.text or "", (), origin(row),
                     row.kind, 0.0, row.discovered_at, None, row.source_id, vector=vector, about=about,
                     content_type=row.content_type)


def _arrived(embedder: str, scopes: Sequence[str], since: datetime) -> Executable:
    return (
        select(Chunk.id.label("chunk_id"), DocumentVersion.id.label("version_id"),
               DocumentVersion.document_id, Chunk.text, Chunk.vector, Source.kind,
               Source.id.label("source_id"), Document.discovered_at,
               VersionAnalysis.topics, VersionAnalysis.entities, VersionAnalysis.keywords,
               VersionAnalysis.content_type, *columns(Document, literal(0), literal(0)))
        .join(Document, Document.id == DocumentVersion.document_id)
        .join(Source, Source.id == Document.source_id)
        .outerjoin(VersionAnalysis, VersionAnalysis.version_id == DocumentVersion.id)
        .outerjoin(Chunk, and_(Chunk.version_id == DocumentVersion.id, Chunk.position == 0,
                               Chunk.embedder == embedder))
        .where(DocumentVersion.indexed_at >= since, DocumentVersion.number == 1,
               Document.state != DocumentState.REMOVED, Source.removed_at.is_(None),
               Document.scopes.contained_by(list(scopes)))
        .order_by(DocumentVersion.indexed_at.desc(), DocumentVersion.id).limit(LOOKED_AT)
    )
