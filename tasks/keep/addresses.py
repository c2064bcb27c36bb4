"""The URI door: what is at an address is fetched by the door to the web, and kept like any other file."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from models.addresses import check_address
from tasks.errors import Rejected
from tasks.keep.files import Doors, keep_file, received
from tasks.keep.given import LONGEST_NAME, Given, refused_uri
from tasks.keep.rows import Kept
from tasks.ports import Fetched, Fetcher, Original, Wanted


async def keep_address(doors: Doors, fetcher: Fetcher, given: Given, now: datetime) -> Kept:
    """Fetch, scan, store; its bytes are let go once they are converted, unless they are to be preserved.

    Raises what the fetcher raises, Rejected and Transient.
    """
    fetched = await fetcher.fetch(check_address(given.uri or ""), Wanted.FILE)
    if why := refused_uri(fetched.final_url, doors.limits):
        raise Rejected([f"it leads to {fetched.final_url}, and {why}"])
    async with received(once(fetched.body), doors.folder, doors.limits.file) as file:
        named = Original(file.path, name_of(fetched), fetched.media_type, fetched.charset, fetched.final_url)
        return await keep_file(doors, given, file, named, now, preserve=given.preserve_source)


async def once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def name_of(fetched: Fetched) -> str:
    """The last part of the address, as a file's name."""
    parts = urlsplit(fetched.final_url)
    return (PurePosixPath(unquote(parts.path)).name or parts.hostname or "page")[:LONGEST_NAME]
