"""The command as a process: how it starts, how it is interrupted, and what it does not load."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from vacancy import free_port

from almanac import __version__

ALMANAC = [sys.executable, "-m", "almanac"]
PROGRAM = " ".join(ALMANAC)


def run(*words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*ALMANAC, *words], capture_output=True, text=True, env=os.environ | settings, timeout=30)


def bash(command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30)


@pytest.fixture(params=["settings", "settings --json", "--help", "source add --help"])
def program(request: pytest.FixtureRequest) -> str:
    return f"{PROGRAM} {request.param}"


def test_the_module_is_the_command() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"almanac {__version__}\n", "")


def test_the_client_commands_load_none_of_the_heavy_libraries() -> None:
    code = ("import sys\nfrom almanac.cli import main\nmain(['--help'])\n"
            "heavy = {'torch', 'prefect', 'sqlalchemy', 'fastapi', 'streamlit', 'numpy', 'psycopg'}\n"
            "print(sorted(heavy & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_comes_quickly() -> None:
    before = os.times()
    run("--help")
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent < 1.0, "0.4 s of CPU on a quiet machine"


def test_settings_are_printed_without_anything_running_and_without_secrets(tmp_path: Path) -> None:
    done = run("settings", ALMANAC_HOME=str(tmp_path), ALMANAC_DATABASE_URL="postgresql://a:hunter2@db/a")
    assert (done.returncode, done.stderr) == (0, "")
    assert "hunter2" not in done.stdout
    assert str(tmp_path) in done.stdout
    assert "KNOWLEDGE_MAX_ARTICLES_PER_HOUR" in done.stdout


@pytest.mark.parametrize("command", ["settings", "doctor"])
def test_a_setting_that_is_none_is_said_and_is_no_failure(tmp_path: Path, command: str) -> None:
    mistyped = {"ALMANAC_HOME": str(tmp_path), "ALMANAC_API_PROT": "9", "ALMANAC_API_PORT": str(free_port()),
                "ALMANAC_PREFECT_PORT": str(free_port()), "ALMANAC_DASHBOARD_PORT": str(free_port())}
    done = run(command, **mistyped)
    assert done.returncode == 0, done.stdout
    assert done.stderr == ("almanac: not a setting, and without effect: ALMANAC_API_PROT (is "
                           "ALMANAC_API_PORT meant?); `almanac settings` lists all\n")


@pytest.mark.parametrize("command", ["settings", "up", "status", "doctor", "down"])
def test_a_wrong_setting_stops_every_command_before_it_begins(tmp_path: Path, command: str) -> None:
    done = run(command, ALMANAC_HOME=str(tmp_path / "home"), ALMANAC_ALLOWED_NETWORKS="banana")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("almanac: the setting ALMANAC_ALLOWED_NETWORKS is wrong: 'banana' is")
    assert not (tmp_path / "home").exists()


def test_a_reader_that_has_seen_enough_is_no_error(program: str) -> None:
    done = bash(f"{program} | true; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["settings", "settings --json", "--help", "--version", "--help --json"])
def test_output_that_cannot_be_written_is_a_failure_of_one_line(command: str) -> None:
    for full_or_closed in ("> /dev/full", ">&-"):
        done = bash(f"{PROGRAM} {command} {full_or_closed}")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert done.stderr.startswith("almanac: what it has to say cannot be written: ")


@pytest.mark.parametrize("nowhere", ["2> /dev/full", "2>&-"])
def test_an_error_that_cannot_be_told_is_an_error_still(nowhere: str) -> None:
    done = bash(f"{PROGRAM} search '' --json {nowhere}")
    assert (done.returncode, done.stderr) == (2, "")
    assert json.loads(done.stdout)["error"]["code"] == "wrong_usage"


def test_an_error_and_its_document_that_cannot_be_written_keeps_its_status() -> None:
    done = bash(f"{PROGRAM} search '' --json > /dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "empty" in done.stderr


def test_json_is_utf8_in_any_locale() -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*ALMANAC, "settings", "--json"], capture_output=True, timeout=30,
        env=os.environ | ascii_only | {"ALMANAC_HOME": "/café"})
    assert "café" in done.stdout.decode("utf-8")


def test_an_interrupt_ends_quietly(tmp_path: Path, runs_here: Callable[..., None]) -> None:
    (tmp_path / "token").write_text("token")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children inherit it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        runs_here(tmp_path, silent.getsockname()[1])
        process = subprocess.Popen(
            [*ALMANAC, "source", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {
                "ALMANAC_HOME": str(tmp_path), "ALMANAC_API_PORT": str(silent.getsockname()[1])})
        connection, _ = silent.accept()
        connection.recv(1000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        connection.close()
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_a_failure_nobody_thought_of_is_one_line_unless_asked_for(level: str, tmp_path: Path) -> None:
    code = ("import sys\nfrom almanac.cli import main\nimport almanac.cli.configuration as it\n"
            "it.explained = lambda _: 1 / 0\nsys.exit(main(['settings']))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30,
                          env=os.environ | {"ALMANAC_LOG_LEVEL": level, "ALMANAC_HOME": str(tmp_path)})
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) == (level == "DEBUG")
    assert done.stderr.splitlines()[-1].startswith("almanac: failed unexpectedly (ZeroDivisionError")
