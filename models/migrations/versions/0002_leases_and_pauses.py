"""Leases of versions, why a version is not indexed, pauses that hosts asked for, since when an address fails."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "host_pause",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("host", name="pk_host_pause"))
    op.add_column("document", sa.Column("whole_at", sa.DateTime(timezone=True)))
    op.add_column("document", sa.Column("failing_since", sa.DateTime(timezone=True)))
    op.create_index("ix_document_duplicate_of", "document", ["duplicate_of"],
                    postgresql_where=sa.text("duplicate_of IS NOT NULL"))
    op.add_column("document_version", sa.Column("leased_by", sa.Text()))
    op.add_column("document_version", sa.Column("leased_until", sa.DateTime(timezone=True)))
    op.add_column("document_version", sa.Column("failure", sa.Text()))
    op.create_index("ix_document_version_leased_by", "document_version", ["leased_by"],
                    postgresql_where=sa.text("leased_by IS NOT NULL"))
    op.create_index("ix_chunk_live", "chunk", ["document_id"], postgresql_where=sa.text("state = 'live'"))


def downgrade() -> None:
    op.drop_index("ix_chunk_live", "chunk")
    op.drop_index("ix_document_version_leased_by", "document_version")
    for column in ("failure", "leased_until", "leased_by"):
        op.drop_column("document_version", column)
    op.drop_index("ix_document_duplicate_of", "document")
    op.drop_column("document", "failing_since")
    op.drop_column("document", "whole_at")
    op.drop_table("host_pause")
