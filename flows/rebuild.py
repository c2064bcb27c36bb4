"""Make the index again."""

from prefect import flow

from tasks import steps


@flow(persist_result=False)
async def rebuild() -> int:
    """Write every chunk that answers into the index, from PostgreSQL alone. It takes turns with indexing."""
    return await steps.rebuild_index()
