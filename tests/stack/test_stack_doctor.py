"""The doctor: each complaint says what to do, and what is optional makes nobody sick."""

import socket
from pathlib import Path
from typing import Any

import pytest

from almanac.settings import Settings
from almanac.stack.doctor import examine
from almanac.stack.finding import Finding
from almanac.stack.processes import own_identity
from almanac.stack.state import PartState, Phase, StackState, write_state
from tasks.web import chromium


def found(home: Path, what: str, **changes: Any) -> list[Finding]:
    return [finding for finding in examine(Settings(home=home, **changes)) if finding.what == what]


def test_an_ordinary_machine_is_fine_before_the_first_start(tmp_path: Path, free_ports: list[int]) -> None:
    api, dashboard, prefect = free_ports
    chosen = Settings(home=tmp_path / "home", api_port=api, dashboard_port=dashboard, prefect_port=prefect)
    assert [finding for finding in examine(chosen) if finding.fine is False] == []
    assert not (tmp_path / "home").exists()


def test_a_secret_that_others_may_read_is_found(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o644)
    [finding] = found(tmp_path, "secrets")
    assert (finding.fine, finding.words) == (False, f"others may read {tmp_path}/token: chmod 600")


def test_a_token_that_a_running_almanac_has_lost_is_found(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write_state(tmp_path, StackState(own_identity()))
    [finding] = found(tmp_path, "secrets")
    assert (finding.fine, finding.words) == (
        False, f"the file {tmp_path}/token is missing: `almanac down`, then `almanac up` makes it again")


def test_a_port_in_use_is_found_unless_it_is_our_own(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert (False, f"port {port} is in use: set ALMANAC_API_PORT to another") in [
            (finding.fine, finding.words) for finding in found(tmp_path, "port", api_port=port)]
        (tmp_path / "run").mkdir()
        library = PartState("library", "log", port, Phase.RUNNING)
        write_state(tmp_path, StackState(own_identity(), parts=[library]))
        assert (True, f"{port} is Almanac's own (ALMANAC_API_PORT)") in [
            (finding.fine, finding.words) for finding in found(tmp_path, "port", api_port=port)]


def test_a_database_that_does_not_answer_is_found_and_its_password_is_not_told(tmp_path: Path) -> None:
    [finding] = found(tmp_path, "PostgreSQL", database_url="postgresql+psycopg://me:s3cret@127.0.0.1:1/x")
    assert finding.fine is False
    assert "ALMANAC_DATABASE_URL" in finding.words
    assert "s3cret" not in finding.words


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        ("", "public addresses only (ALMANAC_ALLOWED_NETWORKS is empty)"),
        ("10.0.0.0/8, wiki.lan:80", "besides public addresses: 10.0.0.0/8, wiki.lan:80"),
    ],
)
def test_allowed_networks_are_shown(tmp_path: Path, allowed: str, words: str) -> None:
    [finding] = found(tmp_path, "allowed networks", allowed_networks=allowed)
    assert (finding.fine, finding.words) == (None, words)


@pytest.mark.parametrize(("wanted", "there", "root", "fine", "words"), [
    ("auto", True, False, True, "chromium"),
    ("auto", True, True, None, "chromium, without its own sandbox since this is root"),
    ("auto", False, False, None, "no Chromium here: pages that have no text without one wait"),
    ("off", True, False, None, "off (ALMANAC_BROWSER): pages that have no text without one wait"),
    ("ws://browser:3000/", False, True, True, "ws://browser:3000/"),
])
def test_the_browser_is_said_to_be_there_or_what_its_absence_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, there: bool, root: bool, fine: bool | None,
    words: str,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "may_be_sandboxed", lambda: not root)
    if there:
        (tmp_path / "chromium").touch(0o755)
    [finding] = found(tmp_path, "browser", browser=wanted)
    assert finding.fine is fine
    assert words in finding.words


def test_a_missing_model_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("almanac.stack.doctor.MODEL", "no_such_package")
    [finding] = found(tmp_path, "embedding model")
    assert finding.fine is False
