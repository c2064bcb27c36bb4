"""Convert what was handed in."""

from prefect import flow

from flows.parameters import Count
from tasks import steps


@flow(persist_result=False)
async def keep(limit: Count = 20) -> int:
    """Convert files that wait, and start what follows: the index, and the next batch.

    Args:
        limit: files at most, those that have waited longest first
    """
    done = await steps.convert_files(limit)
    if done:
        await steps.hand_over()
    return done
