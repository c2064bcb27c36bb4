"""``almanac up``, ``down``, ``status``, ``doctor`` and ``welcome``: the parts of one machine."""

import contextlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer

from almanac.cli.configuration import warn_of_unknown
from almanac.cli.failures import Failed
from almanac.cli.screen import facts, one_line, screen, table, waits_for
from almanac.client import ClientError, Json, connect
from almanac.settings import Settings, settings
from almanac.stack.errors import StackError
from almanac.stack.preflight import lost_token
from models.states import DocumentState


def up(
    detach: Annotated[bool, typer.Option("--detach", help="return when all is ready, and go on")] = False,
    no_dashboard: Annotated[bool, typer.Option("--no-dashboard", help="leave the dashboard out")] = False,
) -> None:
    """Start every part and keep them running until Ctrl-C or `almanac down`."""
    from almanac.stack.background import in_background
    from almanac.stack.up import log_file

    chosen = settings()
    warn_of_unknown()
    run = runner(chosen, dashboard=not no_dashboard)
    status = in_background(run, log_file(chosen.home)) if detach else run(lambda: None)
    raise typer.Exit(status)


def runner(chosen: Settings, dashboard: bool) -> Callable[[Callable[[], None]], int]:
    """The stack as work that says when it is ready; its exit status."""
    from almanac.stack.report import report
    from almanac.stack.up import up as start

    def run(ready: Callable[[], None]) -> int:
        def show_ready() -> None:
            now = report(chosen)
            with contextlib.suppress(OSError):  # a reader that has gone does not stop the stack
                screen.show(now, where(now, dashboard))
                if (told := system()) and (lost := told["vault"]["lost"]):
                    screen.warn(lost)
            ready()

        try:
            start(chosen, dashboard, tell, show_ready)
        except StackError as error:
            raise Failed(str(error)) from error
        return 0

    return run


def tell(line: str) -> None:
    """A line of the stack's log, for whoever watches: stdout belongs to the document with ``--json``."""
    stream = sys.stderr if screen.json else sys.stdout
    print(f"{datetime.now():%H:%M:%S}  {one_line(line)}", file=stream, flush=True)


def where(now: Json, dashboard: bool = True) -> str:
    urls = now["urls"]
    return facts([
        ("API", f"{urls['api']} (its documentation at {urls['api']}/docs)"),
        ("dashboard", urls["dashboard"] if dashboard else None),
        ("Prefect UI", urls["prefect"]),
    ])


def down() -> None:
    """Stop every part."""
    from almanac.stack.down import down as stop

    said = stop(settings().home)
    screen.show({"said": said}, said)


def status() -> None:
    """Show the parts and how they are; exit status 1 when one is not well."""
    from almanac.stack.report import report

    now = report(settings())
    if not now["running"]:
        raise Failed("Almanac is not running: start it with `almanac up`", now)
    now["token_lost"] = lost_token(settings().home)
    told = system() if now["health"] else None
    now["held"] = told and told["held"]
    now["needs_browser"] = told and told["queues"]["documents"].get(DocumentState.NEEDS_BROWSER, 0)
    now["vault"] = told and told["vault"]["lost"]
    screen.show(now, described(now))
    raise typer.Exit(0 if now["fine"] and not now["token_lost"] else 1)


def system() -> Json | None:
    """What waits and what holds it back, as far as the library says."""
    try:
        told: Json = connect().system()
    except ClientError:
        return None
    return told


def described(now: Json) -> str:
    rows = [
        (part["name"], part["state"], part["pid"], part["port"], elapsed(part["since"]), part["restarts"],
         part["problem"])
        for part in now["parts"]
    ]
    parts = table(("PART", "STATE", "PID", "PORT", "FOR", "RESTARTS", "LAST PROBLEM"), rows, "no parts yet")
    health = now["health"] or {"status": "is being stopped" if now["stopping"] else "does not answer"}
    waits = now["held"] and waits_for(now["held"])
    said = [("library says", health["status"]), *unwell(health), ("token", now["token_lost"]),
            ("vault", now["vault"]), ("articles", waits), ("browser", awaited(now["needs_browser"]))]
    return "\n".join([parts, "", facts(said), where(now)])


def unwell(health: Json) -> list[tuple[str, str]]:
    """The parts of the library that are not well, and why."""
    return [(part, state) for part, state in health.get("parts", {}).items() if state != "ok"]


def awaited(pages: int | None) -> str | None:
    return f"{pages} pages wait for one: `almanac doctor` says why" if pages else None


def elapsed(since: str) -> str:
    """How long ago an ISO 8601 time was, in its largest unit."""
    seconds = int((datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds())
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"


def welcome() -> None:
    """Add the starter sources to an empty library, read them, and answer a sample question."""
    from almanac.cli.welcome import greet

    greet(settings())
