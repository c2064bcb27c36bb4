"""What Prefect's database holds, whatever its tables are."""

from collections.abc import Iterator, Sequence

import psycopg
from psycopg import sql

from almanac.stack.postgres import Postgres


def tables(connection: "psycopg.Connection[tuple[str, ...]]") -> Iterator[str]:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    yield from [name for (name,) in found.fetchall()]


def rows_with(postgres: Postgres, secrets: Sequence[str]) -> list[tuple[str, str]]:
    """Every row of Prefect's database, with its table, in which one of the texts stands."""
    assert all(len(secret) > 7 for secret in secrets)
    with psycopg.connect(postgres.url("prefect", "postgresql")) as connection:
        return [
            (table, row)
            for table in tables(connection)
            for (row,) in connection.execute(sql.SQL("SELECT it::text FROM {} it").format(
                sql.Identifier(table))).fetchall()
            if any(secret in row for secret in secrets)
        ]
