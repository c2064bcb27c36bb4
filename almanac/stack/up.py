"""``almanac up``: starts the parts in their order, keeps them running until it is told to stop."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from almanac.secret_file import secret_file
from almanac.settings import Settings
from almanac.settings_shown import printable
from almanac.stack.database import connect, ensure_prefect, migrate
from almanac.stack.down import stop_leftovers
from almanac.stack.errors import StackError
from almanac.stack.keeper import Say
from almanac.stack.logs import open_log, rotate_all
from almanac.stack.parts import (
    DASHBOARD,
    dashboard_part,
    library_part,
    postgres_part,
    prefect_part,
    wanted_ports,
)
from almanac.stack.postgres import Postgres
from almanac.stack.preflight import check_ports, close_secrets, make_home, reached_by_others
from almanac.stack.probe import answers
from almanac.stack.state import single_instance
from almanac.stack.supervisor import Supervisor


def log_file(home: Path) -> Path:
    return home / "logs" / "almanac.log"


def up(settings: Settings, dashboard: bool, show: Say, ready: Callable[[], None]) -> None:
    """Run the stack until SIGINT, SIGTERM or SIGHUP; everything has stopped when it returns.

    ``show`` gets each line that says what happens (they go to ``logs/almanac.log`` too), ``ready`` is called
    once, when everything is ready. Raises StackError, with nothing left running.
    """
    make_home(settings.home)
    with single_instance(settings.home):
        say = speaker(log_file(settings.home), show)
        if left := stop_leftovers(settings.home):
            say(f"stopped {left} processes that an earlier Almanac had left behind")
        check_ports(settings.host, wanted_ports(settings, dashboard))
        secret_file(settings.home / "token")
        for file in close_secrets(settings.home):
            say(f"others could read {file}: now its owner alone can (mode 0600)")
        if warning := openness(settings):
            say(warning)
        asyncio.run(supervise(settings, dashboard, say, ready))


def speaker(log: Path, show: Say) -> Say:
    """Says a line to the caller and writes it to the log with the time."""

    def say(line: str) -> None:
        with contextlib.suppress(OSError):  # a closed terminal must not end the supervision, nor a full disk
            show(line)
        with contextlib.suppress(OSError), open_log(log) as file:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {line}\n".encode())

    return say


def openness(settings: Settings) -> str | None:
    """What others may do who reach this machine; None when nobody does, or all of it asks for a token."""
    if settings.prefect_url is not None or not reached_by_others(settings.host):
        return None
    return (f"ALMANAC_HOST is {settings.host}: whoever reaches this machine can use the Prefect UI without a "
            "token")


async def supervise(settings: Settings, dashboard: bool, say: Say, ready: Callable[[], None]) -> None:
    """Start everything and wait for a signal; a second signal leaves no more time to stop."""
    supervisor, told = Supervisor(settings.home, say), asyncio.Event()

    def on_signal() -> None:
        if told.is_set():
            supervisor.hurry()
        told.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if (number, signal.getsignal(number)) != (signal.SIGHUP, signal.SIG_IGN):  # nohup asked for that
            asyncio.get_running_loop().add_signal_handler(number, on_signal)
    rotation = asyncio.create_task(rotate_all(settings.home / "logs"))
    life = asyncio.create_task(live(supervisor, settings, dashboard, say, ready))
    try:
        await asyncio.wait({life, asyncio.create_task(told.wait())}, return_when=asyncio.FIRST_COMPLETED)
        if life.done():
            life.result()
    finally:
        rotation.cancel()
        life.cancel()
        await asyncio.wait({life})
        await supervisor.stop()
        say("Almanac has stopped")
    if not supervisor.state.ready:
        raise StackError("Almanac was told to stop before everything was ready")


async def live(
    supervisor: Supervisor, settings: Settings, dashboard: bool, say: Say, ready: Callable[[], None]
) -> None:
    """Start all parts, say that they are ready, and never end but by an error."""
    began = time.monotonic()
    await start(supervisor, settings, dashboard, say)
    supervisor.ready()
    say(f"Almanac is ready after {time.monotonic() - began:.1f} s")
    ready()
    await supervisor.broken


async def start(supervisor: Supervisor, settings: Settings, dashboard: bool, say: Say) -> None:
    """PostgreSQL and the schema first, then the others side by side."""
    if settings.prefect_url:
        await wait_for_prefect(settings.prefect_url, say)
    url = await start_database(supervisor, settings)
    others = []
    if settings.prefect_url is None:
        await asyncio.to_thread(ensure_prefect, url)
        others.append(prefect_part(settings, url))
    await asyncio.to_thread(migrate, url)
    say("the database has the newest schema")
    others.append(library_part(settings, url))
    if dashboard and (screen := dashboard_part(settings)):
        others.append(screen)
    elif dashboard:
        say(f"{DASHBOARD}: this installation has none")
    say(f"starting {', '.join(part.name for part in others)}")
    await supervisor.start(*others)


async def wait_for_prefect(url: str, say: Say, quiet: float = 3.0, patience: float = 60.0) -> None:
    """Return when the server that ALMANAC_PREFECT_URL names answers. Raises StackError when it does not."""
    began, told = time.monotonic(), False
    trouble = f"the Prefect server of ALMANAC_PREFECT_URL ({printable(url)}) does not answer"
    while not await asyncio.to_thread(answers, f"{url}/health"):
        waited = time.monotonic() - began
        if waited > patience:
            raise StackError(f"{trouble}: correct the setting, or leave it out to have one started here")
        if waited > quiet and not told:
            told = True
            say(f"{trouble}: trying for {patience:g} s")
        await asyncio.sleep(0.5)


async def start_database(supervisor: Supervisor, settings: Settings) -> str:
    """The URL of our database; embedded PostgreSQL is started unless the settings name a server."""
    if settings.database_url:
        url = settings.database_url.get_secret_value()
        (await asyncio.to_thread(connect, url)).close()
        return url
    server = Postgres(settings.home)
    await supervisor.start(postgres_part(settings, server))
    await asyncio.to_thread(server.ensure_database, "almanac")
    return server.url()
