"""Files on their way from one place to another."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def clear(folder: Path) -> None:
    """Remove what a process that was killed has left there."""
    for left in folder.iterdir():
        left.unlink(missing_ok=True)


@contextmanager
def temporary(folder: Path) -> Iterator[Path]:
    """A file that its owner alone can read (mode 0600), and that is gone at the end."""
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
