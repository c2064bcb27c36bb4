"""The index over HTTP: checked against the records, and made again from them."""

from typing import Any

from fastapi import APIRouter

from almanac.api.context import ByLibrarian, InContext
from almanac.api.runs import needed
from tasks.index import follow
from tasks.index.check import SAMPLE

router = APIRouter(prefix="/v1/index", tags=["index"])


@router.post("/verify")
def verify(by: ByLibrarian, context: InContext, full: bool = False) -> dict[str, Any]:
    """Compare the index with the records, chunk by chunk; of some, or ``full``: of all, the vectors too."""
    one = context.library
    sample = None if full else SAMPLE
    return follow.verify(one.db, one.embedder, one.index, sample).to_json()


@router.post("/rebuild", status_code=202)
async def rebuild(by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """Start making the index again from the records."""
    with needed():
        return {"flow_run_id": await context.runs.start("rebuild", {})}
