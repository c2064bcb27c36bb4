"""The master key of the vault: in ``keys/master.key`` of the data folder, or in ``ALMANAC_MASTER_KEY``.

Either may hold several: the first seals, the others open what they have sealed until that is sealed anew.
"""

import os
import tempfile
from fcntl import LOCK_EX, flock
from pathlib import Path

from models.sealing import KeyLost, KeyRing, keys_of, new_key, written


class MasterKeys:
    """Where the keys are. Implements ``tasks.ports.Keys``; each call looks at the file anew."""

    def __init__(self, file: Path, given: str | None = None) -> None:
        self._file, self._given = file, given

    @property
    def are_given(self) -> bool:
        return self._given is not None

    def __call__(self) -> KeyRing:
        """The keys there are. Raises KeyLost where the file holds none, or cannot be read."""
        return KeyRing([*keys_of(self._given or ""), *self._kept()] if self._given else self._kept())

    def make(self) -> None:
        """Make the first key, unless there is one."""
        if not self._given and not self._kept():
            self._write([new_key()])

    def add(self) -> None:
        """Begin a rotation: a new key in front of the others; the last one's, where it was not ended."""
        if len(kept := self._kept()) < 2:
            self._write([new_key(), *kept])

    def drop_old(self) -> None:
        """End a rotation: nothing is sealed any more under a key but the first."""
        if len(kept := self._kept()) > 1:
            self._write(kept[:1])

    def _kept(self) -> list[bytes]:
        try:
            text = self._file.read_bytes().decode("ascii").strip()
            return keys_of(text) if text else []
        except FileNotFoundError:
            return []
        except OSError as error:
            raise KeyLost(f"{self._file} cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise KeyLost(f"{self._file} holds no master key") from error

    def _write(self, keys: list[bytes]) -> None:
        """Whole or not at all, on the disk before anything is sealed under it, its owner's alone."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            flock(folder, LOCK_EX)
            handle, draft = tempfile.mkstemp(dir=self._file.parent, prefix=f"{self._file.name}.")  # mode 0600
            with os.fdopen(handle, "w") as file:
                file.write("".join(f"{written(key)}\n" for key in keys))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self._file)
            os.fsync(folder)
        finally:
            os.close(folder)
