"""``python -m almanac.stack.dashboard``: Streamlit with our screens, for this machine's owner only.

Streamlit answers under any host name: a stranger's page, by a name of its own that is made to resolve to
this machine (DNS rebinding), could read the library. Here only the names in ALMANAC_HOSTS are answered, and
nothing that a screen shows can make the viewer's browser ask another server.
"""

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
    from streamlit.starlette import App

    from almanac.stack.own_names import OwnNamesOnly

    chosen = settings()
    uvicorn.run(
        OwnNamesOnly(App(str(screen())), chosen.names), host=chosen.host, port=chosen.dashboard_port,
        log_level="warning", access_log=False, timeout_graceful_shutdown=2, ws="websockets-sansio",
    )


if __name__ == "__main__":
    main()
