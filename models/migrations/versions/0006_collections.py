"""Collections of the index, what a chunk is embedded with, and its vectors by another model."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chunk", sa.Column("context", sa.Text()))
    op.create_table(
        "chunk_vector",
        sa.Column("embedder", sa.Text(), nullable=False),
        sa.Column("chunk_id", sa.Uuid(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("embedder", "chunk_id", name=op.f("pk_chunk_vector")),
        sa.ForeignKeyConstraint(["chunk_id"], ["chunk.id"], ondelete="CASCADE",
                                name=op.f("fk_chunk_vector_chunk_id")),
    )
    op.create_index("ix_chunk_vector_chunk_id", "chunk_vector", ["chunk_id"])
    op.create_table(
        "collection",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("embedder", sa.Text(), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("address", sa.Text()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.text("now()")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_collection")),
        sa.CheckConstraint("state IN ('answering', 'filling', 'left')", name=op.f("ck_collection_state")),
    )
    op.create_index("uq_collection_state", "collection", ["state"], unique=True,
                    postgresql_where=sa.text("state <> 'left'"))


def downgrade() -> None:
    op.drop_table("collection")
    op.drop_table("chunk_vector")
    op.drop_column("chunk", "context")
