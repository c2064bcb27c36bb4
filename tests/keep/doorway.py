"""Doors to hand things in by: a real database, store and jail, and a scanner that finds a pattern of ours."""

import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from almanac.wiring import PARSERS
from models.session import Database
from models.tables import Document, DocumentVersion
from tasks.errors import Rejected
from tasks.extract import note
from tasks.extract.jail import Jail
from tasks.keep.files import Doors
from tasks.keep.given import Declaration, Given, Limits
from tasks.keep.store import ObjectStore

NOW = datetime.now(UTC).replace(microsecond=0)
LATER = NOW + timedelta(days=7)
SCOPES = ("library",)


class InProcess:
    """Reads notes in this process, and counts them: a jail is for what is hostile."""

    def __init__(self) -> None:
        self.parsed = 0

    async def parse(self, parser: str, body: bytes, context: dict[str, Any]) -> dict[str, Any]:
        assert parser == "note"
        self.parsed += 1
        return note.parse(body, **context)


class Telling:
    """A scanner that finds a pattern of ours."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    async def scan(self, path: Path) -> None:
        self.look(path)

    def look(self, path: Path) -> None:
        self.seen.append(path.read_bytes())
        if b"harm-pattern" in self.seen[-1]:
            raise Rejected(["the scanner found it"])


def note_of(text: str, **more: Any) -> Given:
    return Given(**{"scopes": SCOPES, "text": text} | more)


def declaration_of(body: bytes, media_type: str, name: str = "file") -> Declaration:
    return Declaration(name, media_type, len(body), hashlib.sha256(body).hexdigest())


async def pieces(*bodies: bytes) -> AsyncIterator[bytes]:
    for body in bodies:
        yield body


def documents(db: Database, scopes: Sequence[str] | None = None) -> Sequence[Document]:
    wanted = select(Document).order_by(Document.discovered_at, Document.id)
    with db.begin() as session:
        return session.scalars(wanted.where(Document.scopes == list(scopes)) if scopes else wanted).all()


def versions(db: Database) -> int:
    with db.begin() as session:
        return session.scalar(select(func.count(DocumentVersion.id))) or 0


@pytest.fixture
def parser() -> InProcess:
    return InProcess()


@pytest.fixture(scope="session")
def jail() -> Iterator[Jail]:
    jail = Jail({name: PARSERS[name] for name in ("note", "file")}, workers=1)
    yield jail
    jail.close()


@pytest.fixture
def scanner() -> Telling:
    return Telling()


@pytest.fixture
def doors(db: Database, jail: Jail, scanner: Telling, tmp_path: Path) -> Doors:
    folder = tmp_path / "incoming"
    folder.mkdir()
    store = ObjectStore((tmp_path / "originals").as_uri())
    return Doors(db, jail, store, scanner, folder, Limits())
