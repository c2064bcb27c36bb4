"""Questions about the library: what is there, for whom, and what waits."""

import json
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import event, update

from models.blocks import Block, BlockKind, digest, text_of
from models.session import Database
from models.states import ChunkState, DocumentState, PollOutcome, SourceKind
from models.tables import Chunk, Document, DocumentVersion, Poll, Source
from tasks import reports

pytestmark = pytest.mark.database

NOW = datetime.now(UTC)
MINE = ["library"]
NEVER = None


class Rows:
    def __init__(self, db: Database) -> None:
        self.db = db

    def add(self, row: Any) -> Any:
        with self.db.begin() as session:
            session.add(row)
        return row

    def source(self, name: str = "S", **values: Any) -> Source:
        given = {"id": uuid4(), "kind": SourceKind.FEED, "name": name, "url": f"https://e.org/{uuid4()}"}
        return self.add(Source(**given | values))

    def poll(self, source: Source, minutes_ago: int, reason: str) -> Poll:
        at = NOW - timedelta(minutes=minutes_ago)
        return self.add(Poll(
            id=uuid4(), source_id=source.id, started_at=at, finished_at=at, outcome=PollOutcome.NEW,
            reason=reason, http_status=200, items_seen=3, items_new=2,
        ))

    def document(self, source: Source, **values: Any) -> Document:
        url = f"https://e.org/{uuid4()}"
        given = {"id": uuid4(), "source_id": source.id, "url": url, "key": url, "due_at": NEVER,
                 "state": DocumentState.INDEXED, "discovered_at": NOW}
        return self.add(Document(**given | values))

    def version(self, document: Document, number: int, text: str, **values: Any) -> DocumentVersion:
        blocks = [Block(BlockKind.HEADING, "Title", level=1), Block(BlockKind.PARAGRAPH, text)]
        said = text_of(blocks)
        return self.add(DocumentVersion(**{
            "id": uuid4(), "document_id": document.id, "number": number, "text": said, "title": "Title",
            "blocks": [block.to_json() for block in blocks], "content_hash": digest(said),
            "final_url": document.url, "extractor": "x", "read_at": NOW,
        } | values))

    def answer(self, document: Document, version: DocumentVersion) -> None:
        with self.db.begin() as session:
            session.query(Document).filter_by(id=document.id).update({"version_id": version.id})


@pytest.fixture
def rows(db: Database) -> Rows:
    return Rows(db)


def ids(page: dict[str, Any]) -> list[UUID]:
    return [UUID(document["id"]) for document in page["documents"]]


def test_sources_come_by_name_with_their_last_poll_and_their_documents(rows: Rows) -> None:
    source = rows.source("b", include=["*/news/*"], health="well")
    rows.source("A")
    rows.source("gone", removed_at=NOW)
    rows.source("not mine", scopes=["family"])
    rows.poll(source, 9, "older")
    last = rows.poll(source, 5, "newest")
    rows.document(source)
    rows.document(source, state=DocumentState.REJECTED)
    rows.document(source, state=DocumentState.REJECTED)
    rows.document(source, state=DocumentState.REMOVED)
    rows.document(source, scopes=["family"])
    empty, found = json.loads(json.dumps(reports.sources(rows.db.caller(MINE))))
    assert (empty["name"], empty["last_poll"], empty["documents"], empty["unfinished"]) == ("A", None, {}, 0)
    assert found["documents"] == {"indexed": 1, "rejected": 2}
    assert found["last_poll"] == {
        "id": str(last.id), "started_at": last.started_at.isoformat(),
        "finished_at": last.finished_at.isoformat(), "outcome": "new", "reason": "newest", "http_status": 200,
        "items_seen": 3, "items_new": 2, "items_changed": 0,
    }
    assert (found["id"], found["url"], found["include"], found["health"]) == (
        str(source.id), source.url, ["*/news/*"], "well"
    )
    assert found.keys() == {*reports.SOURCE, "last_poll", "documents", "unfinished", "flapping",
                            "crawl_delay", "flags"}


def test_unfinished_is_what_is_on_its_way(rows: Rows) -> None:
    for paused, expected in ((False, 2), (True, 1)):
        source = rows.source(paused=paused)
        rows.document(source, state=DocumentState.DISCOVERED, due_at=NOW - timedelta(minutes=1))
        rows.document(source, state=DocumentState.READ)
        rows.document(source, state=DocumentState.WAITING, due_at=NOW + timedelta(hours=1))
        rows.document(source, state=DocumentState.FAILED)
        rows.document(source, state=DocumentState.INDEXED)
        found = reports.source(rows.db.caller(MINE), source.id)
        assert found
        assert found["unfinished"] == expected


def test_a_source_tells_its_last_polls(rows: Rows) -> None:
    source, other = rows.source(), rows.source()
    for minutes_ago in range(12):
        rows.poll(source, minutes_ago, f"{minutes_ago} minutes ago")
    rows.poll(other, 0, "another's")
    found = reports.source(rows.db.caller(MINE), source.id)
    assert found
    assert [poll["reason"] for poll in found["polls"]] == [f"{n} minutes ago" for n in range(10)]
    assert found["last_poll"] == found["polls"][0]


def test_removed_documents_are_listed_only_where_they_are_asked_for(rows: Rows) -> None:
    source = rows.source()
    kept = rows.document(source)
    removed = rows.document(source, state=DocumentState.REMOVED, reason="removed by its owner")
    rows.document(source, state=DocumentState.REMOVED, scopes=["family"])
    assert ids(reports.documents(rows.db.caller(MINE))) == [kept.id]
    assert ids(reports.documents(rows.db.caller(MINE), state="removed")) == [removed.id]
    assert reports.document(rows.db.caller(MINE), removed.id)["reason"] == "removed by its owner"


def test_documents_come_page_by_page_the_last_discovered_first(rows: Rows) -> None:
    source = rows.source("The Tidings")
    made = [rows.document(source, discovered_at=NOW - timedelta(minutes=n // 2)) for n in range(7)]
    pages, after = [], None
    for _ in range(3):
        page = reports.documents(rows.db.caller(MINE), limit=3, after=after)
        pages.append(ids(page))
        after = page["next"]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert after is None
    assert list(chain.from_iterable(pages)) == [
        document.id for document in sorted(made, key=lambda d: (d.discovered_at, d.id), reverse=True)
    ]
    assert reports.documents(rows.db.caller(MINE), limit=7)["next"] is None
    assert reports.documents(rows.db.caller(MINE))["documents"][0]["source"] == "The Tidings"


@pytest.mark.parametrize("cursor", ["", "x", "2026-01-01_", "_", f"yesterday_{UUID(int=1)}"])
def test_a_cursor_that_no_page_gave_is_refused_in_one_sentence(rows: Rows, cursor: str) -> None:
    with pytest.raises(ValueError, match="the cursor is not one that a page ended with"):
        reports.documents(rows.db.caller(MINE), after=cursor)


def test_documents_are_found_by_state_source_and_words(rows: Rows) -> None:
    source, other = rows.source(), rows.source()
    terns = rows.document(source, title="Terns are 100% back", state=DocumentState.REJECTED)
    ferries = rows.document(other, title=None, url="https://e.org/Ferries_2")
    rows.document(other, state=DocumentState.REMOVED, title="removed terns")
    rows.document(source, title="terns of the family", scopes=["family"])

    def found(**wanted: Any) -> list[UUID]:
        return ids(reports.documents(rows.db.caller(MINE), **wanted))

    assert found(state="rejected") == [terns.id]
    assert found(source_id=other.id) == [ferries.id]
    assert found(text="TERNS") == [terns.id]
    assert found(text="0%") == [terns.id]
    assert found(text="s_2") == [ferries.id]
    assert found(text="%") == [terns.id]
    assert found(text="ferries", state="rejected") == []


def test_a_document_shows_the_version_that_answers(rows: Rows) -> None:
    document = rows.document(rows.source("The Tidings"), title="Title", author="Ada", published_at=NOW)
    first = rows.version(document, 1, "one", indexed_at=NOW)
    rows.version(document, 2, "two")
    rows.answer(document, first)
    found = json.loads(json.dumps(reports.document(rows.db.caller(MINE), document.id)))
    assert found.keys() == {*reports.DOCUMENT, "source", "content_type", "version", "file"}
    assert (found["title"], found["author"], found["source"]) == ("Title", "Ada", "The Tidings")
    version = found["version"]
    assert version.keys() == {*reports.VERSION, "blocks", "text", "analysis"}
    assert (version["number"], version["text"]) == (1, "Title\n\none")
    assert text_of(map(Block.from_json, version["blocks"])) == version["text"]
    assert version["content_hash"] == digest(version["text"])


def test_a_document_that_does_not_answer_yet_shows_its_newest_version(rows: Rows) -> None:
    document = rows.document(rows.source(), state=DocumentState.READ)
    assert reports.document(rows.db.caller(MINE), document.id)["version"] is None
    rows.version(document, 1, "one")
    rows.version(document, 2, "two")
    assert reports.document(rows.db.caller(MINE), document.id)["version"]["number"] == 2


def test_what_is_told_of_a_document_is_of_one_moment(rows: Rows) -> None:
    document = rows.document(rows.source(), title="One")
    rows.answer(document, rows.version(document, 1, "One"))

    mine = rows.db.caller(MINE)

    def change(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "document_version" not in statement:  # before its version is read
            rows.db.execute(update(DocumentVersion).values(title="Another"))

    event.listen(mine.engine, "after_cursor_execute", change)
    told = reports.document(mine, document.id)
    assert told is not None
    assert told["version"]["title"] == "Title"


def test_versions_come_newest_first_without_their_texts(rows: Rows) -> None:
    document = rows.document(rows.source())
    assert reports.versions(rows.db.caller(MINE), document.id) == []
    rows.version(document, 1, "one", superseded_at=NOW)
    rows.version(document, 2, "three")
    found = reports.versions(rows.db.caller(MINE), document.id)
    assert found
    assert [(version["number"], version["characters"]) for version in found] == [(2, 12), (1, 10)]
    assert found[0].keys() == {*reports.VERSION, "characters"}


def test_what_is_unknown_removed_or_forbidden_does_not_exist(rows: Rows) -> None:
    source = rows.source()
    hidden = rows.source(scopes=["family", "library"])
    assert reports.source(rows.db.caller(MINE), uuid4()) is None
    assert reports.source(rows.db.caller(MINE), hidden.id) is None
    assert reports.source(rows.db.caller(MINE), rows.source(removed_at=NOW).id) is None
    assert reports.source(rows.db.caller(["family", "library"]), hidden.id)
    forbidden = rows.document(source, scopes=["family"])
    removed = rows.document(source, state=DocumentState.REMOVED)
    for document_id in (uuid4(), forbidden.id, removed.id):
        assert reports.versions(rows.db.caller(MINE), document_id) is None
        if document_id != removed.id:
            assert reports.document(rows.db.caller(MINE), document_id) is None


def test_a_removed_document_can_be_looked_at_and_says_nothing_but_why(rows: Rows) -> None:
    removed = rows.document(rows.source(), state=DocumentState.REMOVED, reason="removed by its owner")
    rows.version(removed, 1, "What it said.")
    shown = reports.document(rows.db.caller(MINE), removed.id)
    assert (shown["state"], shown["reason"], shown["version"]) == ("removed", "removed by its owner", None)
    forbidden = rows.document(rows.source(), state=DocumentState.REMOVED, scopes=["family"])
    assert reports.document(rows.db.caller(MINE), forbidden.id) is None


def test_the_depths_of_the_queues(rows: Rows) -> None:
    assert reports.depths(rows.db) == {"documents": {}, "due": 0, "waiting": 0, "chunks": {}}
    source, paused, gone = rows.source(), rows.source(paused=True), rows.source(removed_at=NOW)
    past, later = NOW - timedelta(minutes=1), NOW + timedelta(hours=1)
    for of, due_at in ((source, past), (source, later), (source, NEVER), (paused, past), (gone, past)):
        rows.document(of, state=DocumentState.WAITING, due_at=due_at)
    document = rows.document(source, state=DocumentState.READ)
    rows.version(document, 1, "overtaken", superseded_at=NOW)
    rows.version(document, 2, "indexed", indexed_at=NOW)
    version = rows.version(document, 3, "waits")
    for position, state in enumerate((ChunkState.LIVE, ChunkState.LIVE, ChunkState.RETIRING)):
        rows.add(Chunk(
            id=uuid4(), version_id=version.id, document_id=document.id, source_id=source.id,
            position=position, text="", headings=[], start=0, end=0, tokens=0, digest="", vector=b"",
            embedder="x", state=state,
        ))
    assert reports.depths(rows.db) == {
        "documents": {"read": 1, "waiting": 5}, "due": 1, "waiting": 1, "chunks": {"live": 2, "retiring": 1}
    }
