"""Alembic's environment: migrations run on the connection that ``Database.migrate`` hands over."""

import os

from alembic import context
from sqlalchemy import create_engine

from models.tables import Table


def run(connection: object) -> None:
    context.configure(connection=connection, target_metadata=Table.metadata, compare_type=True)  # type: ignore[arg-type]
    with context.begin_transaction():
        context.run_migrations()


if (given := context.config.attributes.get("connection")) is not None:
    run(given)
else:  # the alembic command itself, when a new revision is written
    with create_engine(os.environ["ALMANAC_DATABASE_URL"]).begin() as opened:
        run(opened)
