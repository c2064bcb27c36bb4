"""What a transaction costs in trips to PostgreSQL, and what becomes of connections that it closed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.pq import Trace
from sqlalchemy import text
from sqlalchemy.exc import InternalError, ProgrammingError

from almanac.stack.postgres import Postgres
from models.session import Database

pytestmark = pytest.mark.database

ONE = text("SELECT 1 AS one")


@contextmanager
def trips(db: Database, file: Path) -> Iterator[list[str]]:
    """What is sent and waited for meanwhile, on the one connection that a quiet pool lends each time."""
    with db.engine.connect() as connection:
        driver = connection.connection.driver_connection
    assert driver is not None
    sent: list[str] = []
    with file.open("w+") as log:
        driver.pgconn.trace(log.fileno())
        driver.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        yield sent
        driver.pgconn.untrace()
        log.seek(0)
        messages = [line.split("\t") for line in log if line.startswith("F")]
    sent += [message[2].strip() for message in messages if message[2].strip() in ("Query", "Sync")]


def test_a_statement_of_its_own_is_one_trip(db: Database, tmp_path: Path) -> None:
    for _ in range(9):  # psycopg prepares what it has seen some times
        assert [row.one for row in db.execute(ONE)] == [1]
    with trips(db, tmp_path / "trace") as sent:
        db.execute(ONE)
    assert len(sent) == 1


def test_a_transaction_is_begun_and_ended_and_nothing_else(db: Database, tmp_path: Path) -> None:
    with trips(db, tmp_path / "trace") as sent:
        for _ in range(2):
            with db.begin() as session:
                session.execute(ONE)
    assert len(sent) == 2 * 3


def test_a_snapshot_is_begun_and_ended_and_nothing_else(db: Database, tmp_path: Path) -> None:
    with trips(db, tmp_path / "trace") as sent:
        for _ in range(2):
            with db.snapshot() as session:
                session.execute(ONE)
    assert len(sent) == 2 * 3


def test_a_snapshot_shows_one_moment_and_changes_nothing(db: Database) -> None:
    db.execute(text("CREATE TABLE told AS SELECT 1 AS one"))
    with db.snapshot() as session:
        assert session.scalar(text("SELECT one FROM told")) == 1
        db.execute(text("UPDATE told SET one = 2"))
        assert session.scalar(text("SELECT one FROM told")) == 1
        with pytest.raises(InternalError, match="read-only"):
            session.execute(text("UPDATE told SET one = 3"))
    with db.begin() as session:  # on the same connection, which may write again
        session.execute(text("UPDATE told SET one = one + 2"))
    assert [row.one for row in db.execute(text("SELECT one FROM told"))] == [4]


def test_what_a_statement_of_its_own_changes_stays(db: Database) -> None:
    assert db.execute(text("CREATE TABLE kept AS SELECT 1 AS one")) == []
    with db.begin() as session:
        assert session.scalar(text("SELECT one FROM kept")) == 1


def test_connections_that_the_server_closed_are_made_anew(postgres: Postgres, db: Database) -> None:
    with db.begin() as one, db.begin() as another:  # two wait in the pool
        one.execute(ONE)
        another.execute(ONE)
    other = Database(postgres.url("postgres"))
    ours = text("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = :name")
    assert other.execute(ours, {"name": db.engine.url.database})
    other.close()
    assert [row.one for row in db.execute(ONE)] == [1]
    with db.begin() as session:
        assert session.scalar(ONE) == 1


def test_a_callers_statement_is_one_trip_too_with_its_scopes(db: Database, tmp_path: Path) -> None:
    caller = db.caller(["library"])
    mine = text("SELECT current_setting('almanac.reads') AS scopes")
    for _ in range(9):
        assert [row.scopes[64:] for row in caller.execute(mine)] == ['{"library"}']
    with trips(caller, tmp_path / "trace") as sent:
        caller.execute(mine)
    assert sent == ["Sync"]


def test_a_caller_begins_a_transaction_with_one_trip_more(db: Database, tmp_path: Path) -> None:
    caller = db.caller(["library"])
    with trips(caller, tmp_path / "trace") as sent, caller.begin() as session:
        session.execute(ONE)
    assert len(sent) == 4


def test_what_fails_fails_with_its_own_reason_and_the_connection_is_as_good_as_before(db: Database) -> None:
    caller = db.caller(["library"])
    for _ in range(9):
        with pytest.raises(ProgrammingError, match="permission denied for table callers_login"):
            caller.execute(text("SELECT key FROM callers_login"))
    assert [row.one for row in caller.execute(ONE)] == [1]
