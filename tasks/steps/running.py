"""What every step needs of its run: the time, a table to show, a turn, a thread, and a word about trouble."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from prefect.artifacts import acreate_table_artifact

from almanac import wiring
from models.session import Database

TURN_SECONDS = 0.5  # between two looks whether it is our turn

P = ParamSpec("P")
T = TypeVar("T")
Row = dict[str, Any]


def now() -> datetime:
    return datetime.now(UTC)


async def show(key: str, rows: list[Row]) -> None:
    """A table of the run, when there is something to show."""
    if rows:
        await acreate_table_artifact(rows, key=key)


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call without holding up the run's event loop; a cancellation waits until the call has ended."""
    work = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise


@asynccontextmanager
async def told(part: str) -> AsyncIterator[None]:
    """Let ``/health`` say why the part's work failed, until it succeeds again."""
    trouble = wiring.library().trouble
    try:
        yield
    except Exception as error:
        trouble[part] = (str(error) or type(error).__name__).splitlines()[0]
        raise
    trouble.pop(part, None)


@asynccontextmanager
async def turn(db: Database, name: str) -> AsyncIterator[None]:
    """Wait until no other run, on whatever machine, is in a block of this name."""
    while True:
        with db.lock(name) as mine:
            if mine:
                yield
                return
        await asyncio.sleep(TURN_SECONDS)
