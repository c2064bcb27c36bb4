"""Sitemaps and JSON APIs; what a source is asked with, tagged and timed by, where it moves, if it is well."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KINDS = ("feed", "page", "url", "documentation")
MORE_KINDS = ("sitemap", "json")


def upgrade() -> None:
    allow_kinds(*KINDS, *MORE_KINDS)
    for column in (
        sa.Column("map", JSONB(), nullable=False, server_default="{}"),
        sa.Column("parts", JSONB(), nullable=False, server_default="{}"),
        sa.Column("tags", ARRAY(sa.Text()), nullable=False, server_default="{}"),
        sa.Column("headers", JSONB(), nullable=False, server_default="{}"),
        sa.Column("zone", sa.Text(), nullable=False, server_default="UTC"),
        sa.Column("moved_to", sa.Text()),
        sa.Column("moved_polls", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("last_good_at", sa.DateTime(timezone=True)),
    ):
        op.add_column("source", column)
    op.add_column("document", sa.Column("full_text", sa.Text()))
    op.create_index("ix_document_source_id_key", "document", ["source_id", "key"])
    op.create_index("ix_document_version_canonical_url", "document_version", ["canonical_url"],
                    postgresql_where=sa.text("superseded_at IS NULL"), postgresql_using="hash")


def downgrade() -> None:
    op.drop_index("ix_document_source_id_key", "document")
    op.drop_column("document", "full_text")
    op.drop_index("ix_document_version_canonical_url", "document_version")
    for column in ("last_good_at", "moved_polls", "moved_to", "zone", "headers", "tags", "parts", "map"):
        op.drop_column("source", column)
    allow_kinds(*KINDS)


def allow_kinds(*kinds: str) -> None:
    op.drop_constraint("ck_source_kind", "source")
    op.create_check_constraint(op.f("ck_source_kind"), "source", f"kind IN {kinds}")
