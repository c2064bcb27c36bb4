"""What must be right before anything is started: the data folder and the ports."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from errno import EADDRINUSE, EADDRNOTAVAIL
from ipaddress import ip_address
from pathlib import Path

from almanac.secret_file import kept_secret
from almanac.stack.errors import StackError

NEEDED_BYTES = 300_000_000  # a fresh cluster, its first write-ahead log, and the first pages
MADE_HERE = ("run", "logs", "keys")
MADE_LATER = ("postgres", "prefect", "index")


@dataclass(frozen=True, slots=True)
class Port:
    """A port that a part will listen on, and the setting that names it."""

    number: int
    setting: str


def make_home(home: Path, needed: int = NEEDED_BYTES) -> None:
    """Make the data folder and let nobody but its owner into it. Raises StackError and then makes nothing."""
    try:
        existing = next(folder for folder in (home, *home.parents) if folder.exists())
        free = shutil.disk_usage(existing).free
        if free < needed:
            raise StackError(f"only {free // 1_000_000} MB are free on the disk of {home}, Almanac needs "
                             f"{needed // 1_000_000}: make room, or set ALMANAC_HOME to a folder elsewhere")
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if home.stat().st_mode & 0o077:
            home.chmod(0o700)
        for folder in (home / name for name in (*MADE_HERE, *MADE_LATER)):
            if folder.exists() and not folder.is_dir():
                raise StackError(f"{folder} is a file where Almanac keeps a folder: move it away")
        for name in MADE_HERE:
            (home / name).mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise StackError(f"the data folder {home} cannot be written ({error.strerror}): "
                         "set ALMANAC_HOME to a folder of your own") from error


def secrets(home: Path) -> list[Path]:
    """The files of the data folder that are their owner's alone, as far as they are there."""
    return [file for file in (home / "token", *(home / "keys").glob("*")) if file.is_file()]


def lost_token(home: Path) -> str | None:
    """Why nothing can be asked of a running Almanac, and what to do; None where its token is kept."""
    file = home / "token"
    try:
        if kept_secret(file):
            return None
    except OSError as error:
        return f"the file {file} cannot be read ({error.strerror}): make it readable for who runs Almanac"
    fault = "holds no token" if file.exists() else "is missing"
    return f"the file {file} {fault}: `almanac down`, then `almanac up` makes it again"


def close_secrets(home: Path) -> list[Path]:
    """Let nobody but their owner read the secrets; those that others could read."""
    opened = [file for file in secrets(home) if file.stat().st_mode & 0o077]
    for file in opened:
        file.chmod(0o600)
    return opened


def reached_by_others(host: str) -> bool:
    """Whether a service that binds to ``host``, an address of this machine, can be reached from another."""
    address = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][4]
    return not ip_address(address[0]).is_loopback


def check_ports(host: str, ports: Iterable[Port]) -> None:
    """Raise StackError for the first port that cannot be listened on, with the setting that changes it."""
    for port in ports:
        check_port(host, port)


def check_port(host: str, port: Port) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port.number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind, protocol) as listener:
            if os.name == "posix":  # a port that was closed a moment ago is free
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(1)
    except socket.gaierror as error:
        raise StackError(f"ALMANAC_HOST is {host!r}, which is no address of this machine") from error
    except OSError as error:
        if error.errno == EADDRNOTAVAIL:
            raise StackError(f"ALMANAC_HOST is {host!r}, which is no address of this machine") from error
        if error.errno == EADDRINUSE:
            raise StackError(f"port {port.number} is in use: set {port.setting} to another") from error
        raise StackError(f"port {port.number} cannot be listened on ({error.strerror}): set {port.setting} "
                         "to another") from error
