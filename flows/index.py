"""Bring versions into the index."""

from prefect import flow

from flows.parameters import Count
from tasks import steps


@flow(persist_result=False)
async def index(limit: Count = 16, batches: Count = 20) -> int:
    """Index versions that wait, batch by batch, and start another run when this one was not enough.

    Args:
        limit: versions in a batch
        batches: batches in this run, at most
    """
    total = 0
    for _ in range(batches):
        done = await steps.index_versions(limit)
        total += done
        if not done:
            return total
    await steps.hand_over()
    return total
