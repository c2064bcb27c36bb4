"""What is read: sources, the looks at them, documents and what they said."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column, relationship

from models.states import DocumentState, PollOutcome, ReadingMode, SourceKind, Verdict
from models.tables.base import LIBRARY_SCOPE, NOW, Table, one_of, scoped


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
    fragment_routes: Mapped[bool] = mapped_column(default=False, server_default="false")  # “#/a”: pages
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
    interest: Mapped[float | None]  # how near to what interests its owner: judged in the mode "interesting"
    full_text: Mapped[str | None]  # that its feed brings: HTML of structure alone, see tasks.discover.plain
    published_at: Mapped[datetime | None]  # as its source says
    discovered_at: Mapped[datetime] = mapped_column(server_default=NOW)
    read_at: Mapped[datetime | None]  # the last time its address was read well
    whole_at: Mapped[datetime | None]  # the last time its body came, instead of “not modified”
    failing_since: Mapped[datetime | None]  # the first look after that which went wrong
    flapped_at: Mapped[datetime | None]  # the last time it went back to a text that it had left within a day
    final_url: Mapped[str | None]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    content_hash: Mapped[str | None]  # of the newest version, indexed or not
    version_id: Mapped[UUID | None]  # the version that answers
    duplicate_of: Mapped[UUID | None] = mapped_column(ForeignKey("document.id", ondelete="SET NULL"))
    # Of what was handed in, see tasks.keep; nothing else has them.
    given_hash: Mapped[UUID | None]  # of the text as it was given: a UUIDv8
    artifact_id: Mapped[UUID | None] = mapped_column(ForeignKey("artifact.id"))
    subject_type: Mapped[str | None]
    subject_title: Mapped[str | None]
    observed_at: Mapped[datetime | None]  # when it was seen to be so
    expires_at: Mapped[datetime | None]  # from then on it answers no more
    recheck: Mapped[str | None]  # why what was derived from it needs another look

    source: Mapped[Source] = relationship(lazy="raise")

    __table_args__ = (
        one_of("state", DocumentState),
        scoped(),
        CheckConstraint("scopes = sorted_scopes(scopes)", name="scopes_sorted"),
        Index("uq_document_key_scopes", "key", "scopes", unique=True,
              postgresql_where=sql("state <> 'removed'")),
        Index("ix_document_due", "due_at", postgresql_where=sql("due_at IS NOT NULL")),
        Index("ix_document_source_id_item_key", "source_id", "item_key"),
        Index("ix_document_source_id_key", "source_id", "key"),  # removed ones too
        Index("ix_document_content_hash", "content_hash"),
        Index("ix_document_state", "state"),
        Index("ix_document_discovered_at", "discovered_at", "id"),  # the list of documents
        Index("ix_document_failing_since", "failing_since",
              postgresql_where=sql("failing_since IS NOT NULL")),
        Index("ix_document_unjudged", "source_id",
              postgresql_where=sql("state = 'discovered' AND due_at IS NULL")),
        Index("ix_document_duplicate_of", "duplicate_of", postgresql_where=sql("duplicate_of IS NOT NULL")),
        Index("ix_document_given_hash", "given_hash", postgresql_where=sql("given_hash IS NOT NULL")),
        Index("ix_document_artifact_id", "artifact_id", postgresql_where=sql("artifact_id IS NOT NULL")),
        Index("ix_document_recheck", "id", postgresql_where=sql("recheck IS NOT NULL")),
        Index("ix_document_subject_title", "subject_title",
              postgresql_where=sql("subject_title IS NOT NULL")),
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
    modified_at: Mapped[datetime | None]  # as the page says
    site_name: Mapped[str | None]
    canonical_url: Mapped[str | None]
    final_url: Mapped[str]
    extractor: Mapped[str]
    read_at: Mapped[datetime]
    indexed_at: Mapped[datetime | None]  # none: waits for the index
    superseded_at: Mapped[datetime | None]  # a newer version answers
    leased_by: Mapped[str | None]
    leased_until: Mapped[datetime | None]
    failure: Mapped[str | None]  # why it cannot be indexed: not tried again until its owner asks
    hidden: Mapped[list[dict[str, Any]]] = mapped_column(  # models.extracted.Hidden: in the text, unseen
        default=list, server_default="[]")
    essence: Mapped[str | None]  # models.noise.essence: the same where nothing but noise differs
    sketch: Mapped[list[int] | None]  # tasks.gates.likeness: what nearly equal texts share
    verdict: Mapped[str | None]  # of the gates, where one refused it, and then of its owner
    passed: Mapped[list[str]] = mapped_column(default=list, server_default="{}")  # gates not asked again

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
        one_of("verdict", Verdict),
        Index("ix_document_version_sketch", "sketch", postgresql_using="gin",
              postgresql_where=sql("superseded_at IS NULL")),
        Index("ix_document_version_refused", "document_id", postgresql_where=sql("verdict IS NOT NULL")),
    )


class HostPause(Table):
    """How long a web server wants to be left alone (Retry-After), so that no restart forgets it."""

    __tablename__ = "host_pause"

    host: Mapped[str] = mapped_column(primary_key=True)  # with its port, if not the usual one
    until: Mapped[datetime]


class CrawlDelay(Table):
    """A host whose robots.txt asks for more seconds between two pages than it is given."""

    __tablename__ = "crawl_delay"

    host: Mapped[str] = mapped_column(primary_key=True)  # with its port, if not the usual one
    asked: Mapped[float]
    kept: Mapped[float]
    read_at: Mapped[datetime]
