"""Read a batch of documents."""

from uuid import UUID

from prefect import flow

from flows.parameters import Count
from tasks import steps


@flow(persist_result=False)
async def read(limit: Count = 50, document_ids: list[UUID] | None = None) -> int:
    """Read documents that are due, or just those named, and start what waits: more reading, indexing.

    Args:
        limit: documents at most, the most urgent first
        document_ids: these documents, due or not
    """
    done = await steps.read_documents(limit, document_ids)
    if done:  # a run that found nothing to do starts nothing, or two could start each other for ever
        await steps.hand_over()
    return done
