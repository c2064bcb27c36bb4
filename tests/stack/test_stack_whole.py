"""The stack with the real PostgreSQL, Prefect server and dashboard; only the library is a stand-in."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from almanac.stack.processes import identity_of

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

OURS = ("ALMANAC_", "PREFECT_")
COMMAND = """
import sys
from almanac.cli import main
from almanac.stack import up
from almanac.stack.parts import library_part
from almanac.stack.postgres import leashed
from dataclasses import replace

STAND_IN = '''
import http.server, sys
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ok"}')
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
'''

def stand_in(settings, url):
    command = leashed([sys.executable, "-c", STAND_IN, str(settings.api_port)], on_parent_death="SIGKILL")
    return replace(library_part(settings, url), command=command)

up.library_part = stand_in
sys.exit(main())
"""


class Stack:
    """The ``almanac`` command with a data folder and ports of its own."""

    def __init__(self, home: Path, ports: list[int]) -> None:
        self.home = home
        self.api, self.dashboard, self.prefect = (f"http://127.0.0.1:{port}" for port in ports)
        foreign = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        self.environment = foreign | {
            "ALMANAC_HOME": str(home), "ALMANAC_API_PORT": str(ports[0]),
            "ALMANAC_DASHBOARD_PORT": str(ports[1]), "ALMANAC_PREFECT_PORT": str(ports[2]),
        }

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", COMMAND, *words], env=self.environment, capture_output=True, text=True,
            timeout=200, stdin=subprocess.DEVNULL)

    def status(self) -> Any:
        return json.loads(self.run("status", "--json").stdout)

    def part(self, name: str) -> Any:
        return next(part for part in self.status()["parts"] if part["name"] == name)

    def left(self) -> list[str]:
        """Commands of the processes that work on this data folder."""
        mine = [
            process for process in psutil.process_iter(["cmdline", "environ"])
            if (process.info["environ"] or {}).get("ALMANAC_HOME") == str(self.home)
        ]
        return [" ".join(process.info["cmdline"]) for process in mine if identity_of(process.pid)]


def until(what: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, free_ports: list[int]) -> Iterator[Stack]:
    running = Stack(tmp_path_factory.mktemp("a stack") / "home", free_ports)
    done = running.run("up", "--detach")
    assert done.returncode == 0, done.stderr + done.stdout
    yield running
    running.run("down")


def test_everything_is_ready_when_up_returns(stack: Stack) -> None:
    status = stack.status()
    assert status["fine"]
    assert [part["name"] for part in status["parts"]] == ["postgres", "prefect", "library", "dashboard"]
    assert {part["state"] for part in status["parts"]} == {"running"}


def test_a_second_up_says_that_it_is_running_and_changes_nothing(stack: Stack) -> None:
    before = stack.status()
    done = stack.run("up", "--detach")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"almanac: Almanac is already running (pid {before['pid']}): "
                           "`almanac status` shows it\n")
    assert stack.status()["parts"] == before["parts"]


def test_the_prefect_ui_is_served_and_speaks_to_where_it_came_from(stack: Stack) -> None:
    page = httpx.get(f"{stack.prefect}/", headers={"Accept": "text/html"}, follow_redirects=True)
    assert "<title>Prefect" in page.text
    assert httpx.get(f"{stack.prefect}/ui-settings").json()["api_url"] == "/api"


def test_a_strangers_page_cannot_reach_prefect(stack: Stack) -> None:
    flow = b'{"name": "planted"}'
    assert httpx.get(f"{stack.prefect}/api/health", headers={"Host": "rebound.example"}).status_code == 421
    planted = httpx.post(f"{stack.prefect}/api/flows/", content=flow, headers={"Origin": "https://evil.example"})
    assert planted.status_code == 403


def test_prefect_lives_on_through_a_kill_of_postgresql(stack: Stack) -> None:
    kept = httpx.post(f"{stack.prefect}/api/flows/", json={"name": "kept"}).json()
    os.kill(stack.part("postgres")["pid"], signal.SIGKILL)
    until(lambda: stack.status()["fine"])
    assert stack.part("postgres")["restarts"] == 1
    until(lambda: httpx.get(f"{stack.prefect}/api/flows/{kept['id']}").status_code == 200)


def test_nothing_is_left_of_a_killed_supervisor_and_the_next_start_finds_everything(stack: Stack) -> None:
    kept = httpx.post(f"{stack.prefect}/api/flows/", json={"name": "kept"}).json()
    os.kill(stack.status()["pid"], signal.SIGKILL)
    until(lambda: not stack.left(), seconds=15)
    assert stack.run("status").returncode == 1
    assert stack.run("up", "--detach").returncode == 0
    assert httpx.get(f"{stack.prefect}/api/flows/{kept['id']}").json()["name"] == "kept"


def test_no_secret_is_in_a_log_or_a_command_line(stack: Stack) -> None:
    secrets = [(stack.home / name).read_text().strip() for name in ("keys/postgres", "token")]
    logs = "".join(path.read_text(errors="replace") for path in (stack.home / "logs").iterdir())
    assert not [secret for secret in secrets if secret in logs + "".join(stack.left())]


def test_a_stop_while_starting_leaves_nothing_and_is_no_success(stack: Stack) -> None:
    assert stack.run("down").returncode == 0
    with subprocess.Popen([sys.executable, "-c", COMMAND, "up"], env=stack.environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as starting:
        assert starting.stdout
        assert starting.stderr
        assert "postgres: ready" in starting.stdout.readline()
        starting.send_signal(signal.SIGTERM)
        assert starting.wait(30) == 1
        assert "told to stop before" in starting.stderr.read()
    assert stack.left() == []


def test_ctrl_c_while_the_caller_waits_leaves_nothing_and_is_one_line(stack: Stack) -> None:
    assert stack.run("down").returncode == 0
    with subprocess.Popen([sys.executable, "-c", COMMAND, "up", "--detach"], env=stack.environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as starting:
        assert starting.stdout
        assert "postgres: ready" in starting.stdout.readline()
        os.killpg(starting.pid, signal.SIGINT)
        _, err = starting.communicate(timeout=60)
    assert starting.returncode == 130
    assert err == "almanac: Almanac was told to stop before everything was ready\n"
    assert stack.left() == []


def test_down_leaves_nothing_and_says_so(stack: Stack) -> None:
    assert stack.run("up", "--detach", "--no-dashboard").returncode == 0
    assert [part["name"] for part in stack.status()["parts"]] == ["postgres", "prefect", "library"]
    assert stack.run("down").stdout == "Almanac has stopped\n"
    assert stack.left() == []
    assert stack.run("down").stdout == "Almanac is not running\n"
