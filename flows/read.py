"""Read documents, batch by batch."""

from uuid import UUID

from prefect import flow

from flows.parameters import Count
from tasks import steps


@flow(persist_result=False)
async def read(limit: Count = 50, batches: Count = 8, document_ids: list[UUID] | None = None) -> int:
    """Read documents that are due, or just those named; indexing starts beside it, and a run for the rest.

    Args:
        limit: documents in a batch, the most urgent first
        batches: batches in this run, at most
        document_ids: these documents, due or not
    """
    total = 0
    for _ in range(batches):
        done = await steps.read_documents(limit, document_ids)
        total += done
        if not done or document_ids is not None:
            break
        await steps.hand_to_index()
    if total:  # a run that found nothing to do starts nothing, or two could start each other for ever
        await steps.hand_over()
    return total
