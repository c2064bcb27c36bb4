"""Judge again what an older analyser, or another model, has judged."""

from uuid import UUID

from prefect import flow

from flows.parameters import Count
from tasks import steps


@flow(persist_result=False)
async def reanalyse(
    limit: Count = 50, batches: Count = 2_000, document_ids: list[UUID] | None = None
) -> None:
    """Analyse again, batch by batch, what answers and was not judged by the analyser of now; embeds nothing.

    Args:
        limit: versions in a batch
        batches: batches in this run, at most
        document_ids: these documents, whoever judged them
    """
    last = UUID(int=0)
    for _ in range(batches):
        if not (done := await steps.reanalyse_versions(limit, last, document_ids)):
            return
        last = done
