"""The text door: notes, each a document whose version is made of the blocks of its text (Markdown)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from models.extracted import Extracted
from models.session import Database
from tasks.errors import Permanent, Rejected
from tasks.keep import rows
from tasks.keep.given import Given
from tasks.keep.identity import (
    Content,
    Known,
    Outcome,
    find,
    hashes,
    is_known_as_it_is,
    look_up,
    outcome_of,
)
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
    contents = [Content(each) for each in hashes(db, [item.text or "" for item in given])]
    items = list(zip(given, contents, strict=True))
    done = known_as_they_are(db, items)
    read: dict[UUID | None, Extracted] = {}
    while None in done:
        await read_new(db, parser, [item for item, kept in zip(items, done, strict=True) if not kept], read)
        with suppress(Overtaken):
            done = write(db, items, done, read, now)
    return [kept for kept in done if kept]


def known_as_they_are(db: Database, items: Sequence[tuple[Given, Content]]) -> list[Kept | None]:
    """Those of which nothing new is said; none for the others."""
    known: dict[UUID | None, Known] = {}
    if items:
        with db.at_once() as session:
            wanted = {content.given_hash for _, content in items if content.given_hash}
            for each in find(session, items[0][0].scopes, wanted):
                known.setdefault(each.content.given_hash, each)
    return [
        Kept(found.id, Outcome.UNCHANGED)
        if (found := known.get(content.given_hash)) and is_known_as_it_is(given, content, found) else None
        for given, content in items]


async def read_new(
    db: Database, parser: Parser, items: Sequence[tuple[Given, Content]], read: dict[UUID | None, Extracted]
) -> None:
    """Read the texts that will be stored, as far as they were not yet."""
    with db.at_once() as session:
        shelf = look_up(session, items[0][0].scopes, items)
    for given, content in items:
        outcome = outcome_of(given, content, shelf.match(given, content))
        if outcome.changes_content and content.given_hash not in read:
            read[content.given_hash] = await read_text(parser, given)


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
) -> list[Kept | None]:
    """Write those that are not ``done``, each compared again with what is there under the lock."""
    with db.begin() as session:
        rows.lock(session, items[0][0].scopes)
        return [kept or write_one(session, given, content, read, now)
                for (given, content), kept in zip(items, done, strict=True)]


def write_one(session: Session, given: Given, content: Content, read: Texts, now: datetime) -> Kept:
    known = look_up(session, given.scopes, [(given, content)]).match(given, content)
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
