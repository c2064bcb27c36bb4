"""How the running stack is: its parts, and what the library says of itself."""

from dataclasses import asdict
from typing import Any

from almanac.settings import Settings
from almanac.stack.probe import get_json
from almanac.stack.processes import alive
from almanac.stack.state import Phase, StackState, running_state

Json = dict[str, Any]


def report(settings: Settings) -> Json:
    """``{"running", "stopping", "fine", "pid", "since", "parts": […], "health", "urls": {…}}``.

    ``health`` is what the library says of itself, None when it does not answer.
    """
    state = running_state(settings.home)
    if state is None:
        return {"running": False, "stopping": False, "fine": False, "pid": None, "since": None, "parts": [],
                "health": None, "urls": urls(settings)}
    health = get_json(f"{settings.api_url}/health")
    parts = [part_report(part) for part in asdict(state)["parts"]]
    return {
        "running": True, "stopping": state.stopping, "fine": is_fine(state, health),
        "pid": state.supervisor.pid, "since": state.since, "parts": parts, "health": health,
        "urls": urls(settings),
    }


def part_report(part: Json) -> Json:
    process = part.pop("process")
    return part | {"pid": process["pid"] if process else None}


def is_fine(state: StackState, health: Json | None) -> bool:
    running = all(
        part.state == Phase.RUNNING and part.process and alive(part.process) for part in state.parts
    )
    return state.ready and running and (health or {}).get("status") == "ok"


def urls(settings: Settings) -> dict[str, str]:
    return {
        "api": settings.api_url,
        "dashboard": settings.dashboard_url,
        "prefect": settings.prefect_api_url.removesuffix("/api"),
    }
