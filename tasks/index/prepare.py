"""Versions cut and embedded. One that cannot be is told apart from a model that is out of order."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Row

from models.blocks import Block, digest
from models.session import Database
from tasks.errors import StageError, Transient
from tasks.index.rows import Cut, Piece, chunk, known_vectors, load
from tasks.index.vectors import pack
from tasks.ports import Embedder

PLAIN = "Is the model in order?"  # every model can embed this

log = logging.getLogger(__name__)

Rows = Sequence[Row[Any]]
Texts = dict[str, str]  # what is embedded, by its digest
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Indexed:
    """A version that answers now: its chunks, and how many of them had to be embedded."""

    document_id: UUID
    version_id: UUID
    url: str
    chunks: int
    embedded: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """What versions came to: those that can go into the index, their chunks' rows, and why others cannot."""

    versions: list[Indexed]
    chunks: list[dict[str, Any]]
    odd: dict[UUID, str]


def prepare(db: Database, embedder: Embedder, cut: Cut, versions: Sequence[UUID]) -> Prepared:
    """Cut, and embed what is new, with no transaction open. Raises what a model that is away raises."""
    rows = load(db, versions)
    pieces, odd = each(rows, lambda row: cut_version(row, embedder, cut))
    rows = [row for row in rows if row.id in pieces]
    known = known_vectors(db, embedder, rows, {key for found in pieces.values() for _, key in found})
    new = {row.id: {key: piece.embedded for piece, key in pieces[row.id]
                    if (row.document_id, key) not in known} for row in rows}
    embedded, unfit = embed(embedder, rows, new)
    odd |= unfit
    if odd:
        embedder.embed([PLAIN])  # raises when it is not the versions' fault
    rows = [row for row in rows if row.id not in odd]
    return Prepared(
        [Indexed(row.document_id, row.id, row.url, len(pieces[row.id]),
                 sum(key in new[row.id] for _, key in pieces[row.id])) for row in rows],
        [chunk(row, piece, key, known.get((row.document_id, key)) or embedded[key], embedder.name)
         for row in rows for piece, key in pieces[row.id]],
        odd)


def each(rows: Rows, work: Callable[[Row[Any]], T]) -> tuple[dict[UUID, T], dict[UUID, str]]:
    """What ``work`` makes of each version, and why it could not. What is away for all is raised."""
    done: dict[UUID, T] = {}
    odd: dict[UUID, str] = {}
    for row in rows:
        try:
            done[row.id] = work(row)
        except Transient:
            raise
        except StageError as error:
            odd[row.id] = f"it cannot be indexed: {error.reason}"
        except Exception as error:  # a fault of ours: told, and kept from the neighbours
            log.exception("Indexing %s failed", row.url)
            odd[row.id] = f"indexing it failed inside Almanac ({type(error).__name__})"
    return done, odd


def cut_version(version: Row[Any], embedder: Embedder, cut: Cut) -> list[tuple[Piece, str]]:
    """The pieces, each with the digest of what is embedded for it."""
    blocks = [Block.from_json(block) for block in version.blocks]
    return [(piece, digest(piece.embedded))
            for piece in cut(version.title, blocks, embedder.count, embedder.window)]


def embed(
    embedder: Embedder, rows: Rows, new: Mapping[UUID, Texts]
) -> tuple[dict[str, bytes], dict[UUID, str]]:
    """The vectors by digest: all together, and where that fails version by version."""
    try:
        return embed_texts(embedder, {key: text for texts in new.values() for key, text in texts.items()}), {}
    except Transient:
        raise
    except Exception:  # each tells its own
        done, odd = each(rows, lambda row: embed_texts(embedder, new[row.id]))
        return {key: vector for vectors in done.values() for key, vector in vectors.items()}, odd


def embed_texts(embedder: Embedder, texts: Texts) -> dict[str, bytes]:
    return dict(zip(texts, pack(embedder.embed(list(texts.values()))), strict=True))
