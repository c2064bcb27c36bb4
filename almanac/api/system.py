"""How the whole is: for whoever watches it, and for its owner."""

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request

from almanac import __version__
from almanac.api.context import ByLibrarian, Context, InContext
from almanac.api.problems import not_found
from almanac.api.runs import needed
from almanac.proof import proof
from almanac.settings import CREDENTIALS_IN_URL
from almanac.settings_shown import explained
from tasks import reports
from tasks.index import follow

router = APIRouter(tags=["system"])

WELL, STARTING, TROUBLE = "ok", "starting", "trouble"


@router.get("/health")
async def health(
    request: Request, context: InContext, challenge: Annotated[str | None, Query(max_length=100)] = None
) -> dict[str, Any]:
    """Whether every part is well. Needs no token, and no thread that may be busy.

    A ``challenge`` is answered with the ``proof`` that this is the Almanac of the caller's data folder.
    """
    told = health_of(context)
    _, port = request.scope["server"]
    return told if challenge is None else told | {"proof": proof(context.token, port, challenge)}


def health_of(context: Context) -> dict[str, Any]:
    parts = dict(context.parts())
    states = set(parts.values())
    status = WELL if states <= {WELL} else STARTING if STARTING in states else TROUBLE
    return {"status": status, "parts": parts, "version": __version__}


@router.get("/v1/system")
def show_system(by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """The parts, what waits, the limits and how much of them is used, tools, and the settings in force."""
    library, db, chosen = context.library, context.library.db, context.settings
    now = datetime.now(UTC)
    hour, day = follow.used(db, now)
    hold = follow.current_hold(db, chosen.articles_per_hour, chosen.articles_per_day, now)
    return health_of(context) | {
        "queues": reports.depths(db if by.is_owner else by.db),
        "limits": {
            "articles_per_hour": {"limit": chosen.articles_per_hour, "used": hour},
            "articles_per_day": {"limit": chosen.articles_per_day, "used": day},
        },
        "held": hold and hold.to_json(),
        "slow_hosts": reports.slow_hosts(db),
        "tools": [server | {"tools": [{name: tool[name] for name in ("name", "state")}
                                      for tool in server["tools"]]} for server in library.toolbox.told()],
        "vault": {"lost": library.vault.lost()},
        "settings": {row["name"]: row["value"] for row in explained(chosen)},
    }


@router.get("/v1/runs")
async def list_runs(
    by: ByLibrarian, context: InContext, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> dict[str, Any]:
    """The runs of our flows that began last, newest first, each with its address in the Prefect UI."""
    with needed():
        runs = await context.runs.recent(limit)
    return {"runs": [run | {"url": run_url(context, run["id"])} for run in runs]}


def run_url(context: Context, run_id: UUID | str) -> str:
    """Where the Prefect UI shows it; without credentials, which whoever opens it has."""
    ui = CREDENTIALS_IN_URL.sub("", context.settings.prefect_api_url).replace("://@", "://")
    return f"{ui.removesuffix('/api')}/runs/flow-run/{run_id}"


@router.get("/v1/runs/{run_id}")
async def show_run(run_id: UUID, by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """The state of work that another answer started (running, completed, failed, …), and why."""
    with needed():
        state, message = await context.runs.state(run_id), await context.runs.message(run_id)
    if state is None:
        raise not_found("run")
    return {"id": run_id, "state": state, "message": message, "url": run_url(context, run_id)}
