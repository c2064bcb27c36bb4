"""Look at the sources that are due."""

from uuid import UUID

from prefect import flow

from flows.parameters import Count
from tasks import steps


@flow(persist_result=False)
async def poll(limit: Count = 100, source_ids: list[UUID] | None = None) -> int:
    """Look at every source that is due, or just at those named, and start what waits because of it.

    Args:
        limit: sources at most, those of high priority first
        source_ids: these sources, due or not
    """
    polled = await steps.poll_sources(limit, source_ids)
    await steps.hand_over()
    return polled
