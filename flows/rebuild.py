"""Make the index again."""

from prefect import flow

from tasks import steps


@flow(persist_result=False)
async def rebuild() -> int:
    """Fill a new collection of the index from PostgreSQL alone, then let it answer instead of the old one."""
    return await steps.rebuild_index()
