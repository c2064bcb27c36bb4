"""What is understood of each version."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, REAL

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TYPES = ("news", "time_sensitive", "opinion", "reference", "evergreen")


def upgrade() -> None:
    words = ARRAY(sa.Text())
    op.create_table(
        "analysis",
        sa.Column("version_id", sa.Uuid(), nullable=False),
        sa.Column("scopes", words, nullable=False),
        sa.Column("topics", words, nullable=False),
        sa.Column("entities", words, nullable=False),
        sa.Column("keywords", words, nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("content_type", sa.Text(), nullable=False),
        sa.Column("language", sa.Text()),
        sa.Column("confidence", REAL(), nullable=False),
        sa.Column("reasons", words, nullable=False),
        sa.Column("analyser", sa.Text(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.Column("analysed_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(f"content_type IN {TYPES}", name=op.f("ck_analysis_content_type")),
        sa.CheckConstraint("cardinality(scopes) > 0", name=op.f("ck_analysis_scopes_not_empty")),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("ck_analysis_confidence")),
        sa.ForeignKeyConstraint(["version_id"], ["document_version.id"], name=op.f("fk_analysis_version_id"),
                                ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("version_id", name=op.f("pk_analysis")),
    )
    op.create_index("ix_analysis_analysed_at", "analysis", ["analysed_at"])


def downgrade() -> None:
    op.drop_table("analysis")
