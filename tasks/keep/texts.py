"""The text door: notes, each a document whose version is made of the blocks of its text (Markdown)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from models.extracted import Extracted
from models.session import Database
from tasks.errors import Permanent, Rejected
from tasks.keep import rows
from tasks.keep.given import Given
from tasks.keep.identity import Content, Known, Outcome, find, hashes, outcome_of
from tasks.keep.rows import Kept
from tasks.ports import Parser

Texts = Mapping[UUID | None, Extracted]  # by hash


async def keep_texts(
    db: Database, parser: Parser, given: Sequence[Given], now: datetime
) -> list[Kept]:
    """Keep texts that are all for one scope set, in order.

    Those that are known as they are cost one statement for all hashes and one for all documents. Raises
    Rejected, before anything is written, for a text that says nothing.
    """
    if not given:
        return []
    scopes = given[0].scopes
    contents = [Content(each) for each in hashes(db, [item.text or "" for item in given])]
    items = list(zip(given, contents, strict=True))
    read: dict[UUID | None, Extracted] = {}
    while True:
        with db.at_once() as session:
            shelf = find(session, scopes, items)
        seen = [shelf.match(item, content) for item, content in items]
        outcomes = [outcome_of(item, content, known)
                    for (item, content), known in zip(items, seen, strict=True)]
        done = [Kept(known.id, Outcome.UNCHANGED) if known and outcome is Outcome.UNCHANGED else None
                for known, outcome in zip(seen, outcomes, strict=True)]
        if None not in done:
            return [kept for kept in done if kept]
        for (item, content), outcome in zip(items, outcomes, strict=True):
            if outcome.changes_content and content.given_hash not in read:
                read[content.given_hash] = await read_text(parser, item)
        try:
            return write(db, items, done, read, now)
        except Overtaken:
            continue


class Overtaken(Exception):
    """Somebody else has changed what a text is compared with, so that it has to be read after all."""


async def read_text(parser: Parser, given: Given) -> Extracted:
    try:
        return Extracted.from_json(await parser.parse("note", (given.text or "").encode(), {}))
    except Permanent as error:
        raise Rejected([error.reason]) from error


def write(
    db: Database, items: Sequence[tuple[Given, Content]], done: Sequence[Kept | None], read: Texts,
    now: datetime,
) -> list[Kept]:
    """Write those that are not ``done``, each compared again with what is there under the lock."""
    with db.begin() as session:
        rows.lock(session, items[0][0].scopes)
        return [kept or write_one(session, given, content, read, now)
                for (given, content), kept in zip(items, done, strict=True)]


def write_one(session: Session, given: Given, content: Content, read: Texts, now: datetime) -> Kept:
    known: Known | None = find(session, given.scopes, [(given, content)]).match(given, content)
    outcome = outcome_of(given, content, known)
    if known and outcome is Outcome.UNCHANGED:
        return Kept(known.id, outcome)
    if known and outcome is Outcome.REFRESHED:
        rows.refresh(session, given, known)
        return Kept(known.id, outcome)
    if content.given_hash not in read:
        raise Overtaken
    document_id = rows.write(session, given, content, known, None, now)
    rows.add_version(session, document_id, read[content.given_hash], now)
    return Kept(document_id, outcome)
