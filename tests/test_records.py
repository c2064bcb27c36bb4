"""The schema and its migration say the same."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from models.session import Database
from models.tables import Table


@pytest.mark.database
def test_the_migrations_lead_to_exactly_the_tables_of_the_models(db: Database) -> None:
    with db.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Table.metadata) == []
