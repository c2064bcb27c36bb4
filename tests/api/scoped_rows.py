"""A row of every kind for each of some scope sets, marked with the set that it is of; and who may see it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID, uuid4

from models.blocks import Block, BlockKind
from models.session import Database
from models.tables import (
    Artifact,
    Chunk,
    Document,
    DocumentVersion,
    GateResult,
    Interest,
    Judgment,
    Poll,
    Source,
    Table,
    UsageEvent,
    VersionAnalysis,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETS: dict[str, list[str]] = {
    "library": ["library"], "a": ["a"], "b": ["b"], "ab": ["a", "b"], "press": ["press"],
    "pressa": ["a", "press"],
}
QUERY = "quay crane harbour"
MARKED: dict[type[Table], str] = {  # the column of each kind that tells whose it is
    Source: "name", Artifact: "name", Document: "title", DocumentVersion: "text", Chunk: "text",
    VersionAnalysis: "summary", GateResult: "reason", Poll: "reason", UsageEvent: "query", Interest: "topic",
    Judgment: "query",
}
READERS_OWN = {UsageEvent, Interest, Judgment}  # what is open to all opens none of these


def mark(name: str) -> str:
    return f"marked-{name}-end"


def marks(text: str) -> set[str]:
    """The sets whose rows are told of in a text."""
    return set(re.findall(r"marked-([a-z]+)-end", text))


def readable(reads: Sequence[str], public: Sequence[str] = ()) -> set[str]:
    """The sets that are seen by whoever holds these scopes: the rule, said once more."""
    return {name for name, scopes in SETS.items()
            if set(scopes) <= set(reads) or (len(scopes) == 1 and scopes[0] in public)}


@dataclass(frozen=True)
class Cell:
    """The rows of one set."""

    name: str
    scopes: list[str]
    source: UUID = field(default_factory=uuid4)
    document: UUID = field(default_factory=uuid4)
    version: UUID = field(default_factory=uuid4)
    chunk: UUID = field(default_factory=uuid4)
    retrieval: UUID = field(default_factory=uuid4)
    judgment: UUID = field(default_factory=uuid4)

    @property
    def text(self) -> str:
        return f"{QUERY} {mark(self.name)} " + " ".join(f"{self.name}{n}" for n in range(9))

    def rows(self, key: str = "x", packed: bool = False, vector: bytes = b"") -> list[Table]:
        told, of = mark(self.name), {"scopes": self.scopes}
        url, block = f"https://e.example/{told}", Block(BlockKind.PARAGRAPH, self.text)
        return [
            Source(id=self.source, kind="feed", name=told, url=url, every_seconds=3600, **of),
            Artifact(id=self.document, name=told, media_type="text/plain", size=len(self.text),
                     sha256=sha256(self.text.encode()).hexdigest(), key=key, packed=packed, preserve=True,
                     state="ready", **of),
            Document(id=self.document, source_id=self.source, url=url, key=url, state="indexed", title=told,
                     artifact_id=self.document, version_id=self.version, **of),
            DocumentVersion(id=self.version, document_id=self.document, number=1, blocks=[block.to_json()],
                            text=self.text, content_hash=told, title=told, final_url=url, extractor="x",
                            read_at=NOW, indexed_at=datetime.now(UTC), **of),
            Chunk(id=self.chunk, version_id=self.version, document_id=self.document, source_id=self.source,
                  position=0, text=self.text, headings=[told], start=0, end=len(self.text), tokens=9,
                  digest=told, vector=vector, embedder="hashes", state="live", **of),
            VersionAnalysis(version_id=self.version, topics=[], entities=[], keywords=[], summary=told,
                            category="", content_type="reference", confidence=1, reasons=[], analyser="x",
                            analysed_at=NOW, **of),
            GateResult(gate="versions", expectation="x", severity="warning", reason=told, observed="",
                       source_id=self.source, document_id=self.document, version_id=self.version, **of),
            Poll(source_id=self.source, started_at=NOW, finished_at=NOW, outcome="new", reason=told, **of),
            UsageEvent(retrieval_id=self.retrieval, query=told, label="K1", used=True,
                       score={"total": 0.5, "freshness": 1}, document_id=self.document,
                       version_id=self.version, chunk_id=self.chunk, **of),
            Interest(topic=told, strength=1, kept=True, **of),
            Judgment(id=self.judgment, query=told, question=told, document_id=self.document, good=True, **of),
        ]


def plant(db: Database) -> dict[str, Cell]:
    """A cell for each of SETS."""
    cells = {name: Cell(name, scopes) for name, scopes in SETS.items()}
    for cell in cells.values():
        put(db, cell.rows())
    return cells


def put(db: Database, rows: Sequence[Table]) -> None:
    with db.begin() as session:
        for row in rows:  # in this order: what refers to what
            session.add(row)
            session.flush()
