"""What must be right before anything starts, told in one line that names the setting."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from vacancy import free_port

from almanac.stack.errors import StackError
from almanac.stack.preflight import Port, check_ports, close_secrets, make_home, reached_by_others


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_data_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    make_home(home)
    assert {path.stat().st_mode & 0o777 for path in [home, *home.iterdir()]} == {0o700}


def test_a_data_folder_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_home(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["run", "logs", "keys", "postgres", "index", "prefect"])
def test_a_file_in_the_place_of_a_folder_of_ours_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(StackError, match=f"{name} is a file where Almanac keeps a folder: move it away"):
        make_home(tmp_path)


def test_secrets_that_others_could_read_are_closed_to_them_and_named(tmp_path: Path) -> None:
    make_home(tmp_path)
    token, key, closed = tmp_path / "token", tmp_path / "keys" / "postgres", tmp_path / "keys" / "other"
    for file, mode in ((token, 0o644), (key, 0o640), (closed, 0o600)):
        file.write_text("secret")
        file.chmod(mode)
    assert close_secrets(tmp_path) == [token, key]
    assert {file.stat().st_mode & 0o777 for file in (token, key, closed)} == {0o600}
    assert close_secrets(tmp_path) == []


@pytest.mark.parametrize(
    ("host", "reached"), [("127.0.0.1", False), ("localhost", False), ("127.0.0.9", False), ("0.0.0.0", True)]
)
def test_it_is_known_whether_other_machines_reach_a_host(host: str, reached: bool) -> None:
    assert reached_by_others(host) == reached


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder in which not even root may write")
def test_a_data_folder_that_cannot_be_written_is_named() -> None:
    with pytest.raises(StackError, match=r"/proc/almanac cannot be written \(.+\): set ALMANAC_HOME"):
        make_home(Path("/proc/almanac"), needed=0)


def test_a_full_disk_is_said_before_anything_is_made(tmp_path: Path) -> None:
    more_than_there_is = shutil.disk_usage(tmp_path).total * 2
    with pytest.raises(StackError, match=r"only \d+ MB are free"):
        make_home(tmp_path / "home", needed=more_than_there_is)
    assert not (tmp_path / "home").exists()


def test_a_port_in_use_is_named_with_the_setting_that_changes_it(busy_port: int) -> None:
    ports = [Port(free_port(), "ALMANAC_API_PORT"), Port(busy_port, "ALMANAC_PREFECT_PORT")]
    with pytest.raises(StackError) as raised:
        check_ports("127.0.0.1", ports)
    assert str(raised.value) == f"port {busy_port} is in use: set ALMANAC_PREFECT_PORT to another"


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host"])
def test_an_address_that_is_not_this_machines_is_named(host: str) -> None:
    with pytest.raises(StackError, match="ALMANAC_HOST"):
        check_ports(host, [Port(free_port(), "ALMANAC_API_PORT")])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", ""])
def test_a_free_port_is_fine(host: str) -> None:
    check_ports(host, [Port(free_port(), "ALMANAC_API_PORT")])


def test_a_port_whose_listener_has_just_closed_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # as servers do, with SO_REUSEADDR
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            served, _ = listener.accept()
            served.close()  # the side that closes first keeps the address for a minute
    check_ports("127.0.0.1", [Port(port, "ALMANAC_API_PORT")])
