"""A batch of documents: claimed together, looked at side by side, saved one after the other."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from sqlalchemy.exc import DataError

from models.addresses import is_route
from models.extracted import Extracted
from models.headers import traceback_of
from models.session import Database
from tasks.errors import NeedsBrowser, Permanent, StageError, Transient
from tasks.ports import Fetched, Fetcher, Parser, Read, Renderer, Validators, Wanted
from tasks.read.claims import Claimed, claim, is_there, keep_lease, returned_at_a_failure
from tasks.read.feed_text import or_feed
from tasks.read.save import MAX_ATTEMPTS, Look, Saved, save

log = logging.getLogger(__name__)

AT_ONCE = 32  # documents between their fetch and their save: bounds the bodies in memory
SECONDS_BETWEEN_TRIES = 0.5  # of a document that another worker is reading
PARSERS = {"text/markdown": "markdown"}  # by media type; everything else is a page


async def read_documents(
    db: Database, fetcher: Fetcher, parser: Parser, worker: str, limit: int, now: datetime,
    ids: Sequence[UUID] | None = None, max_attempts: int = MAX_ATTEMPTS, renderer: Renderer | None = None,
) -> list[Read]:
    """Read up to ``limit`` documents that are due, or just those named by ``ids``, due or not.

    They are saved in the order in which their sources named them: of two copies, the first named stays. One
    whose lease was lost on the way is another worker's, and not among what comes back.
    """
    claimed = claim(db, worker, limit, now, ids)
    room = asyncio.Semaphore(AT_ONCE)
    started = monotonic()

    async def look(document: Claimed) -> tuple[Look | StageError, float]:
        async with room:
            outcome = await look_at(document, fetcher, parser, renderer)
            outcome = await or_feed(db, document, outcome, parser, now, max_attempts)
            return outcome, monotonic() - started

    reads = []
    with returned_at_a_failure(db, claimed):
        async with asyncio.TaskGroup() as reading:
            renewing = reading.create_task(keep_lease(db, claimed))
            looks = [(document, reading.create_task(look(document))) for document in claimed]
            for document, looking in looks:
                outcome, seconds = await looking
                if saved := settle(db, document, outcome, now, max_attempts):
                    reads.append(Read(document.id, document.url, saved.state, saved.reason, saved.version,
                                      saved.due_at, seconds))
            renewing.cancel()
    return reads


async def read_document(
    db: Database, fetcher: Fetcher, parser: Parser, worker: str, document_id: UUID, now: datetime,
    max_attempts: int = MAX_ATTEMPTS, renderer: Renderer | None = None,
) -> Read | None:
    """Read one document, due or not; after whoever reads it already. None: there is no such document."""
    started, at = monotonic(), now
    while is_there(db, document_id):
        if reads := await read_documents(
            db, fetcher, parser, worker, 1, at, [document_id], max_attempts, renderer
        ):
            return reads[0]
        await asyncio.sleep(SECONDS_BETWEEN_TRIES)
        at = now + timedelta(seconds=monotonic() - started)
    return None


async def look_at(
    document: Claimed, fetcher: Fetcher, parser: Parser, renderer: Renderer | None = None
) -> Look | StageError:
    """Fetch, extract, and render what needs it; a failure is a value here, since it is what will be saved."""
    route = is_route(document.key)
    if document.unsaid:
        return Transient(document.unsaid)
    try:
        known = Validators() if route else document.validators  # every route has the same answer
        fetched = await fetcher.fetch(document.url, Wanted.PAGE, known, document.headers)
        if fetched.not_modified:
            return Look(fetched, None)
        try:
            return await extract(fetched, parser, is_whole=not route)
        except NeedsBrowser:
            if renderer is None:
                raise
        rendered = await renderer.render(fetched.final_url)
        return await extract_rendered(replace(rendered, url=fetched.url, moved_to=fetched.moved_to), parser)
    except StageError as error:
        return error
    except Exception as error:  # a fault of ours: told, retried, and kept from the neighbours
        told = traceback_of(error, document.headers)
        log.error("Reading %s failed\n%s", document.url, told)  # noqa: TRY400 - without the headers
        return Transient(f"reading it failed inside Almanac ({type(error).__name__})")


async def extract(fetched: Fetched, parser: Parser, is_whole: bool = True) -> Look:
    if not is_whole:
        raise NeedsBrowser("what is after its “#” only a browser can look up")
    context = {"url": fetched.final_url, "media_type": fetched.media_type, "charset": fetched.charset}
    parsed = await parser.parse(PARSERS.get(fetched.media_type, "page"), fetched.body, context)
    return Look(replace(fetched, body=b""), Extracted.from_json(parsed))


async def extract_rendered(rendered: Fetched, parser: Parser) -> Look:
    try:
        return await extract(rendered, parser)
    except NeedsBrowser as error:
        raise Permanent("there is nothing to read on the page, even after its scripts have run") from error


def settle(
    db: Database, document: Claimed, outcome: Look | StageError, now: datetime, max_attempts: int
) -> Saved | None:
    """Save the outcome; what PostgreSQL cannot hold is refused, and its neighbours are not harmed."""
    try:
        return save(db, document, outcome, now, max_attempts)
    except DataError:
        log.exception("What %s says cannot be stored", document.url)
        return save(db, document, Permanent("what it says cannot be stored"), now, max_attempts)
