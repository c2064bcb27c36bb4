"""Who may come in: principals, the organizations that they belong to, and their tokens."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, Index
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import LIBRARY_SCOPE, NOW, Table, scoped

OWNER = "owner"  # the principal whose library it is


class Principal(Table):
    """Somebody, or some program, that tokens belong to."""

    __tablename__ = "principal"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class Organization(Table):
    """A scope that has members; what is scoped to a public one alone is read by every caller."""

    __tablename__ = "organization"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(unique=True)  # that of the scope
    public: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class Membership(Table):
    """A principal reads what an organization holds, and may write into it where ``writes`` says so."""

    __tablename__ = "membership"

    organization_id: Mapped[UUID] = mapped_column(
        ForeignKey("organization.id", ondelete="CASCADE"), primary_key=True)
    principal_id: Mapped[UUID] = mapped_column(
        ForeignKey("principal.id", ondelete="CASCADE"), primary_key=True)
    writes: Mapped[bool] = mapped_column(default=False)

    __table_args__ = (Index("ix_membership_principal_id", "principal_id"),)


class ApiToken(Table):
    """A bearer token, stored hashed: what its principal may do, at most as far as it says itself."""

    __tablename__ = "api_token"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str]
    hash: Mapped[str] = mapped_column(unique=True)  # SHA-256, hex: the token has 256 random bits
    principal_id: Mapped[UUID] = mapped_column(ForeignKey("principal.id"))
    scopes: Mapped[list[str]] = mapped_column(default=lambda: [LIBRARY_SCOPE])  # that it reads
    writes: Mapped[list[str]]  # some of them
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    __table_args__ = (
        scoped(),
        Index("uq_api_token_name", "name", unique=True, postgresql_where=sql("revoked_at IS NULL")),
    )


class CallersLogin(Table):
    """The role that callers' statements run under, and the key that seals what they may do: one row, which
    that role cannot read. See models.wall.
    """

    __tablename__ = "callers_login"

    role: Mapped[str] = mapped_column(primary_key=True)
    password: Mapped[str]
    key: Mapped[bytes]
    refused: Mapped[str | None]  # why there is no such role
