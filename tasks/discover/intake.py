"""What a source offers, compared with what is known of it: new documents, and those to be read again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from fnmatch import fnmatchcase
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    RowMapping,
    Text,
    any_,
    exists,
    literal,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.states import DocumentState, ReadingMode
from models.tables import Document, Source
from tasks.discover.offers import Item

LIVE = Document.state != literal_column("'removed'")  # as the partial index of the keys has it
COLUMNS = (
    Document.id, Document.source_id, Document.key, Document.item_key, Document.item_hash, Document.state,
    Document.read_at, Document.published_at, Document.title,
)
UNJUDGED: dict[str, Any] = {  # see tasks.discover.choosing
    "state": DocumentState.DISCOVERED, "due_at": None, "interest": None,
    "reason": "found by its source, waits to be judged",
}

Pair = tuple[Item, RowMapping]


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of an offer's items."""

    new: int = 0
    changed: int = 0
    left: int = 0  # new, but past the limit of one poll
    excluded: int = 0  # by the source's globs
    unjudged: UUID | None = None  # the document of which only a read can tell whether it changed
    unfinished: frozenset[str] = frozenset()  # the parts of the source that name what is left


def take_in(session: Session, source: Source, items: Sequence[Item], now: datetime) -> Taken:
    """Store what is new once, and make due what changed."""
    wanted = [item for item in items if passes(item.url, source.include, source.exclude)]
    known = Known(session, source, wanted)
    found = [(item, known.document(item)) for item in wanted]
    fresh = [item for item, document in found if document is None]
    pairs = [(item, document) for item, document in found if document and may_be_read(document)]
    asked = [(item, document) for item, document in pairs if item.item_hash is None]
    own = [(i, d) for i, d in pairs if i.item_hash is not None and d["source_id"] == source.id]
    changed = [(i, d) for i, d in own if i.item_hash not in {"", d["item_hash"]}]
    due: Sequence[RowMapping] = [document for _, document in [*asked, *changed]]
    if source.mode == ReadingMode.INTERESTING:
        due = judge_anew(session, due)
    make_due(session, due, now)
    note(session, changed)
    follow(session, source, [(item, document) for item, document in own if item.key != document["key"]], now)
    limit = source.limit_per_poll
    added = add(session, source, fresh[:limit], now)
    unjudged = [document["id"] for _, document in asked]
    unjudged += [row["id"] for row in added if row["item_hash"] is None]
    return Taken(len(added), len(changed), len(fresh[limit:]), len(items) - len(wanted),
                 next(iter(unjudged), None), frozenset(item.part for item in fresh[limit:] if item.part))


def may_be_read(document: RowMapping) -> bool:
    return bool(document["state"] != DocumentState.REMOVED)


def passes(url: str, include: Iterable[str], exclude: Iterable[str]) -> bool:
    """Whether the source's globs let an address through; no ``include`` lets all through."""
    included = list(include)
    if included and not any(fnmatchcase(url, glob) for glob in included):
        return False
    return not any(fnmatchcase(url, glob) for glob in exclude)


class Known:
    """The documents that an offer speaks of.

    Those of the source itself, removed ones too (they are not to come back), and those of other sources at
    an address that is offered: they are left to them, unless only a read can tell whether they changed.
    """

    def __init__(self, session: Session, source: Source, items: Sequence[Item]) -> None:
        keys, item_keys = [item.key for item in items], [item.item_key for item in items]
        own = Document.source_id == source.id
        of_others = (Document.key == any_of(keys)) & (Document.scopes == source.scopes) & LIVE
        named = (Document.key == any_of(keys)) | (Document.item_key == any_of(item_keys))
        query = select(*COLUMNS).where(or_(own & named, of_others)).order_by(own)  # its own come last
        found = session.execute(query).mappings().all()
        self._by_key = {row["key"]: row for row in found}
        self._by_item_key = {row["item_key"]: row for row in found if row["source_id"] == source.id}
        self._offered = set(keys)

    def document(self, item: Item) -> RowMapping | None:
        """By its address; else by its guid, if its old address is gone and it is otherwise the same too: in
        what it says, or in the minute at which it appeared.

        A guid alone is not believed: some feeds give every item the same.
        """
        if item.key in self._by_key:
            return self._by_key[item.key]
        row = self._by_item_key.get(item.item_key)
        if row is None or row["key"] in self._offered:
            return None
        at = item.published_at
        to_the_minute = at is not None and at.time() != time()  # midnight stands for a day
        same = item.item_hash == row["item_hash"] or (to_the_minute and at == row["published_at"])
        return row if same else None


def any_of(texts: list[str]) -> ColumnElement[Any]:
    """One array parameter, however many there are."""
    return any_(literal(texts, ARRAY(Text)))


def make_due(session: Session, documents: Sequence[RowMapping], now: datetime) -> None:
    """Let the documents be read now; one that waits for its next attempt goes on waiting."""
    ids = [document["id"] for document in documents if document["state"] != DocumentState.WAITING]
    if ids:
        session.execute(update(Document).where(Document.id.in_(ids)).values(due_at=now))


def judge_anew(session: Session, documents: Sequence[RowMapping]) -> Sequence[RowMapping]:
    """Let what was passed over be judged by what is said of it now; those that need no judgement."""
    ids = [document["id"] for document in documents if document["state"] == DocumentState.SKIPPED]
    if ids:
        session.execute(update(Document).where(Document.id.in_(ids)).values(UNJUDGED))
    return [it for it in documents if it["state"] not in {DocumentState.SKIPPED, DocumentState.DISCOVERED}]


def note(session: Session, changed: Sequence[Pair]) -> None:
    """Keep what the source says now of items that changed."""
    rows = [
        {
            "id": document["id"], "item_key": item.item_key, "item_hash": item.item_hash,
            "summary": item.summary, "published_at": item.published_at or document["published_at"],
            "full_text": item.full_text,
            "title": document["title"] if document["read_at"] else item.title or document["title"],
        }
        for item, document in changed
    ]
    if rows:
        session.execute(update(Document), rows)


def follow(session: Session, source: Source, moved: Sequence[Pair], now: datetime) -> None:
    """Give documents the new address of their item, unless another document has it already."""
    for item, document in moved:
        other = exists().where(
            Document.key == item.key, Document.scopes == source.scopes,
            LIVE,
        )
        values: dict[str, Any] = {"url": item.url, "key": item.key, "etag": None, "last_modified": None}
        if document["read_at"] is None:
            values["due_at"] = now
        session.execute(update(Document).where(Document.id == document["id"], ~other).values(values))


def add(session: Session, source: Source, items: Sequence[Item], now: datetime) -> Sequence[RowMapping]:
    """Store new documents; an address that any source of the same readers has already is left to it."""
    rows = [
        row_of(item, source, now) | {"discovered_at": now + timedelta(microseconds=place)}  # in its order
        for place, item in enumerate(items)
    ]
    if not rows:
        return []
    stored = insert(Document).on_conflict_do_nothing(
        index_elements=[Document.key, Document.scopes], index_where=LIVE,
    ).returning(Document.id, Document.item_hash)
    return session.execute(stored, rows).mappings().all()


def row_of(item: Item, source: Source, now: datetime) -> dict[str, Any]:
    judged = source.mode == ReadingMode.INTERESTING and item.item_hash is not None
    return {
        "source_id": source.id, "scopes": source.scopes, "url": item.url, "key": item.key,
        "item_key": item.item_key, "item_hash": item.item_hash, "title": item.title, "author": item.author,
        "summary": item.summary, "published_at": item.published_at, "priority": source.priority,
        "due_at": now, "full_text": item.full_text,
    } | (UNJUDGED if judged else {})
