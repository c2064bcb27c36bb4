"""The folder of the embedded index: held by one process, and watched, since it may be removed at any time."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.errors import Transient

ROOM = 64_000_000  # bytes left on the disk: the engine maps its files, and would die of a full one
MEGABYTE = 1_000_000

Identity = tuple[int, int]


class Folder:
    """The files of ``shard-N``, where ``current`` holds the N in use, and ``lock`` who has them open."""

    def __init__(self, path: Path) -> None:
        """Make the folder where there is none, and hold it. Raises Transient while another process does."""
        self.path = path
        self._lock = hold(path / "lock")

    def shard(self, number: int) -> Path:
        return self.path / f"shard-{number}"

    @property
    def current(self) -> int:
        """The number of the shard in use; 1 where none is written down. Setting it is one step."""
        file = self.path / "current"
        text = file.read_text() if file.exists() else ""
        return int(text) if text.isdecimal() else 1

    @current.setter
    def current(self, number: int) -> None:
        new = self.path / "current.new"
        new.write_text(str(number))
        new.replace(self.path / "current")

    def hold_again(self) -> None:
        """Hold the folder that is there now. Raises Transient when it cannot be had."""
        if identity(self.path / "lock") != identity(self._lock):
            lock = hold(self.path / "lock")
            self.let_go()
            self._lock = lock

    def is_held(self) -> bool:
        """Whether what is there now is what this process holds."""
        return identity(self.path / "lock") == identity(self._lock)

    def let_go(self) -> None:
        os.close(self._lock)

    def require_room(self) -> None:
        """Raises Transient when the disk is full, or all but full."""
        with usable(self.path):
            free = shutil.disk_usage(self.path).free
        if free < ROOM:
            raise Transient(f"the disk of the index has {free // MEGABYTE} MB left and needs "
                            f"{ROOM // MEGABYTE}: make room")


def identity(place: Path | int) -> Identity | None:
    """Which file or folder this is, under whatever name; none where there is none."""
    try:
        found = os.stat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def hold(path: Path) -> int:
    """The lock file, locked until it is closed or this process ends. Raises Transient when it is taken."""
    with usable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(lock, 20).decode()
            os.close(lock)
            raise Transient(
                f"the index in {path.parent} is open in process {owner}: stop that first") from None
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        return lock


@contextmanager
def usable(folder: Path) -> Iterator[None]:
    """What the system refuses, as a Transient that says what to do about it."""
    try:
        yield
    except OSError as error:
        for place in (*reversed(folder.parents), folder):
            if place.exists() and not place.is_dir():
                raise Transient(f"the index cannot be kept in {folder}, since {place} is not a folder: "
                                "move it away") from error
        raise Transient(f"the index cannot be kept in {folder}: {(error.strerror or str(error)).lower()}"
                        ) from error
