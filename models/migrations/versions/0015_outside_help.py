"""Outside help: sealed credentials, their use by day, and what was asked of external AIs."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, UUID

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

KINDS = ("feed", "page", "sitemap", "json", "url", "documentation", "kept", "listing")
SEARCHED = ("sent_at", "retrieval_id", "document_id", "credential_id")


def upgrade() -> None:
    allow_kinds(*KINDS, "external")
    op.create_table(
        "credential",
        sa.Column("id", UUID(), primary_key=True),
        sa.Column("principal_id", UUID()),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("last_four", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("requests_per_minute", sa.Integer()),
        sa.Column("tokens_per_minute", sa.Integer()),
        sa.Column("requests_per_day", sa.Integer()),
        sa.Column("tokens_per_day", sa.Integer()),
        sa.Column("refused", sa.Text()),
        moment("created_at", nullable=False, server_default=sa.text("now()")),
        sa.CheckConstraint("priority BETWEEN 0 AND 100", name="ck_credential_priority"))
    op.create_index("ix_credential_principal_id", "credential", ["principal_id"])
    op.create_table(
        "credential_day",
        sa.Column("credential_id", UUID(),
                  sa.ForeignKey("credential.id", name="fk_credential_day_credential_id", ondelete="CASCADE"),
                  primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False))
    op.create_table(
        "errand",
        sa.Column("id", UUID(), primary_key=True),
        sa.Column("retrieval_id", UUID(), nullable=False),
        sa.Column("principal_id", UUID(), nullable=False),
        sa.Column("scopes", ARRAY(sa.Text()), nullable=False),
        sa.Column("credential_id", UUID(),
                  sa.ForeignKey("credential.id", name="fk_errand_credential_id", ondelete="SET NULL")),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("tokens", sa.Integer()),
        sa.Column("document_id", UUID(),
                  sa.ForeignKey("document.id", name="fk_errand_document_id", ondelete="SET NULL")),
        moment("sent_at", nullable=False, server_default=sa.text("now()")),
        moment("ended_at"),
        sa.CheckConstraint("outcome IN ('sent', 'answered', 'refused', 'failed')", name="ck_errand_outcome"),
        sa.CheckConstraint("cardinality(scopes) > 0", name="ck_errand_scopes_not_empty"))
    for name in SEARCHED:
        op.create_index(f"ix_errand_{name}", "errand", [name])


def downgrade() -> None:
    op.drop_table("errand")
    op.drop_table("credential_day")
    op.drop_table("credential")
    allow_kinds(*KINDS)


def moment(name: str, **choices: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), **choices)


def allow_kinds(*kinds: str) -> None:
    op.drop_constraint("ck_source_kind", "source")
    op.create_check_constraint(op.f("ck_source_kind"), "source", f"kind IN {kinds}")
