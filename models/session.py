"""The database session: one engine a process, short transactions, and the migrations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import as_file, files
from select import POLLIN, poll
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, Executable, Row, create_engine, event, func, select
from sqlalchemy.exc import DBAPIError, InterfaceError, InvalidatePoolError, OperationalError
from sqlalchemy.orm import Session, sessionmaker

from models.sealing import KeyRing

SEALING = 0x616C6D616E6163  # the advisory lock of those who seal secrets, and of who lets go of old keys
PASSING = ("08", "40", "53", "57P")  # SQLSTATEs that begin so: connection, conflict, resources, shutdown


def no_keys() -> KeyRing:
    return KeyRing([])


class Database:
    """PostgreSQL by URL. Thread-safe; share one in a process.

    A ``begin()`` block is one transaction: keep the network out of it. ``keys`` gives the master keys that
    its secrets are sealed under.
    """

    def __init__(self, url: str, pool_size: int = 10, keys: Callable[[], KeyRing] = no_keys) -> None:
        self.url, self.keys = url, keys
        self.engine: Engine = create_engine(
            url, pool_size=pool_size, max_overflow=10,
            pool_use_lifo=True,  # the connection whose statements are prepared
            hide_parameters=True,  # what is stored is nothing for logs, which errors end in
        )
        event.listen(self.engine, "checkout", refuse_lost)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        self._at_once = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def begin(self) -> Iterator[Session]:
        """A session whose changes are committed at the end and rolled back on an error."""
        with self._sessions.begin() as session:
            yield session

    @contextmanager
    def at_once(self) -> Iterator[Session]:
        """A session for one statement, or for some that need not agree: each is its own transaction, and one
        trip to PostgreSQL where a transaction would make three.
        """
        with self._sessions(bind=self._at_once) as session:
            yield session

    def execute(self, statement: Executable, values: Mapping[str, Any] | None = None) -> Sequence[Row[Any]]:
        """The rows of one statement that is its own transaction: one trip to PostgreSQL where ``begin``
        makes three.
        """
        with self._at_once.connect() as connection:
            result = connection.execute(statement, values)
            return result.all() if result.returns_rows else []

    @contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Whether nobody else, on whatever machine, is in a block of this name; it does not wait.

        A session-level advisory lock: no transaction stays open, and PostgreSQL frees it when we are killed.
        """
        key = func.hashtextextended(name, 0)
        with self._at_once.connect() as connection:
            mine = bool(connection.scalar(select(func.pg_try_advisory_lock(key))))
            try:
                yield mine
            finally:
                if mine:
                    with suppress(DBAPIError):  # the connection was lost, and the lock with it
                        connection.execute(select(func.pg_advisory_unlock(key)))

    def sealing(self, session: Session) -> KeyRing:
        """The keys to seal with in this transaction: no rotation lets go of one before it ends."""
        session.execute(select(func.pg_advisory_xact_lock_shared(SEALING)))
        return self.keys()

    def migrate(self) -> None:
        """Bring the schema to the newest revision."""
        with as_file(files("models") / "migrations") as scripts, self.engine.begin() as connection:
            config = Config()
            config.set_main_option("script_location", str(scripts))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def close(self) -> None:
        self.engine.dispose()


def refuse_lost(connection: Any, *_: object) -> None:
    """Let the pool connect anew where the server has closed an idle connection: then there is something to
    read on it. To ask the server instead would be a trip to it for each transaction.
    """
    unread = poll()
    unread.register(connection, POLLIN)
    if unread.poll(0):
        raise InvalidatePoolError


def is_away(error: BaseException) -> bool:
    """Whether it says that the database cannot answer now, rather than that it will not do what is asked."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state.startswith(PASSING)  # none: there was no connection, or it broke
