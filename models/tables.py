"""The tables. PostgreSQL is the only truth; the index can be rebuilt from the rows here."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import CheckConstraint, DateTime, ForeignKey, Index, LargeBinary, MetaData, Text
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, REAL
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from models.states import (
    ChunkState,
    CollectionState,
    ContentType,
    DocumentState,
    PollOutcome,
    ReadingMode,
    SourceKind,
)

LIBRARY_SCOPE = "library"
NOW = sql("now()")


class Table(DeclarativeBase):
    """Base of every table; constraint names are fixed so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it as a class attribute
        datetime: DateTime(timezone=True),
        str: Text,
        bytes: LargeBinary,
        list[str]: ARRAY(Text),
        list[dict[str, Any]]: JSONB,
        dict[str, Any]: JSONB,
    }


def one_of(column: str, states: type[StrEnum]) -> CheckConstraint:
    """A text column limited to the names of an enumeration (a native enum cannot be migrated back)."""
    names = ", ".join(f"'{state.value}'" for state in states)
    return CheckConstraint(f"{column} IN ({names})", name=column)


def scoped() -> CheckConstraint:
    """Who may read a row: never nobody by accident."""
    return CheckConstraint("cardinality(scopes) > 0", name="scopes_not_empty")


class Source(Table):
    """What is polled."""

    __tablename__ = "source"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    kind: Mapped[str]
    name: Mapped[str]
    url: Mapped[str]
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    priority: Mapped[int] = mapped_column(default=50)  # 0 to 100, read first when high
    weight: Mapped[float] = mapped_column(default=0.5)  # 0 to 1, counts in the ranking
    every_seconds: Mapped[int | None]
    cron: Mapped[str | None]
    zone: Mapped[str] = mapped_column(default="UTC", server_default="UTC")  # of the cron line
    tags: Mapped[list[str]] = mapped_column(default=list, server_default="{}")
    headers: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default="{}")  # shown to nobody
    include: Mapped[list[str]] = mapped_column(default=list)
    exclude: Mapped[list[str]] = mapped_column(default=list)
    limit_per_poll: Mapped[int] = mapped_column(default=100)
    map: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default="{}")  # of a JSON API
    mode: Mapped[str] = mapped_column(default=ReadingMode.EVERYTHING.value)
    paused: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    removed_at: Mapped[datetime | None]
    next_poll_at: Mapped[datetime | None]
    last_polled_at: Mapped[datetime | None]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    body_hash: Mapped[str | None]  # of the last good body, for servers without validators
    parts: Mapped[dict[str, Any]] = mapped_column(  # the files of a sitemap, by address, as each was last
        default=dict, server_default="{}", deferred=True, deferred_raiseload=True)
    failures: Mapped[int] = mapped_column(default=0)  # in a row
    health: Mapped[str] = mapped_column(default="not polled yet")
    last_good_at: Mapped[datetime | None]
    moved_to: Mapped[str | None]  # where its address says it has gone for good
    moved_polls: Mapped[int] = mapped_column(default=0, server_default="0")  # that said so, in a row

    __table_args__ = (
        one_of("kind", SourceKind),
        one_of("mode", ReadingMode),
        scoped(),
        CheckConstraint("priority BETWEEN 0 AND 100", name="priority"),
        CheckConstraint("weight BETWEEN 0 AND 1", name="weight"),
        Index("uq_source_kind_url", "kind", "url", unique=True, postgresql_where=sql("removed_at IS NULL")),
        Index("ix_source_due", "next_poll_at", postgresql_where=sql("removed_at IS NULL AND NOT paused")),
    )


class Poll(Table):
    """One look at a source."""

    __tablename__ = "poll"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    source_id: Mapped[UUID] = mapped_column(ForeignKey("source.id", ondelete="CASCADE"))
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime]
    outcome: Mapped[str]
    reason: Mapped[str]
    http_status: Mapped[int | None]
    items_seen: Mapped[int] = mapped_column(default=0)
    items_new: Mapped[int] = mapped_column(default=0)
    items_changed: Mapped[int] = mapped_column(default=0)

    __table_args__ = (
        one_of("outcome", PollOutcome),
        scoped(),
        Index("ix_poll_source_id_started_at", "source_id", "started_at"),
    )


class Document(Table):
    """One address with an identity.

    It is read when ``due_at`` has come: a date in the future is a retry, none means never by itself. What
    answers is ``version_id``, whatever the state of the latest attempt.
    """

    __tablename__ = "document"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    source_id: Mapped[UUID] = mapped_column(ForeignKey("source.id"))
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    url: Mapped[str]  # as the source gave it: fetched and cited
    key: Mapped[str]  # its identity: models.addresses.identity_key(url)
    item_key: Mapped[str | None]  # the item's own identity inside its source, such as a guid
    item_hash: Mapped[str | None]  # of what the source says of the item: a change makes it due
    state: Mapped[str] = mapped_column(default=DocumentState.DISCOVERED.value)
    reason: Mapped[str] = mapped_column(default="found by its source")
    attempts: Mapped[int] = mapped_column(default=0)  # failed ones in a row
    due_at: Mapped[datetime | None]
    leased_by: Mapped[str | None]
    leased_until: Mapped[datetime | None]
    priority: Mapped[int] = mapped_column(default=50)
    title: Mapped[str | None]
    author: Mapped[str | None]
    summary: Mapped[str | None]
    full_text: Mapped[str | None]  # that its feed brings: HTML of structure alone, see tasks.discover.plain
    published_at: Mapped[datetime | None]  # as its source says
    discovered_at: Mapped[datetime] = mapped_column(server_default=NOW)
    read_at: Mapped[datetime | None]  # the last time its address was read well
    whole_at: Mapped[datetime | None]  # the last time its body came, instead of “not modified”
    failing_since: Mapped[datetime | None]  # the first look after that which went wrong
    final_url: Mapped[str | None]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    content_hash: Mapped[str | None]  # of the newest version, indexed or not
    version_id: Mapped[UUID | None]  # the version that answers
    duplicate_of: Mapped[UUID | None] = mapped_column(ForeignKey("document.id", ondelete="SET NULL"))

    source: Mapped[Source] = relationship(lazy="raise")

    __table_args__ = (
        one_of("state", DocumentState),
        scoped(),
        Index("uq_document_key_scopes", "key", "scopes", unique=True,
              postgresql_where=sql("state <> 'removed'")),
        Index("ix_document_due", "due_at", postgresql_where=sql("due_at IS NOT NULL")),
        Index("ix_document_source_id_item_key", "source_id", "item_key"),
        Index("ix_document_source_id_key", "source_id", "key"),  # removed ones too
        Index("ix_document_content_hash", "content_hash"),
        Index("ix_document_state", "state"),
        Index("ix_document_duplicate_of", "duplicate_of", postgresql_where=sql("duplicate_of IS NOT NULL")),
    )


class DocumentVersion(Table):
    """What a document said at one time. Raw HTML is never stored."""

    __tablename__ = "document_version"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    document_id: Mapped[UUID] = mapped_column(ForeignKey("document.id", ondelete="CASCADE"))
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    number: Mapped[int]  # from 1, inside its document
    blocks: Mapped[list[dict[str, Any]]]
    text: Mapped[str]  # models.blocks.text_of(blocks)
    content_hash: Mapped[str]  # models.blocks.digest(text)
    title: Mapped[str]
    author: Mapped[str | None]
    language: Mapped[str | None]
    published_at: Mapped[datetime | None]
    canonical_url: Mapped[str | None]
    final_url: Mapped[str]
    extractor: Mapped[str]
    read_at: Mapped[datetime]
    indexed_at: Mapped[datetime | None]  # none: waits for the index
    superseded_at: Mapped[datetime | None]  # a newer version answers
    leased_by: Mapped[str | None]
    leased_until: Mapped[datetime | None]
    failure: Mapped[str | None]  # why it cannot be indexed: not tried again until its owner asks

    document: Mapped[Document] = relationship(lazy="raise", foreign_keys=[document_id])

    __table_args__ = (
        scoped(),
        Index("uq_document_version_document_id_number", "document_id", "number", unique=True),
        Index("ix_document_version_waiting", "read_at",
              postgresql_where=sql("indexed_at IS NULL AND superseded_at IS NULL")),
        Index("ix_document_version_indexed_at", "indexed_at"),
        Index("ix_document_version_canonical_url", "canonical_url", postgresql_using="hash",
              postgresql_where=sql("superseded_at IS NULL")),
        Index("ix_document_version_leased_by", "leased_by", postgresql_where=sql("leased_by IS NOT NULL")),
    )


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
class UsageEvent(Table):
    """An excerpt that a retrieval used or dropped; labels are resolved from here and nowhere else.

    ``start`` and ``end`` are its place in the version's text (none: its chunk's, in old rows). Of an excerpt
    of two chunks, ``chunk_id`` is the better.
    """

    __tablename__ = "usage_event"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    retrieval_id: Mapped[UUID]
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    query: Mapped[str]
    previous: Mapped[str | None]  # the message before it
    label: Mapped[str]
    used: Mapped[bool]
    why: Mapped[str | None]
    document_id: Mapped[UUID] = mapped_column(ForeignKey("document.id", ondelete="CASCADE"))
    version_id: Mapped[UUID] = mapped_column(ForeignKey("document_version.id", ondelete="CASCADE"))
    chunk_id: Mapped[UUID] = mapped_column(ForeignKey("chunk.id", ondelete="CASCADE"))
    start: Mapped[int | None]
    end: Mapped[int | None]
    score: Mapped[dict[str, Any]]
    happened_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        scoped(),
        Index("uq_usage_event_retrieval_id_label", "retrieval_id", "label", unique=True),
        Index("ix_usage_event_document_id_happened_at", "document_id", "happened_at"),
    )


class Interest(Table):
    """What readers of exactly these scopes ask about, and how much; it fades unless it is ``kept``."""

    __tablename__ = "interest"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    topic: Mapped[str]  # in lower case
    strength: Mapped[float]  # 0 to 1, at ``touched_at``
    touched_at: Mapped[datetime] = mapped_column(server_default=NOW)
    kept: Mapped[bool] = mapped_column(default=False)  # as its owner has set it: neither fades nor learns

    __table_args__ = (
        scoped(),
        CheckConstraint("strength BETWEEN 0 AND 1", name="strength"),
        Index("uq_interest_scopes_topic", "scopes", "topic", unique=True),
    )


class Judgment(Table):
    """Whether a document answers a question, as a reader of these scopes has said; the last word counts."""

    __tablename__ = "judgment"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    query: Mapped[str]
    previous: Mapped[str | None]  # the message before it
    question: Mapped[str]  # the hash of both
    document_id: Mapped[UUID] = mapped_column(ForeignKey("document.id", ondelete="CASCADE"))
    good: Mapped[bool]
    judged_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        scoped(),
        Index("uq_judgment_scopes_question_document_id", "scopes", "question", "document_id", unique=True),
    )


class HostPause(Table):
    """How long a web server wants to be left alone (Retry-After), so that no restart forgets it."""

    __tablename__ = "host_pause"

    host: Mapped[str] = mapped_column(primary_key=True)  # with its port, if not the usual one
    until: Mapped[datetime]


class ApiToken(Table):
    """A bearer token, stored hashed."""

    __tablename__ = "api_token"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str]
    hash: Mapped[str] = mapped_column(unique=True)  # SHA-256, hex: the token has 256 random bits
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    __table_args__ = (scoped(),)

