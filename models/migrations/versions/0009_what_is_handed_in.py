"""What is handed in: files and their conversion, upload tickets, and what a kept document is known by."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, UUID

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

KINDS = ("feed", "page", "sitemap", "json", "url", "documentation")
SEARCHED = ("given_hash", "artifact_id", "subject_title")


def upgrade() -> None:
    allow_kinds(*KINDS, "kept")
    op.create_table(
        "artifact",
        sa.Column("id", UUID(), primary_key=True),
        sa.Column("scopes", ARRAY(sa.Text()), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("charset", sa.Text()),
        sa.Column("url", sa.Text()),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("about", sa.Text()),
        sa.Column("key", sa.Text()),
        sa.Column("packed", sa.Boolean(), nullable=False),
        sa.Column("preserve", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        moment("due_at", nullable=False, server_default=sa.text("now()")),
        sa.Column("leased_by", sa.Text()),
        moment("leased_until"),
        moment("created_at", nullable=False, server_default=sa.text("now()")),
        moment("converted_at"),
        sa.CheckConstraint("state IN ('pending', 'queued', 'processing', 'ready', 'failed')",
                           name="ck_artifact_state"),
        sa.CheckConstraint("cardinality(scopes) > 0", name="ck_artifact_scopes_not_empty"))
    op.create_index("ix_artifact_sha256", "artifact", ["sha256"])
    op.create_index("ix_artifact_waiting", "artifact", ["due_at"],
                    postgresql_where=sa.text("state IN ('pending', 'queued', 'processing')"))
    op.create_table(
        "upload_ticket",
        sa.Column("id", UUID(), primary_key=True),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("scopes", ARRAY(sa.Text()), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("about", sa.Text()),
        sa.Column("subject_type", sa.Text()),
        sa.Column("subject_title", sa.Text()),
        moment("created_at", nullable=False, server_default=sa.text("now()")),
        moment("expires_at", nullable=False),
        moment("used_at"),
        sa.UniqueConstraint("hash", name="uq_upload_ticket_hash"),
        sa.CheckConstraint("cardinality(scopes) > 0", name="ck_upload_ticket_scopes_not_empty"))
    op.create_index("ix_upload_ticket_expires_at", "upload_ticket", ["expires_at"])
    for column in (
        sa.Column("given_hash", UUID()),
        sa.Column("artifact_id", UUID(), sa.ForeignKey("artifact.id", name="fk_document_artifact_id")),
        sa.Column("subject_type", sa.Text()),
        sa.Column("subject_title", sa.Text()),
        moment("observed_at"),
        moment("expires_at"),
        sa.Column("recheck", sa.Text()),
    ):
        op.add_column("document", column)
    for name in SEARCHED:
        op.create_index(f"ix_document_{name}", "document", [name],
                        postgresql_where=sa.text(f"{name} IS NOT NULL"))


def downgrade() -> None:
    for name in SEARCHED:
        op.drop_index(f"ix_document_{name}", "document")
    for name in ("recheck", "expires_at", "observed_at", "subject_title", "subject_type", "artifact_id",
                 "given_hash"):
        op.drop_column("document", name)
    op.drop_table("upload_ticket")
    op.drop_table("artifact")
    allow_kinds(*KINDS)


def moment(name: str, **choices: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), **choices)


def allow_kinds(*kinds: str) -> None:
    op.drop_constraint("ck_source_kind", "source")
    op.create_check_constraint(op.f("ck_source_kind"), "source", f"kind IN {kinds}")
