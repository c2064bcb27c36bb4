"""The one entry point behind every transport: what is given goes through its door."""

import asyncio
from asyncio import to_thread
from datetime import datetime
from functools import partial

from tasks.keep import tickets
from tasks.keep.addresses import keep_address
from tasks.keep.files import Doors
from tasks.keep.given import Given, Way, check
from tasks.keep.rows import Kept
from tasks.keep.texts import keep_texts
from tasks.keep.tickets import Ticket
from tasks.ports import Fetcher


async def keep(doors: Doors, fetcher: Fetcher, given: Given, now: datetime) -> Kept | Ticket:
    """Keep a text or what is at an address, or promise to take a file.

    Raises Rejected, with every reason, for what may not be kept; what the fetcher raises for its address; and
    Transient where the scanner or the store is away. Then nothing is written.
    """
    match check(given, doors.limits):
        case Way.TEXT:
            work = keep_texts(doors.db, doors.parser, [given], now)
            return (await to_thread(asyncio.run, work))[0]
        case Way.URI:
            work_on_file = partial(keep_address, doors, fetcher, given, now)
            return await to_thread(lambda: asyncio.run(work_on_file()))
        case Way.UPLOAD:
            return await to_thread(tickets.issue, doors.db, given, now)
