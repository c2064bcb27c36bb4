"""Secrets that Almanac makes itself and keeps in files of the data folder."""

import os
import secrets
import tempfile
from fcntl import LOCK_EX, flock
from pathlib import Path


def secret_file(path: Path) -> str:
    """The secret kept in ``path``, readable by its owner only.

    It is made, of 256 random bits, on first use, and in place of what no secret can be: nothing, or not one
    line of plain ASCII.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        flock(folder, LOCK_EX)  # one maker at a time; the kernel lets go of it however this ends
        if (kept := kept_secret(path)) is None:
            kept = secrets.token_urlsafe(32)
            handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # mode 0600
            with os.fdopen(handle, "w") as file:
                file.write(kept + "\n")
            os.replace(draft, path)  # whole or not at all
        return kept
    finally:
        os.close(folder)


def kept_secret(path: Path) -> str | None:
    try:
        kept = path.read_bytes().decode("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return kept if kept and kept.isprintable() else None
