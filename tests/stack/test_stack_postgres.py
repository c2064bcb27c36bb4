"""The embedded PostgreSQL: sudden ends, stale locks, and who may reach it."""

import os
import subprocess
from pathlib import Path

import psycopg
import pytest

from almanac.settings import Settings
from almanac.stack.errors import StackError
from almanac.stack.parts import postgres_part
from almanac.stack.postgres import Postgres, stop
from almanac.stack.supervisor import Supervisor

pytestmark = pytest.mark.database


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Postgres:
    server = Postgres(tmp_path_factory.mktemp("a folder with spaces"))
    server.prepare()
    return server


def rows(server: Postgres, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.url("postgres", driver="postgresql"), autocommit=True) as connection:
        answer = connection.execute(statement.encode())
        return answer.fetchall() if answer.description else []


def test_what_was_committed_survives_a_kill_and_a_stale_lock_of_a_strangers_pid(cluster: Postgres) -> None:
    process = cluster.start()
    rows(cluster, "CREATE TABLE kept AS SELECT 42 AS answer")
    process.kill()
    process.wait()
    lock = cluster.data / "postmaster.pid"
    lock.write_text(lock.read_text().replace(str(process.pid), str(os.getpid()), 1))
    process = cluster.start()
    assert rows(cluster, "SELECT answer FROM kept") == [(42,)]
    stop(process)
    assert not lock.exists()


def test_a_server_that_still_runs_is_stopped_before_the_next_is_started(cluster: Postgres) -> None:
    first = cluster.start()
    second = cluster.start()
    assert first.wait(10) == 0
    assert rows(cluster, "SELECT 1") == [(1,)]
    stop(second)


@pytest.mark.parametrize("password", ["", "wrong"])
def test_nobody_is_trusted_without_the_password(cluster: Postgres, password: str) -> None:
    process = cluster.start()
    try:
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(host=str(cluster.socket), user="almanac", dbname="postgres", password=password)
    finally:
        stop(process)


def test_a_password_file_that_was_lost_is_replaced_and_nothing_else_is(cluster: Postgres) -> None:
    process = cluster.start()
    rows(cluster, "CREATE TABLE there AS SELECT 7 AS answer")
    stop(process)
    lost = cluster.password_file.read_text()
    cluster.password_file.unlink()
    process = cluster.start()
    assert rows(cluster, "SELECT answer FROM there") == [(7,)]
    assert cluster.password_file.read_text() != lost
    stop(process)


@pytest.mark.parametrize("content", ["changed by hand", "it's \\ odd", "", "\0", "two\nlines"])
async def test_a_password_file_that_was_changed_is_made_true_by_one_more_start(
    tmp_path: Path, cluster: Postgres, content: str
) -> None:
    process = cluster.start()
    rows(cluster, "CREATE TABLE IF NOT EXISTS held AS SELECT 7 AS answer")
    stop(process)
    cluster.password_file.write_text(content)
    said: list[str] = []
    (tmp_path / "run").mkdir()
    supervisor = Supervisor(tmp_path, said.append)
    try:
        await supervisor.start(postgres_part(Settings(home=cluster.data.parent), cluster))
        assert rows(cluster, "SELECT answer FROM held") == [(7,)]
    finally:
        await supervisor.stop()
    assert said[0] == (f"postgres was stopped: its password is not the one in {cluster.password_file}; "
                       "starting it again in 0.5 s")


def test_it_listens_on_a_private_socket_and_on_no_port(cluster: Postgres) -> None:
    process = cluster.start()
    try:
        assert rows(cluster, "SHOW listen_addresses") == [("",)]
        assert cluster.socket.stat().st_mode & 0o777 == 0o700
    finally:
        stop(process)


def test_it_has_what_prefect_needs_of_it(cluster: Postgres) -> None:
    process = cluster.start()
    try:
        rows(cluster, "CREATE EXTENSION IF NOT EXISTS pg_trgm")
        assert rows(cluster, "SELECT similarity('almanac', 'almanac')") == [(1.0,)]
    finally:
        stop(process)


def test_a_cluster_that_cannot_be_made_leaves_no_half_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Postgres(tmp_path)
    monkeypatch.setattr("almanac.stack.postgres.USER", "pg_almanac")  # a name that initdb refuses
    with pytest.raises(StackError, match=r"could not be set up in .+: initdb: error: .+pg_almanac"):
        server.prepare()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("postgres")]


def test_a_first_start_that_was_killed_is_begun_anew(tmp_path: Path) -> None:
    server = Postgres(tmp_path)
    (tmp_path / "postgres.new").mkdir()
    (tmp_path / "postgres.new" / "half").write_text("")
    server.prepare()
    assert (server.data / "PG_VERSION").read_text().strip() == "18"
    assert not (tmp_path / "postgres.new").exists()


def test_a_data_folder_with_a_long_path_has_its_socket_elsewhere_and_private(tmp_path: Path) -> None:
    server = Postgres(tmp_path / ("long" * 25))
    server.prepare()
    assert not server.socket.is_relative_to(tmp_path)
    assert server.socket.stat().st_mode & 0o777 == 0o700
    process = server.start()
    assert rows(server, "SELECT 1") == [(1,)]
    stop(process)
    subprocess.run(["rmdir", str(server.socket)], check=True)


def test_it_stops_though_somebody_is_connected(cluster: Postgres) -> None:
    process = cluster.start()
    connection = psycopg.connect(cluster.url("postgres", driver="postgresql"))
    stop(process)
    assert process.returncode == 0
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
