"""What is set of the ranking, and what began to fail lately."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0013"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ranking",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("weights", JSONB(), nullable=False),
        sa.Column("half_lives", JSONB(), nullable=False),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ranking")),
    )
    op.create_index("ix_ranking_set_at", "ranking", ["set_at"])
    op.create_index("ix_document_failing_since", "document", ["failing_since"],
                    postgresql_where=sa.text("failing_since IS NOT NULL"))


def downgrade() -> None:
    op.drop_index("ix_document_failing_since", "document")
    op.drop_table("ranking")
