"""The measures of versions: from their own text, from what answered before, and from other documents."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, or_, select, update
from sqlalchemy.orm import Session, aliased

from models.blocks import Block, BlockKind
from models.session import Database
from models.states import HANDED_IN, DocumentState, Verdict
from models.styles import COLLAPSED, CONCEALED
from models.tables import Document, DocumentVersion, Source
from tasks.gates.invisible import broken_words, first_broken, smuggled
from tasks.gates.judge import Measured
from tasks.gates.likeness import likeness, sketch
from tasks.gates.orders import orders
from tasks.gates.wording import boilerplate_share, letters, replacement_share, wall

LONG = 1000  # characters of a last version that is missed when it goes
BEGINNING = 200  # characters of a text that are told of it
MOST_LIKE = 5  # documents that share something with one and are compared with it

MEASURED = ("id", "document_id", "scopes", "title", "text", "blocks", "language", "hidden", "published_at",
            "read_at")

log = logging.getLogger(__name__)

Values = dict[str, tuple[Any, str]]  # by column: what was measured, and the passage


def measure_versions(db: Database, versions: Sequence[UUID]) -> list[Measured]:
    """The columns of the suite for each version, in the order in which they were read."""
    rows = load(db, versions)
    sketches = {row.id: sketch(row.text) for row in rows}
    with db.begin() as session:
        session.execute(update(DocumentVersion), [
            {"id": version, "sketch": numbers} for version, numbers in sketches.items() if numbers])
    return [measured(row, own(row) | others(db, row, sketches[row.id], versions)) for row in rows]


def kept_of(db: Database, versions: Sequence[UUID]) -> set[UUID]:
    """Those of the versions that were handed in, not read on the web."""
    rows = db.execute(
        select(DocumentVersion.id).join(DocumentVersion.document).join(Document.source)
        .where(DocumentVersion.id.in_(versions), Source.kind.in_(HANDED_IN)))
    return {row.id for row in rows}


def measured(row: Row[Any], measures: Mapping[str, Callable[[], tuple[Any, str]]]) -> Measured:
    """What could be measured; a fault of ours in one measure leaves its column out."""
    found: Values = {}
    for column, measure in measures.items():
        try:
            found[column] = measure()
        except Exception:
            log.exception("The %s of %s could not be measured", column, row.url)
    return Measured(row.id, {column: value for column, (value, _) in found.items()},
                    {column: passage for column, (_, passage) in found.items() if passage})


def load(db: Database, versions: Sequence[UUID]) -> Sequence[Row[Any]]:
    """What is measured of each, and the length of the text that it would replace."""
    before = aliased(DocumentVersion)
    said: list[Any] = [getattr(DocumentVersion, name) for name in MEASURED]
    query: Select[Any] = (
        select(*said, Document.url, before.text.label("before"))
        .join(Document, Document.id == DocumentVersion.document_id)
        .outerjoin(before, before.id == Document.version_id)
        .where(DocumentVersion.id.in_(versions)).order_by(DocumentVersion.read_at, DocumentVersion.id))
    with db.begin() as session:
        return session.execute(query).all()


def own(row: Row[Any]) -> dict[str, Callable[[], tuple[Any, str]]]:
    """The measures of the version's own text."""
    blocks = [Block.from_json(block) for block in row.blocks]
    concealed, collapsed = (
        [it["text"] for it in row.hidden if it["how"] == how] for how in (CONCEALED, COLLAPSED))
    return {
        "letters": lambda: (letters(row.text), row.text[:BEGINNING]),
        "title_letters": lambda: (0 if row.title == row.url else letters(row.title), row.title),
        "days_ahead": lambda: (row.published_at and (row.published_at - row.read_at).days, ""),
        "language": lambda: (row.language, ""),
        "boilerplate_share": lambda: (boilerplate_share(blocks), row.text[:BEGINNING]),
        "replacement_share": lambda: (replacement_share(row.text), row.text[:BEGINNING]),
        "wall": lambda: one_for(wall(row.title, blocks)),
        "kept_share": lambda: (kept_share(row.text, row.before), ""),
        "concealed": lambda: length_of(" \u2026 ".join(concealed)),
        "smuggled": lambda: length_of(smuggled(row.text)),
        "broken_words": lambda: (broken_words(row.text), first_broken(row.text)),
        "orders": lambda: orders([*paragraphs(row.title), *blocks]),
        "hidden_orders": lambda: orders(paragraphs(*concealed, *collapsed, smuggled(row.text))),
    }


def paragraphs(*texts: str) -> list[Block]:
    return [Block(BlockKind.PARAGRAPH, text) for text in texts]


def one_for(passage: str) -> tuple[int, str]:
    return int(bool(passage)), passage


def length_of(passage: str) -> tuple[int, str]:
    return len(passage), passage


def kept_share(text: str, before: str | None) -> float | None:
    """How long it is beside the version that answers; none where that is short, or there is none."""
    return len(text) / len(before) if before and len(before) >= LONG else None


def others(
    db: Database, row: Row[Any], numbers: list[int] | None, batch: Sequence[UUID]
) -> dict[str, Callable[[], tuple[Any, str]]]:
    """The measures beside other documents."""
    def nearest() -> tuple[float, str]:
        if numbers is None:
            return 0.0, ""
        with db.begin() as session:
            found = sharing(session, row, numbers, batch)
        return max(((likeness(row.text, other.text), other.url) for other in found), default=(0.0, ""))

    return {"likeness": nearest}


def sharing(
    session: Session, row: Row[Any], numbers: list[int], batch: Sequence[UUID]
) -> Sequence[Row[str, str]]:
    """The standing versions of other documents that share a part of their sketch.

    Of those that are judged in the same batch, the ones that were read before: of two, the later repeats.
    """
    earlier = or_(DocumentVersion.id.not_in(batch), DocumentVersion.read_at < row.read_at,
                  (DocumentVersion.read_at == row.read_at) & (DocumentVersion.id < row.id))
    return session.execute(
        select(DocumentVersion.text, Document.url)
        .join(Document, Document.id == DocumentVersion.document_id)
        .where(DocumentVersion.sketch.overlap(numbers), DocumentVersion.superseded_at.is_(None),
               DocumentVersion.document_id != row.document_id, DocumentVersion.scopes == row.scopes, earlier,
               or_(DocumentVersion.verdict.is_(None), DocumentVersion.verdict == Verdict.RELEASED),
               DocumentVersion.failure.is_(None),
               Document.state.not_in([DocumentState.REMOVED, DocumentState.DUPLICATE]))
        .order_by(DocumentVersion.read_at).limit(MOST_LIKE)
    ).all()
