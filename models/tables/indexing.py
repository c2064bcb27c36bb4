"""What becomes of a version: what it is about, whether it is good enough, its chunks and their vectors."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import REAL
from sqlalchemy.orm import Mapped, mapped_column

from models.states import ChunkState, CollectionState, ContentType, Severity
from models.tables.base import LIBRARY_SCOPE, NOW, Table, one_of, scoped


class VersionAnalysis(Table):
    """What is understood of a version; see models.analysis.Analysis."""

    __tablename__ = "analysis"

    version_id: Mapped[UUID] = mapped_column(
        ForeignKey("document_version.id", ondelete="CASCADE"), primary_key=True)
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    topics: Mapped[list[str]]
    entities: Mapped[list[str]]
    keywords: Mapped[list[str]]
    summary: Mapped[str]
    category: Mapped[str]
    content_type: Mapped[str]
    language: Mapped[str | None]
    confidence: Mapped[float] = mapped_column(REAL)  # in the content type
    reasons: Mapped[list[str]]  # for the content type
    analyser: Mapped[str]  # with its version; of a model, with that of the prompt
    note: Mapped[str | None]  # why another judged in its place
    analysed_at: Mapped[datetime]

    __table_args__ = (
        one_of("content_type", ContentType),
        scoped(),
        CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
        Index("ix_analysis_analysed_at", "analysed_at"),
    )


class GateResult(Table):
    """An expectation that a version, or a source over time, did not meet."""

    __tablename__ = "gate_result"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    gate: Mapped[str]
    expectation: Mapped[str]
    severity: Mapped[str]
    reason: Mapped[str]
    observed: Mapped[str]  # the value that was judged, as text
    passage: Mapped[str | None]  # of the text that it is about
    source_id: Mapped[UUID] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"))
    document_id: Mapped[UUID | None] = mapped_column(ForeignKey("document.id", ondelete="CASCADE"))
    version_id: Mapped[UUID | None] = mapped_column(ForeignKey("document_version.id", ondelete="CASCADE"))
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    judged_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        one_of("severity", Severity),
        scoped(),
        Index("ix_gate_result_version_id", "version_id"),
        Index("ix_gate_result_source_id_judged_at", "source_id", "judged_at"),
        Index("ix_gate_result_judged_at", "judged_at"),
    )


class Chunk(Table):
    """A piece of a version that is embedded; its ``text`` is ``version.text[start:end]``, exactly.

    What is embedded is ``context`` (title, headings, table header) and ``text`` together; ``digest`` is the
    hash of that, so that an unchanged piece keeps its vector in the next version.
    """

    __tablename__ = "chunk"

    id: Mapped[UUID] = mapped_column(primary_key=True)  # from the version's id and the position
    version_id: Mapped[UUID] = mapped_column(ForeignKey("document_version.id", ondelete="CASCADE"))
    document_id: Mapped[UUID] = mapped_column(ForeignKey("document.id", ondelete="CASCADE"))
    source_id: Mapped[UUID] = mapped_column(ForeignKey("source.id"))
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    position: Mapped[int]  # from 0, inside its version
    text: Mapped[str]
    context: Mapped[str | None]  # in front of it; none: of a chunk that is older than this column
    headings: Mapped[list[str]]
    start: Mapped[int]
    end: Mapped[int]
    tokens: Mapped[int]
    digest: Mapped[str]
    vector: Mapped[bytes]  # little-endian half-precision floats
    embedder: Mapped[str]
    state: Mapped[str] = mapped_column(default=ChunkState.PENDING.value)

    __table_args__ = (
        one_of("state", ChunkState),
        scoped(),
        Index("uq_chunk_version_id_position", "version_id", "position", unique=True),
        Index("ix_chunk_document_id", "document_id"),
        Index("ix_chunk_live", "document_id", postgresql_where=sql("state = 'live'")),  # each run counts them
        Index("ix_chunk_moving", "state", postgresql_where=sql("state IN ('pending', 'retiring')")),
    )


class ChunkVector(Table):
    """A chunk's vector by the model that is to answer next, until it does: then it is the chunk's own."""

    __tablename__ = "chunk_vector"

    embedder: Mapped[str] = mapped_column(primary_key=True)
    chunk_id: Mapped[UUID] = mapped_column(ForeignKey("chunk.id", ondelete="CASCADE"), primary_key=True)
    vector: Mapped[bytes]

    __table_args__ = (Index("ix_chunk_vector_chunk_id", "chunk_id"),)


class Collection(Table):
    """A collection of the index, in process or on a server, and the model whose vectors it holds."""

    __tablename__ = "collection"

    name: Mapped[str] = mapped_column(primary_key=True)
    embedder: Mapped[str]
    dimensions: Mapped[int]
    address: Mapped[str | None]  # of the model's server; none: the bundled model
    state: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        one_of("state", CollectionState),
        Index("uq_collection_state", "state", unique=True, postgresql_where=sql("state <> 'left'")),
    )
