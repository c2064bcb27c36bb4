"""``python -m almanac.stack.dashboard``: serves our screens, where this installation has any."""

from importlib.util import find_spec
from pathlib import Path

from almanac.settings import settings


def screen() -> Path | None:
    """The dashboard's entrance; None when this installation has none."""
    package = find_spec("dashboards")
    folders = list(package.submodule_search_locations or []) if package else []
    entrances = [Path(folder) / "app.py" for folder in folders]
    return next((entrance for entrance in entrances if entrance.exists()), None)


def main() -> None:
    import uvicorn  # what a server needs, only where it is one

    chosen = settings()
    uvicorn.run(
        "dashboards.entrance:guarded", factory=True, host=chosen.host, port=chosen.dashboard_port,
        log_level="warning", access_log=False, timeout_graceful_shutdown=2, ws="websockets-sansio",
    )


if __name__ == "__main__":
    main()
