"""The owner's commands on sources and documents."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from models.session import Database
from models.states import ChunkState, DocumentState, SourceKind
from models.tables import Chunk, Document, DocumentVersion, Source
from tasks.curate import (
    Removed,
    pause_source,
    remove_document,
    remove_source,
    resume_source,
    retry_document,
)

pytestmark = pytest.mark.database

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
MINE = ["library"]
OTHERS = ["family"]
NEVER = None


class Rows:
    """Puts rows in and looks at them again."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def add(self, row: Any) -> Any:
        with self.db.begin() as session:
            session.add(row)
        return row

    def now(self, row: Any) -> Any:
        with self.db.begin() as session:
            return session.get(type(row), row.id)

    def source(self, **values: Any) -> Source:
        given = {"id": uuid4(), "kind": SourceKind.FEED, "name": "S", "url": f"https://e.org/{uuid4()}"}
        return self.add(Source(**given | values))

    def document(self, source: Source, chunks: tuple[ChunkState, ...] = (), **values: Any) -> Document:
        """A document with one version, which has a chunk in each of the states."""
        url, version_id = f"https://e.org/{uuid4()}", uuid4()
        document = self.add(Document(**{
            "id": uuid4(), "source_id": source.id, "url": url, "key": url, "version_id": version_id,
            "state": DocumentState.INDEXED, "due_at": NEVER,
        } | values))
        self.add(DocumentVersion(
            id=version_id, document_id=document.id, number=1, blocks=[], text="", content_hash="h", title="",
            final_url=url, extractor="x", read_at=NOW,
        ))
        for position, state in enumerate(chunks):
            self.add(Chunk(
                id=uuid4(), version_id=version_id, document_id=document.id, source_id=source.id,
                position=position, text="", headings=[], start=0, end=0, tokens=0, digest="", vector=b"",
                embedder="x", state=state,
            ))
        return document

    def chunk_states(self, document: Document) -> Counter[str]:
        with self.db.begin() as session:
            return Counter(chunk.state for chunk in session.query(Chunk).filter_by(document_id=document.id))


@pytest.fixture
def rows(db: Database) -> Rows:
    return Rows(db)


def test_a_source_is_paused_and_resumed_and_keeps_its_schedule(rows: Rows) -> None:
    source = rows.source(next_poll_at=NOW)
    assert pause_source(rows.db.caller(MINE), source.id)
    assert (rows.now(source).paused, rows.now(source).next_poll_at) == (True, NOW)
    assert resume_source(rows.db.caller(MINE), source.id)
    assert (rows.now(source).paused, rows.now(source).next_poll_at) == (False, NOW)


def test_a_removed_source_takes_its_documents_out_and_leaves_the_rows(rows: Rows) -> None:
    source, other = rows.source(), rows.source()
    document = rows.document(source, (ChunkState.LIVE, ChunkState.PENDING, ChunkState.RETIRED), leased_by="w",
                             leased_until=NOW)
    waiting = rows.document(source, state=DocumentState.WAITING, due_at=NOW, version_id=None)
    bystander = rows.document(other, (ChunkState.LIVE,))

    assert remove_source(rows.db.caller(MINE), source.id, NOW) == Removed(documents=2, chunks=2)

    assert (rows.now(source).removed_at, rows.now(source).next_poll_at) == (NOW, None)
    for gone in map(rows.now, (document, waiting)):
        assert (gone.state, gone.reason) == ("removed", "its source was removed")
        assert (gone.version_id, gone.due_at, gone.leased_by, gone.leased_until) == (None, None, None, None)
    assert rows.chunk_states(document) == {"retiring": 2, "retired": 1}
    assert rows.now(bystander).state == "indexed"
    assert rows.chunk_states(bystander) == {"live": 1}


def test_what_a_removed_document_said_is_not_indexed_any_more(rows: Rows) -> None:
    document = rows.document(rows.source(), state=DocumentState.READ)
    assert remove_document(rows.db.caller(MINE), document.id, NOW) == Removed(documents=1, chunks=0)
    with rows.db.begin() as session:
        [version] = session.query(DocumentVersion)
    assert version.superseded_at == NOW


def test_what_repeated_a_removed_document_is_read_in_its_stead(rows: Rows) -> None:
    removed, other = rows.source(), rows.source()
    original = rows.document(removed, (ChunkState.LIVE,))
    twin = rows.document(removed, state=DocumentState.DUPLICATE, duplicate_of=original.id)
    copy = rows.document(other, state=DocumentState.DUPLICATE, duplicate_of=original.id, etag='"1"',
                         attempts=2)
    remove_source(rows.db.caller(MINE), removed.id, NOW)
    copy = rows.now(copy)
    assert (copy.state, copy.reason, copy.due_at) == ("discovered", "what it repeated was removed", NOW)
    assert (copy.duplicate_of, copy.etag, copy.attempts) == (None, None, 0)
    assert rows.now(twin).state == "removed"


def test_a_document_is_removed_with_its_chunks(rows: Rows) -> None:
    source = rows.source()
    document, other = rows.document(source, (ChunkState.LIVE,) * 3), rows.document(source, (ChunkState.LIVE,))
    assert remove_document(rows.db.caller(MINE), document.id, NOW) == Removed(documents=1, chunks=3)
    assert (rows.now(document).state, rows.now(document).reason) == ("removed", "removed by its owner")
    assert rows.chunk_states(document) == {"retiring": 3}
    assert rows.chunk_states(other) == {"live": 1}


def test_a_document_is_retried_from_every_state_but_removed(rows: Rows) -> None:
    source = rows.source()
    for state in DocumentState:
        document = rows.document(source, state=state, attempts=5, etag='"1"', last_modified="x")
        removed = state is DocumentState.REMOVED
        assert retry_document(rows.db.caller(MINE), document.id, NOW) is not removed
        document = rows.now(document)
        assert (document.state, document.due_at) == (state, None if removed else NOW)
        if not removed:
            assert (document.attempts, document.etag, document.last_modified) == (0, None, None)
            assert document.version_id is not None


Command = Callable[[Database, UUID], object]
ON_SOURCES: list[Command] = [pause_source, resume_source, lambda *named: remove_source(*named, NOW)]
ON_DOCUMENTS: list[Command] = [
    lambda *named: retry_document(*named, NOW), lambda *named: remove_document(*named, NOW)
]


def test_a_command_on_what_is_unknown_removed_or_out_of_reach_does_nothing(rows: Rows) -> None:
    source, gone = rows.source(), rows.source(removed_at=NOW - timedelta(days=1))
    document = rows.document(source, (ChunkState.LIVE,))
    tombstone = rows.document(source, state=DocumentState.REMOVED, reason="long ago")
    for command in ON_SOURCES:
        for source_id, scopes in ((uuid4(), MINE), (gone.id, MINE), (source.id, OTHERS), (source.id, [])):
            assert not command(rows.db.caller(scopes), source_id)
    for command in ON_DOCUMENTS:
        for document_id, scopes in ((uuid4(), MINE), (tombstone.id, MINE), (document.id, OTHERS)):
            assert not command(rows.db.caller(scopes), document_id)
    assert (rows.now(source).paused, rows.now(source).removed_at) == (False, None)
    assert (rows.now(document).state, rows.now(document).due_at) == ("indexed", None)
    assert rows.now(tombstone).reason == "long ago"
    assert rows.chunk_states(document) == {"live": 1}


def test_a_source_without_documents_is_removed_too(rows: Rows) -> None:
    assert remove_source(rows.db.caller(MINE), rows.source().id, NOW) == Removed(documents=0, chunks=0)
    assert Removed(2, 3).to_json() == {"documents": 2, "chunks": 3, "comes_back": False}
