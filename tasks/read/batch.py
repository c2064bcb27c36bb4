"""A batch of documents: claimed together, looked at side by side, saved one after the other."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from uuid import UUID

from sqlalchemy.exc import DataError

from models.extracted import Extracted
from models.session import Database
from tasks.errors import Permanent, StageError, Transient
from tasks.ports import Fetcher, Parser, Wanted
from tasks.read.claims import Claimed, claim, keep_lease
from tasks.read.save import MAX_ATTEMPTS, Look, save

log = logging.getLogger(__name__)

AT_ONCE = 32  # documents between their fetch and their save: bounds the bodies in memory
PARSERS = {"text/markdown": "markdown"}  # by media type; everything else is a page


@dataclass(frozen=True, slots=True)
class Read:
    """What became of one document in a batch."""

    document_id: UUID
    url: str
    state: str
    reason: str
    seconds: float  # from the start of the batch until it had been looked at


async def read_documents(
    db: Database, fetcher: Fetcher, parser: Parser, worker: str, limit: int, now: datetime,
    ids: Sequence[UUID] | None = None, max_attempts: int = MAX_ATTEMPTS,
) -> list[Read]:
    """Read up to ``limit`` documents that are due, or just those named by ``ids``, due or not.

    They are saved in the order in which their sources named them: of two copies, the first named stays.
    """
    claimed = claim(db, worker, limit, now, ids)
    room = asyncio.Semaphore(AT_ONCE)
    started = monotonic()

    async def look(document: Claimed) -> tuple[Look | StageError, float]:
        async with room:
            return await look_at(document, fetcher, parser), monotonic() - started

    reads = []
    async with asyncio.TaskGroup() as reading:
        renewing = reading.create_task(keep_lease(db, worker, [document.id for document in claimed]))
        for document, looking in [(document, reading.create_task(look(document))) for document in claimed]:
            outcome, seconds = await looking
            state, reason = settle(db, document, outcome, now, max_attempts)
            reads.append(Read(document.id, document.url, state, reason, seconds))
        renewing.cancel()
    return reads


async def look_at(document: Claimed, fetcher: Fetcher, parser: Parser) -> Look | StageError:
    """Fetch and extract; a failure is a value here, since it is what will be saved."""
    try:
        fetched = await fetcher.fetch(document.url, Wanted.PAGE, document.validators)
        if fetched.not_modified:
            return Look(fetched, None)
        context = {"url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset}
        parsed = await parser.parse(PARSERS.get(fetched.media_type, "page"), fetched.body, context)
        return Look(replace(fetched, body=b""), Extracted.from_json(parsed))
    except StageError as error:
        return error
    except Exception as error:  # a fault of ours: told, retried, and kept from the neighbours
        log.exception("Reading %s failed", document.url)
        return Transient(f"reading it failed inside Almanac ({type(error).__name__})")


def settle(
    db: Database, document: Claimed, outcome: Look | StageError, now: datetime, max_attempts: int
) -> tuple[str, str]:
    """Save the outcome; what PostgreSQL cannot hold is refused, and its neighbours are not harmed."""
    try:
        return save(db, document, outcome, now, max_attempts)
    except DataError:
        log.exception("What %s says cannot be stored", document.url)
        return save(db, document, Permanent("what it says cannot be stored"), now, max_attempts)
