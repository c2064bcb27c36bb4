"""Interesting items, routes in fragments, what pages say of themselves, and hosts that want it slow."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("source", sa.Column("fragment_routes", sa.Boolean(), nullable=False, server_default="false"))
    op.add_column("document", sa.Column("interest", sa.Float()))
    op.create_index("ix_document_unjudged", "document", ["source_id"], postgresql_where=sa.text(
        "state = 'discovered' AND due_at IS NULL"))
    op.add_column("document_version", sa.Column("modified_at", sa.DateTime(timezone=True)))
    op.add_column("document_version", sa.Column("site_name", sa.Text()))
    op.create_table(
        "crawl_delay",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("asked", sa.Float(), nullable=False),
        sa.Column("kept", sa.Float(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_crawl_delay")),
    )


def downgrade() -> None:
    op.drop_table("crawl_delay")
    op.drop_column("document_version", "site_name")
    op.drop_column("document_version", "modified_at")
    op.drop_index("ix_document_unjudged", "document")
    op.drop_column("document", "interest")
    op.drop_column("source", "fragment_routes")
