"""``almanac doctor``: what Almanac needs of this machine, and where it runs, how it fares."""

from collections.abc import Iterator

import typer

from almanac.cli.configuration import warn_of_unknown
from almanac.cli.screen import cut, one_line, screen, table, waits_for
from almanac.client import Client, ClientError, Json, NotRunning, connect
from almanac.settings import settings
from almanac.stack.finding import Finding
from models.states import ToolState

MARKS = {True: "ok", False: "WRONG", None: "-"}
NAMED = 3  # of many, in one line
WAITS = {"needs_browser": "a browser", "waiting": "another try", "quarantined": "their owner's word"}


def doctor() -> None:
    """Check this machine, and how Almanac fares on it; exit status 1 when something must be mended."""
    from almanac.stack.doctor import examine  # brings the database driver

    chosen = settings()
    warn_of_unknown()
    findings = [*examine(chosen), *running()]
    sick = [finding for finding in findings if finding.fine is False]
    lines = [(MARKS[finding.fine], finding.what, finding.words) for finding in findings]
    screen.show({"fine": not sick, "findings": [finding.document() for finding in findings]},
                table(("", "CHECKED", "FOUND"), lines, ""))
    raise typer.Exit(1 if sick else 0)


def running() -> list[Finding]:
    """What the library that runs says of itself, its sources and its hosts."""
    try:
        client = connect()
        return [*parts(client.system()), *sources(client)]
    except NotRunning as error:
        return [Finding("library", None, error.detail)]
    except ClientError as error:
        return [Finding("library", False, error.detail)]


def parts(told: Json) -> Iterator[Finding]:
    unwell = [f"{part}: {one_line(state)}" for part, state in told["parts"].items() if state != "ok"]
    starting = told["status"] == "starting"
    yield Finding("library", None if starting else not unwell, "; ".join(unwell) or "every part is well")
    if held := told["held"]:
        yield Finding("articles", None, waits_for(held))
    if lost := told["vault"]["lost"]:
        yield Finding("vault", False, lost)
    documents = told["queues"]["documents"]
    if waits := [f"{documents[state]} for {what}" for state, what in WAITS.items() if documents.get(state)]:
        yield Finding("documents that wait", None, ", ".join(waits))
    for host in told["slow_hosts"]:
        yield Finding("crawl delay", None, f"{host['host']} asks for {host['asked']:,.0f} seconds between "
                      f"two pages and is given {host['kept']:,.0f}")
    for server in told["tools"]:
        if not server["connected"]:
            yield Finding("tools", None, f"{server['server']} is away: {one_line(server['why'])}")
        if changed := [tool["name"] for tool in server["tools"] if tool["state"] == ToolState.CHANGED]:
            yield Finding("tools", None, f"its server has changed {', '.join(changed)}, not used until "
                          f"accepted: `almanac tool accept {changed[0]}`")


def sources(client: Client) -> Iterator[Finding]:
    """Those that fail, and why."""
    known = client.sources()
    failing = [source for source in known if source["failures"]]
    if not failing:
        yield Finding("sources", None, f"{len(known)}, none of which fails" if known else "none yet")
        return
    named = [f"{cut(source['name'], 40)} ({one_line(source['health'])})" for source in failing[:NAMED]]
    more = [f"and {len(failing) - NAMED} more: `almanac source list`"] if len(failing) > NAMED else []
    yield Finding("sources", None, f"{len(failing)} of {len(known)} fail: {'; '.join([*named, *more])}")
