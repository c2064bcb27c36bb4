"""The four parts of one machine: their commands, their environments, and how each is known to be ready."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from signal import SIGINT

from almanac.settings import Settings, loopback
from almanac.stack.dashboard import screen
from almanac.stack.database import prefect_url
from almanac.stack.part import Part
from almanac.stack.postgres import Postgres, leashed
from almanac.stack.preflight import Port
from almanac.stack.probe import answers, get_json

POSTGRES, PREFECT, LIBRARY, DASHBOARD = "postgres", "prefect", "library", "dashboard"
PYTHON = [sys.executable, "-P"]  # -P: a folder that happens to be current shadows no module
LOOPBACK = ["127.0.0.1", "localhost", "::1"]
NOWHERE_ELSE = dict.fromkeys(  # Streamlit would ask a service for the machine's public address
    ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")


def wanted_ports(settings: Settings, dashboard: bool) -> list[Port]:
    """The ports that will be listened on."""
    ports = [Port(settings.api_port, "ALMANAC_API_PORT")]
    if settings.prefect_url is None:
        ports.append(Port(settings.prefect_port, "ALMANAC_PREFECT_PORT"))
    if dashboard:
        ports.append(Port(settings.dashboard_port, "ALMANAC_DASHBOARD_PORT"))
    return ports


def log_of(settings: Settings, name: str) -> Path:
    return settings.home / "logs" / f"{name}.log"


def python_part(command: Sequence[str]) -> list[str]:
    """A part that ends at once when the supervisor is killed: each is able to take that at any moment."""
    return leashed([*PYTHON, *command], on_parent_death="SIGKILL")


def postgres_part(settings: Settings, server: Postgres) -> Part:
    return Part(
        POSTGRES, server.command(), server.answers, log_of(settings, POSTGRES),
        prepare=server.prepare, stop_signal=SIGINT, grace=30.0,  # SIGINT: fast shutdown
    )


def prefect_part(settings: Settings, database_url: str) -> Part:
    """Prefect's server as one process, with its own database beside ours."""
    return Part(
        PREFECT, python_part(["-m", "almanac.stack.prefect_server"]),
        lambda: answers(f"{settings.prefect_api_url}/health"), log_of(settings, PREFECT),
        environment=shared_environment(settings) | prefect_server_environment(settings, database_url),
        port=settings.prefect_port,
    )


def library_part(settings: Settings, database_url: str) -> Part:
    """The warm library process: HTTP API, index, models and flow runs."""
    health = f"{settings.api_url}/health"
    return Part(
        LIBRARY, python_part(["-m", "almanac.library"]),
        lambda: (get_json(health) or {}).get("status") == "ok", log_of(settings, LIBRARY),
        environment=shared_environment(settings) | {"ALMANAC_DATABASE_URL": database_url},
        port=settings.api_port, grace=15.0,
    )


def dashboard_part(settings: Settings) -> Part | None:
    """The dashboard; None when this installation has none."""
    if screen() is None:
        return None
    return Part(
        DASHBOARD, python_part(["-m", "almanac.stack.dashboard"]),
        lambda: answers(f"{settings.dashboard_url}/_stcore/health"), log_of(settings, DASHBOARD),
        environment=shared_environment(settings) | NOWHERE_ELSE, port=settings.dashboard_port, grace=5.0,
        required=False,
    )


def shared_environment(settings: Settings) -> dict[str, str]:
    """What every part of ours is told: where things are, and that its own neighbours need no proxy."""
    reached_directly = [os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or "", *LOOPBACK]
    no_proxy = ",".join(filter(None, [*reached_directly, loopback(settings.host).strip("[]")]))
    return {
        "ALMANAC_HOME": str(settings.home),
        "DO_NOT_TRACK": "1",
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": no_proxy, "no_proxy": no_proxy,
    }


def prefect_server_environment(settings: Settings, database_url: str) -> dict[str, str]:
    """Few writes, a bounded history, slots that come back after a crash, a UI that needs no other origin."""
    return {
        "PREFECT_HOME": str(settings.home / "prefect"),
        "PREFECT_API_URL": settings.prefect_api_url,
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": prefect_url(database_url),
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "5",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(settings.keep_runs_days * 24 * 3600),
        "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": "P2D",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
        "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "100",
        "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "100",
        "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "1",
        "PREFECT_SERVER_SERVICES_TRIGGERS_READ_BATCH_SIZE": "100",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        "PREFECT_SERVER_UI_API_URL": "/api",  # whatever name the browser came by
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(settings.home / "prefect" / "ui"),
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": settings.prefect_api_url.removesuffix("/api"),
    }
