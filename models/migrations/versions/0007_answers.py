"""Interests, judgments, and where an excerpt of two chunks stands."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "interest",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("scopes", ARRAY(sa.Text()), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("strength", sa.Double(), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("kept", sa.Boolean(), nullable=False),
        sa.CheckConstraint("cardinality(scopes) > 0", name=op.f("ck_interest_scopes_not_empty")),
        sa.CheckConstraint("strength BETWEEN 0 AND 1", name=op.f("ck_interest_strength")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_interest")),
    )
    op.create_index("uq_interest_scopes_topic", "interest", ["scopes", "topic"], unique=True)
    op.create_table(
        "judgment",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("scopes", ARRAY(sa.Text()), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("previous", sa.Text()),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("good", sa.Boolean(), nullable=False),
        sa.Column("judged_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("cardinality(scopes) > 0", name=op.f("ck_judgment_scopes_not_empty")),
        sa.ForeignKeyConstraint(["document_id"], ["document.id"], ondelete="CASCADE",
                                name=op.f("fk_judgment_document_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgment")),
    )
    op.create_index("uq_judgment_scopes_question_document_id", "judgment",
                    ["scopes", "question", "document_id"], unique=True)
    op.add_column("usage_event", sa.Column("previous", sa.Text()))
    op.add_column("usage_event", sa.Column("start", sa.Integer()))
    op.add_column("usage_event", sa.Column("end", sa.Integer()))


def downgrade() -> None:
    for column in ("end", "start", "previous"):
        op.drop_column("usage_event", column)
    op.drop_table("judgment")
    op.drop_table("interest")
