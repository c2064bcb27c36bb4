"""The rows that indexing reads and writes: a version as it is cut, and its chunks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol
from uuid import UUID, uuid5

from sqlalchemy import Row, select

from models.blocks import Block
from models.session import Database
from models.states import ChunkState
from models.tables import Chunk, Document, DocumentVersion
from tasks.index.vectors import fits
from tasks.ports import Embedder

Cut = Callable[[str, Sequence[Block], Callable[[Sequence[str]], list[int]], int], Sequence["Piece"]]


class Piece(Protocol):
    """What ``cut`` makes of a version: a stretch of its text, and what is embedded for it."""

    @property
    def position(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def headings(self) -> Sequence[str]: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def embedded(self) -> str: ...


def load(db: Database, versions: Sequence[UUID]) -> Sequence[Row[Any]]:
    """What is needed of the versions to index them."""
    with db.begin() as session:
        return session.execute(
            select(DocumentVersion.id, DocumentVersion.document_id, DocumentVersion.title,
                   DocumentVersion.blocks, DocumentVersion.scopes, Document.source_id, Document.url)
            .join(DocumentVersion.document).where(DocumentVersion.id.in_(versions))
        ).all()


def known_vectors(
    db: Database, embedder: Embedder, versions: Sequence[Row[Any]], digests: Iterable[str]
) -> dict[tuple[UUID, str], bytes]:
    """The vectors that earlier versions of the same documents have for the same embedded texts."""
    with db.begin() as session:
        rows = session.execute(
            select(Chunk.document_id, Chunk.digest, Chunk.vector)
            .where(Chunk.document_id.in_([row.document_id for row in versions]),
                   Chunk.embedder == embedder.name, Chunk.digest.in_(digests))
        )
        return {(document, key): vector for document, key, vector in rows
                if fits(vector, embedder.dimensions)}


def chunk(version: Row[Any], piece: Piece, key: str, vector: bytes, embedder: str) -> dict[str, Any]:
    """A chunk's row. Its id depends on its version and position alone, so that it is the same every time."""
    return {
        "id": uuid5(version.id, str(piece.position)),
        "version_id": version.id,
        "document_id": version.document_id,
        "source_id": version.source_id,
        "scopes": version.scopes,
        "position": piece.position,
        "text": piece.text,
        "context": piece.embedded.removesuffix(piece.text),
        "headings": list(piece.headings),
        "start": piece.start,
        "end": piece.end,
        "tokens": piece.tokens,
        "digest": key,
        "vector": vector,
        "embedder": embedder,
        "state": ChunkState.PENDING,
    }
