"""The one entry point behind every transport: what is given goes through its door."""

import asyncio
from asyncio import to_thread
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from tasks.errors import Rejected
from tasks.keep import tickets
from tasks.keep.addresses import keep_address
from tasks.keep.files import Doors
from tasks.keep.given import Given, Way, check
from tasks.keep.rows import Kept
from tasks.keep.texts import keep_texts
from tasks.keep.tickets import Ticket
from tasks.ports import Fetcher

MOST_AT_ONCE = 1_000  # texts
MOST_REASONS = 10


async def keep_batch(doors: Doors, given: Sequence[Given], now: datetime) -> list[Kept]:
    """Keep texts that are all for one scope set, in order. Those that are known as they are cost one
    statement for all hashes and one look-up. Raises Rejected where one may not be kept; then none is.
    """
    wrong = []
    for place, each in enumerate(given):
        try:
            if check(each, doors.limits, now) is not Way.TEXT:
                wrong.append(f"texts.{place}: it is no text")
        except Rejected as error:
            wrong += [f"texts.{place}: {reason}" for reason in error.reasons]
    if wrong:
        raise Rejected(wrong[:MOST_REASONS])
    return await to_thread(asyncio.run, keep_texts(doors.db, doors.parser, given, now))


async def keep(doors: Doors, fetcher: Fetcher, given: Given, now: datetime) -> Kept | Ticket:
    """Keep a text or what is at an address, or promise to take a file.

    Raises Rejected, with every reason, for what may not be kept; what the fetcher raises for its address; and
    Transient where the scanner or the store is away. Then nothing is written.
    """
    match check(given, doors.limits, now):
        case Way.TEXT:
            work = keep_texts(doors.db, doors.parser, [given], now)
            return (await to_thread(asyncio.run, work))[0]
        case Way.URI:
            work_on_file = partial(keep_address, doors, fetcher, given, now)
            return await to_thread(lambda: asyncio.run(work_on_file()))
        case Way.UPLOAD:
            return await to_thread(tickets.issue, doors.db, given, now)
