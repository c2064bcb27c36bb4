"""A vault over a real database, and its master key in a folder of the test's own."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from provider import Provider
from sqlalchemy import text

from almanac.master_key import MasterKeys
from almanac.stack.postgres import Postgres
from models.session import Database
from tasks.extract import note
from tasks.outside.chat import Chat
from tasks.outside.help import Help
from tasks.outside.usage import Minutes
from tasks.outside.vault import Vault
from tasks.ports import Vectors
from tasks.web.policy import Policy
from tasks.web.transport import GuardedTransport


@pytest.fixture(scope="module")
def shared(postgres: Postgres) -> Iterator[Database]:
    name = f"outside_{uuid4().hex}"
    postgres.ensure_database(name, template="template_almanac")
    database = Database(postgres.url(name), pool_size=3)
    yield database
    database.close()


@pytest.fixture
def db(shared: Database) -> Iterator[Database]:
    """One database for all of a module: to make one takes longer than any of these tests."""
    yield shared
    with shared.begin() as session:
        session.execute(text("TRUNCATE credential, credential_day, errand, source CASCADE"))


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(db: Database, tmp_path: Path) -> MasterKeys:
    found = db.keys = MasterKeys(tmp_path / "keys" / "master.key")
    return found


@pytest.fixture
def vault(db: Database, keys: MasterKeys, clock: Clock) -> Vault:
    made = Vault(db, keys, lambda host, port: host == "127.0.0.1", Minutes(clock))
    assert made.prepare() is None
    return made


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as started:
        yield started


class Letters:
    """An embedder for which each word is a direction of its own: two texts are as alike as their words."""

    name, dimensions, window = "letters", 512, 256

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, words in zip(rows, texts, strict=True):
            for word in set(words.lower().rstrip("?").split()):
                row[self.places.setdefault(word, len(self.places))] = 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])


class Notes:
    """The parser of notes, without its jail."""

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        return note.parse(body, **context)


@pytest.fixture
def outside(vault: Vault) -> Help:
    policy = Policy("127.0.0.1/32")
    embedder = Letters()
    return Help(vault.db, vault, Chat(lambda: GuardedTransport(policy)), Notes(), lambda: embedder,
                ["Ada Krol"], seconds=5.0)
