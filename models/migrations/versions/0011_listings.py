"""Pages that list others are sources; a document that goes back and forth between two texts says since when."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

KINDS = ("feed", "page", "sitemap", "json", "url", "documentation", "kept")


def upgrade() -> None:
    allow_kinds(*KINDS, "listing")
    op.add_column("document", sa.Column("flapped_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("document", "flapped_at")
    op.execute("UPDATE source SET kind = 'page' WHERE kind = 'listing'")
    allow_kinds(*KINDS)


def allow_kinds(*kinds: str) -> None:
    op.drop_constraint("ck_source_kind", "source")
    op.create_check_constraint(op.f("ck_source_kind"), "source", f"kind IN {kinds}")
