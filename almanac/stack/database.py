"""The databases of the stack: ours, brought to the newest schema, and Prefect's beside it.

``python -m almanac.stack.database`` prepares both on the server of ALMANAC_DATABASE_URL, for deployments in
which no supervisor does it.
"""

import os
import sys
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.rows import TupleRow

from almanac.stack.errors import StackError

PREFECT = "prefect"  # the name of its database
SECONDS_TO_ANSWER = 10


def migrate(url: str) -> None:
    """Bring our schema to the newest revision. Raises StackError with the database's own reason."""
    from models.session import Database  # takes half a second to import: PostgreSQL starts meanwhile

    database = Database(url)
    try:
        database.migrate()
    except Exception as error:
        raise StackError("the database could not be brought to the newest schema: "
                         f"{first_line(error)}") from error
    finally:
        database.close()


def ensure_prefect(url: str) -> None:
    """Make Prefect's database on the server of ``url`` when it is not there. Raises StackError."""
    try:
        with connect(url) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [PREFECT]).fetchone():
                connection.execute(f"CREATE DATABASE {PREFECT}".encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise StackError("the user of ALMANAC_DATABASE_URL may not make the database "
                         f"{PREFECT!r} for Prefect: make it yourself, or set ALMANAC_PREFECT_URL") from error


def connect(url: str) -> "psycopg.Connection[TupleRow]":
    """The database at ``url``, each statement a transaction. Raises StackError when it does not answer."""
    try:
        return psycopg.connect(libpq_url(url), autocommit=True, connect_timeout=SECONDS_TO_ANSWER)
    except psycopg.Error as error:
        raise StackError("the database of ALMANAC_DATABASE_URL does not answer: "
                         f"{first_line(error)}") from error


def callers_refused(connection: "psycopg.Connection[TupleRow]") -> str | None:
    """Why callers have no role of their own, as the last start found; see models.wall."""
    try:
        row = connection.execute("SELECT refused FROM callers_login").fetchone()
    except psycopg.errors.UndefinedTable:  # before the first start
        return None
    return row[0] if row else None


def libpq_url(url: str) -> str:
    """``url`` without SQLAlchemy's driver name."""
    return "postgresql" + url[url.index("://") :]


def prefect_url(url: str) -> str:
    """Prefect's database on the server of ``url``, in the words of its driver, asyncpg."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    known = {"host": asked.get("host"), "port": asked.get("port"), "ssl": asked.get("sslmode")}
    query = urlencode({name: values[0] for name, values in known.items() if values})
    return urlunsplit(("postgresql+asyncpg", parts.netloc, f"/{PREFECT}", query, ""))


def first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


if __name__ == "__main__":
    try:
        connect(os.environ["ALMANAC_DATABASE_URL"]).close()
        migrate(os.environ["ALMANAC_DATABASE_URL"])
        ensure_prefect(os.environ["ALMANAC_DATABASE_URL"])
    except KeyError:
        sys.exit("almanac: ALMANAC_DATABASE_URL is not set: nothing to prepare")
    except StackError as error:
        sys.exit(f"almanac: {error}")
