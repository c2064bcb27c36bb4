"""The database session: one engine a process, short transactions, and the migrations."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session, sessionmaker


class Database:
    """PostgreSQL by URL. Thread-safe; share one in a process.

    A ``begin()`` block is one transaction: keep the network out of it.
    """

    def __init__(self, url: str, pool_size: int = 10) -> None:
        self.url = url
        self.engine: Engine = create_engine(
            url, pool_pre_ping=True, pool_size=pool_size, max_overflow=10,
            pool_use_lifo=True,  # the connection whose statements are prepared
        )
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)

    @contextmanager
    def begin(self) -> Iterator[Session]:
        """A session whose changes are committed at the end and rolled back on an error."""
        with self._sessions.begin() as session:
            yield session

    def migrate(self) -> None:
        """Bring the schema to the newest revision."""
        with as_file(files("models") / "migrations") as scripts, self.engine.begin() as connection:
            config = Config()
            config.set_main_option("script_location", str(scripts))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def close(self) -> None:
        self.engine.dispose()
