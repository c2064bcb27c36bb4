"""Stand-in for the table of analyses, until its own migration is here."""

import sqlalchemy as sa
from alembic import op

from models.tables import Analysis

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    Analysis.__table__.create(op.get_bind())


def downgrade() -> None:
    op.drop_table("analysis")
