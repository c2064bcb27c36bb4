"""What is handed in, and which tools may be used."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, Index
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from models.states import ArtifactState
from models.tables.base import NOW, Table, one_of, scoped


class Artifact(Table):
    """A file that was handed in or fetched to be kept, and how far its conversion has come."""

    __tablename__ = "artifact"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    scopes: Mapped[list[str]]
    name: Mapped[str]
    media_type: Mapped[str]  # as its bytes say
    charset: Mapped[str | None]  # as its server said
    url: Mapped[str | None]  # where it was fetched
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]  # hex
    about: Mapped[str | None]  # in the words of whoever handed it in
    key: Mapped[str | None]  # in the store; says nothing of what it holds. None: its bytes were let go
    packed: Mapped[bool]  # stored as zstd
    preserve: Mapped[bool]  # the bytes are kept when it is converted
    state: Mapped[str] = mapped_column(default=ArtifactState.PENDING.value)
    reason: Mapped[str | None]  # why it failed, or is tried again
    attempts: Mapped[int] = mapped_column(default=0)
    due_at: Mapped[datetime] = mapped_column(server_default=NOW)
    leased_by: Mapped[str | None]
    leased_until: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    converted_at: Mapped[datetime | None]

    __table_args__ = (
        one_of("state", ArtifactState),
        scoped(),
        Index("ix_artifact_sha256", "sha256"),
        Index("ix_artifact_waiting", "due_at",
              postgresql_where=sql("state IN ('pending', 'queued', 'processing')")),
    )


class UploadTicket(Table):
    """A promise to take one file, whose URL is known to nobody but whoever asked for it."""

    __tablename__ = "upload_ticket"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    hash: Mapped[str] = mapped_column(unique=True)  # SHA-256, hex, of the secret in the URL
    scopes: Mapped[list[str]]
    name: Mapped[str]
    media_type: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    title: Mapped[str | None]
    about: Mapped[str | None]
    subject_type: Mapped[str | None]
    subject_title: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    __table_args__ = (scoped(), Index("ix_upload_ticket_expires_at", "expires_at"))


class ToolPin(Table):
    """A tool of somebody else's server as it was when it was first seen, or last accepted."""

    __tablename__ = "tool_pin"

    server: Mapped[str] = mapped_column(primary_key=True)
    tool: Mapped[str] = mapped_column(primary_key=True)
    definition: Mapped[str]  # its description and schema as JSON; another character is another definition
    pinned_at: Mapped[datetime] = mapped_column(server_default=NOW)
