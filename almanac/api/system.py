"""How the whole is: for whoever watches it, and for its owner."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from fastapi import APIRouter

from almanac import __version__
from almanac.api.context import ByLibrarian, Context, InContext
from almanac.api.problems import not_found
from almanac.api.runs import needed
from almanac.settings import explained
from tasks import reports
from tasks.index import follow

router = APIRouter(tags=["system"])

WELL, STARTING = "ok", "starting"


@router.get("/health")
async def health(context: InContext) -> dict[str, Any]:
    """Whether every part is well. Needs no token, and no thread that may be busy."""
    return health_of(context)


def health_of(context: Context) -> dict[str, Any]:
    parts = dict(context.parts())
    status = WELL if set(parts.values()) <= {WELL} else STARTING
    return {"status": status, "parts": parts, "version": __version__}


@router.get("/v1/system")
def show_system(by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """The parts, what waits, the limits and how much of them is used, and the settings in force."""
    db, chosen = context.library.db, context.settings
    hour, day = follow.used(db, datetime.now(UTC))
    return health_of(context) | {
        "queues": reports.depths(db),
        "limits": {
            "articles_per_hour": {"limit": chosen.articles_per_hour, "used": hour},
            "articles_per_day": {"limit": chosen.articles_per_day, "used": day},
        },
        "settings": {row["name"]: row["value"] for row in explained(chosen)},
    }


@router.get("/v1/runs/{run_id}")
async def show_run(run_id: UUID, by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """The state of work that another answer started: running, completed, failed, …"""
    with needed():
        state = await context.runs.state(run_id)
    if state is None:
        raise not_found("run")
    return {"id": run_id, "state": state}
