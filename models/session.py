"""The database session: one engine a process, short transactions, and the migrations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import as_file, files
from select import POLLIN, poll
from threading import Lock
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import URL, Engine, Executable, Row, create_engine, event, func, select
from sqlalchemy.exc import DBAPIError, InterfaceError, InvalidatePoolError, OperationalError
from sqlalchemy.orm import Session, sessionmaker

from models import wall
from models.sealing import KeyRing
from models.tables import CallersLogin

SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

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
        self.pool_size = pool_size
        self._use(connect(url, pool_size))
        event.listen(self.engine, "connect", may_do_everything)
        self._lock = Lock()
        self._callers: tuple[Engine, bytes] | None = None

    def _use(self, engine: Engine) -> None:
        self.engine = engine
        self._sessions = sessionmaker(engine, expire_on_commit=False)
        self._at_once = engine.execution_options(isolation_level="AUTOCOMMIT")

    def caller(
        self, reads: Sequence[str], writes: Sequence[str] | None = None, public: Sequence[str] = ()
    ) -> "CallersDatabase":
        """The same database as a caller sees it who holds these scopes, and writes into what it reads unless
        ``writes`` says otherwise. This is the one place that opens sessions of callers.
        """
        engine, key = self._callers_engine()
        return CallersDatabase(engine, self.keys, wall.sealed(
            key, reads=reads, writes=reads if writes is None else writes, public=public))

    def _callers_engine(self) -> tuple[Engine, bytes]:
        with self._lock:
            if self._callers is None:
                [row] = self.execute(CallersLogin.__table__.select())
                url = self.engine.url
                theirs = url if row.refused else url.set(username=row.role, password=row.password)
                engine = connect(theirs, self.pool_size)
                event.listen(engine, "do_execute", with_scopes)
                self._callers = engine, row.key
            return self._callers

    @contextmanager
    def begin(self) -> Iterator[Session]:
        """A session whose changes are committed at the end and rolled back on an error."""
        with self._sessions.begin() as session:
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """A session that only reads; all its statements see the database as it is at the first of them."""
        with self._sessions.begin() as session:
            session.connection(execution_options=SNAPSHOT)
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
        wall.build(self.engine)

    def close(self) -> None:
        self.engine.dispose()
        if self._callers:
            self._callers[0].dispose()


class CallersDatabase(Database):
    """PostgreSQL as one caller sees it: row-level security holds every session to the caller's scopes."""

    def __init__(
        self, engine: Engine, keys: Callable[[], KeyRing], scopes: Mapping[str, str]
    ) -> None:
        self._use(engine)
        self.keys = keys
        self._at_once = self._at_once.execution_options(**{SCOPES: scopes})
        self._scopes = scopes

    @contextmanager
    def begin(self) -> Iterator[Session]:
        with super().begin() as session:
            session.execute(wall.SET, self._scopes)
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        with super().snapshot() as session:
            session.execute(wall.SET, self._scopes)
            yield session

    def caller(self, *_: object, **__: object) -> "CallersDatabase":
        raise TypeError("a caller cannot become another one")


SCOPES = "almanac_scopes"  # an option of statements that are their own: what their caller may do


def with_scopes(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
    """Send a statement that is its own behind its caller's scopes: one trip, and one transaction of both,
    since nothing lies between them (PostgreSQL, “Pipelining”).
    """
    scopes = context and context.execution_options.get(SCOPES)
    if not scopes:
        return False
    with cursor.connection.pipeline():
        cursor.connection.execute(SET, scopes)
        cursor.execute(statement, parameters)
    return True


SET = "SELECT " + ", ".join(f"set_config('almanac.{kind}', %({kind})s, true)" for kind in wall.KINDS)


def connect(url: URL | str, pool_size: int) -> Engine:
    engine = create_engine(
        url, pool_size=pool_size, max_overflow=10,
        pool_use_lifo=True,  # the connection whose statements are prepared
        hide_parameters=True,  # what is stored is nothing for logs, which errors end in
    )
    event.listen(engine, "checkout", refuse_lost)
    return engine


def may_do_everything(connection: Any, *_: object) -> None:
    """Where policies hold the tables' owner, too, the stages are let through: see models.wall."""
    connection.autocommit = True
    connection.execute(wall.STAGE)
    connection.autocommit = False


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
