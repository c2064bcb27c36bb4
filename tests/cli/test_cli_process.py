"""The command as a process: how it starts, how it is interrupted, and what it does not load."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from almanac import __version__

ALMANAC = [sys.executable, "-m", "almanac"]


def run(*words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*ALMANAC, *words], capture_output=True, text=True, env=os.environ | settings, timeout=30)


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


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m almanac settings | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30)
    assert done.stderr == ""


def test_json_is_utf8_in_any_locale(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*ALMANAC, "settings", "--json"], capture_output=True, timeout=30,
        env=os.environ | ascii_only | {"ALMANAC_CONTACT": "café", "ALMANAC_HOME": str(tmp_path)})
    assert "café" in done.stdout.decode("utf-8")


def test_an_interrupt_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("token")
    with socket.create_server(("127.0.0.1", 0)) as silent:
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
