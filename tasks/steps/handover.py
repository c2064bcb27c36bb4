"""From one stage to the next: a run is started where PostgreSQL says that there is work."""

from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.utilities import get_or_create_client
from sqlalchemy import select

from almanac import wiring
from models.states import ChunkState
from models.tables import Chunk, Document
from tasks import read
from tasks.index import follow
from tasks.keep import convert
from tasks.steps.running import now

DEPLOYMENT = "library"  # in prefect.yaml: of what is due
WAITS_TO_START = {"type": {"any_": ["SCHEDULED", "PENDING"]}}


async def hand_over() -> None:
    """Start reading when documents are due, converting when files wait, indexing when it has work."""
    if wiring.library().renderer:
        read.wake(wiring.library().db, now())
    if read.due(wiring.library().db, now()):
        await start("read")
    if convert.waiting(wiring.library().db, now()):
        await start("keep")
    await hand_to_index()


async def hand_to_index() -> None:
    """Start indexing when there is something to put in or take out."""
    if index_lags():
        await start("index")


def index_lags() -> bool:
    """Versions wait that the owner's limits let through, documents for another look, chunks that answer no
    more are still there, or the last run failed.
    """
    if "index" in wiring.library().trouble:
        return True
    db, settings = wiring.library().db, wiring.library().settings
    held = follow.held(db, settings.articles_per_hour, settings.articles_per_day, now())
    with db.begin() as session:
        retiring = session.scalar(select(Chunk.id).where(Chunk.state == ChunkState.RETIRING).limit(1))
        marked = session.scalar(select(Document.id).where(
            Document.recheck.is_not(None), Document.version_id.is_not(None)).limit(1))
    return retiring is not None or marked is not None or follow.waiting(db) > held


async def start(flow: str) -> None:
    """A run of the flow, unless one waits to start already."""
    client, _ = get_or_create_client()
    deployment = await client.read_deployment_by_name(f"{flow}/{DEPLOYMENT}")
    waits = FlowRunFilter.model_validate(
        {"state": WAITS_TO_START, "deployment_id": {"any_": [deployment.id]}})
    if not await client.read_flow_runs(flow_run_filter=waits, limit=1):
        await client.create_flow_run_from_deployment(deployment.id)
