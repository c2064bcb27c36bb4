"""The stack's life: started twice, stopped, killed, started on what is there already."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from gazette import Site

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


def alive(almanac: Any) -> list[str]:
    """Commands of every process that works on this data folder."""
    mine = []
    for process in psutil.process_iter(["environ", "cmdline", "status"]):
        command = " ".join(process.info["cmdline"] or [])
        ours = (process.info["environ"] or {}).get("ALMANAC_HOME") == str(almanac.home)
        if (ours or str(almanac.home) in command) and process.info["status"] != psutil.STATUS_ZOMBIE:
            mine.append(command)
    return mine


def wait_until(what: Any, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.2)
    return False


def test_a_second_up_says_that_it_is_running(almanac: Any) -> None:
    done = almanac.run("up", "--detach")
    assert "already running" in done.stdout + done.stderr


def test_a_port_in_use_is_named_with_its_setting(almanac: Any, tmp_path: Path) -> None:
    other = type(almanac)(tmp_path / "other")
    other.environment["ALMANAC_API_PORT"] = str(almanac.ports["API"])
    done = other.run("up", "--detach")
    assert done.returncode == 1
    assert "ALMANAC_API_PORT" in done.stderr
    assert str(almanac.ports["API"]) in done.stderr
    assert alive(other) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(almanac: Any, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    done = type(almanac)(tmp_path / "closed" / "home").run("up", "--detach")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (1, 1)
    assert str(tmp_path / "closed") in done.stderr


def test_a_data_folder_that_is_a_file_is_named(almanac: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = type(almanac)(tmp_path / "file").run("up", "--detach")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert str(tmp_path / "file") in done.stderr


def test_down_leaves_nothing_and_the_next_start_finds_everything(almanac: Any, site: Site) -> None:
    almanac.json("read", f"{site.url}/articles/6")
    before = almanac.json("search", "kombucha brewer", "-k", "1")["excerpts"]
    assert before
    assert almanac.run("down").returncode == 0
    assert alive(almanac) == []
    assert almanac.run("status").returncode == 1
    assert almanac.run("up", "--detach", timeout=200).returncode == 0
    after = almanac.json("search", "kombucha brewer", "-k", "1")["excerpts"]
    assert [e["chunk_id"] for e in after] == [e["chunk_id"] for e in before]


@pytest.mark.parametrize("victim", ["postgres", "prefect", "dashboard"])
def test_a_part_that_is_killed_comes_back(almanac: Any, victim: str) -> None:
    def part() -> Any:
        return {p["name"]: p for p in almanac.json("status")["parts"]}[victim] if almanac.run("status").returncode == 0 else None

    assert wait_until(part, 60)
    pid = part()["pid"]
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: (p := part()) and p["pid"] != pid and p["state"] == "running", 90)
    assert wait_until(lambda: almanac.run("search", "kombucha").returncode == 0, 60)


def test_a_killed_supervisor_leaves_nothing_running(almanac: Any) -> None:
    [supervisor] = [p for p in psutil.process_iter(["pid", "environ", "cmdline"])
                    if p.pid == almanac.json("status")["pid"]]
    supervisor.kill()
    assert wait_until(lambda: alive(almanac) == [], 30), alive(almanac)
    assert almanac.run("up", "--detach", timeout=200).returncode == 0
    assert almanac.json("search", "kombucha brewer", "-k", "1")["excerpts"]
