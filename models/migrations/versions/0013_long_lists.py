"""Long lists by the page: documents as they were found, and what gates found by the day."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_document_discovered_at", "document", ["discovered_at", "id"])
    op.create_index("ix_gate_result_judged_at", "gate_result", ["judged_at"])


def downgrade() -> None:
    op.drop_index("ix_gate_result_judged_at", "gate_result")
    op.drop_index("ix_document_discovered_at", "document")
