"""What the gates refuse and why; what a version says but for its noise, and what it hides."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

def upgrade() -> None:
    for column in (
        sa.Column("hidden", JSONB(), nullable=False, server_default="[]"),
        sa.Column("essence", sa.Text()),
        sa.Column("sketch", ARRAY(sa.BigInteger())),
        sa.Column("verdict", sa.Text()),
        sa.Column("passed", ARRAY(sa.Text()), nullable=False, server_default="{}"),
    ):
        op.add_column("document_version", column)
    op.create_check_constraint(op.f("ck_document_version_verdict"), "document_version",
                               "verdict IN ('quarantined', 'released', 'rejected')")
    op.create_index("ix_document_version_sketch", "document_version", ["sketch"], postgresql_using="gin",
                    postgresql_where=sa.text("superseded_at IS NULL"))
    op.create_index("ix_document_version_refused", "document_version", ["document_id"],
                    postgresql_where=sa.text("verdict IS NOT NULL"))
    op.create_table(
        "gate_result",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("gate", sa.Text(), nullable=False),
        sa.Column("expectation", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("observed", sa.Text(), nullable=False),
        sa.Column("passage", sa.Text()),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid()),
        sa.Column("version_id", sa.Uuid()),
        sa.Column("scopes", ARRAY(sa.Text()), nullable=False),
        sa.Column("judged_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("severity IN ('warning', 'critical', 'fatal')", name=op.f("ck_gate_result_severity")),
        sa.CheckConstraint("cardinality(scopes) > 0", name=op.f("ck_gate_result_scopes_not_empty")),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_gate_result_source_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["document_id"], ["document.id"], name=op.f("fk_gate_result_document_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["version_id"], ["document_version.id"], name=op.f("fk_gate_result_version_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gate_result")),
    )
    op.create_index("ix_gate_result_version_id", "gate_result", ["version_id"])
    op.create_index("ix_gate_result_source_id_judged_at", "gate_result", ["source_id", "judged_at"])


def downgrade() -> None:
    op.execute("UPDATE document SET state = 'rejected' WHERE state = 'quarantined'")
    op.drop_table("gate_result")
    op.drop_index("ix_document_version_refused", "document_version")
    op.drop_index("ix_document_version_sketch", "document_version")
    op.drop_constraint("ck_document_version_verdict", "document_version")
    for column in ("passed", "verdict", "sketch", "essence", "hidden"):
        op.drop_column("document_version", column)
