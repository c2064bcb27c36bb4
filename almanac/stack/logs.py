"""Log files of the parts: appended to, cut when they are large, and their last words."""

import asyncio
import os
import re
import shutil
from itertools import chain
from pathlib import Path
from typing import BinaryIO

LARGEST = 10_000_000  # bytes of one log; one older piece is kept beside it
TAIL = 8_000
LABEL = re.compile(r"\S+ \S+ (?:CRITICAL|ERROR|WARNING|INFO|DEBUG) [\w.]+: ")  # as log_plainly has it
GRAVE = re.compile(r"\bCRITICAL\b")
CHATTER = re.compile(r"\b(?:INFO|DEBUG|LOG|DETAIL|HINT)\b")
PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]*@")


def open_log(path: Path) -> BinaryIO:
    """Opened to append, readable by its owner only. What is written goes to the end even after a cut."""
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))


def rotate(path: Path, largest: int = LARGEST) -> None:
    """Move what a large log holds to ``NAME.log.1``; its writers go on with the same file."""
    if path.exists() and path.stat().st_size > largest:
        shutil.copyfile(path, path.with_name(path.name + ".1"))
        os.truncate(path, 0)


async def rotate_all(folder: Path, seconds: float = 60.0) -> None:
    """Keep the logs in a folder from growing without end, for as long as it is awaited."""
    while True:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(rotate_logs, folder)


def rotate_logs(folder: Path) -> None:
    for path in folder.glob("*.log"):
        rotate(path)


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def last_words(path: Path, since: int = 0) -> str:
    """What a log ends with, without passwords: one line of those that were written after byte ``since``.

    The last that says why there is no going on; else the last that is more than chatter; else the last.
    """
    if not path.exists():
        return ""
    with path.open("rb") as log:
        end = log.seek(0, os.SEEK_END)
        log.seek(max(since if since <= end else 0, end - TAIL))
        text = log.read().decode(errors="replace")
    lines = [line.strip() for line in reversed(text.splitlines()) if line.strip()]
    grave = (line for line in lines if GRAVE.search(line))
    telling = (line for line in lines if not CHATTER.search(line))
    return PASSWORD.sub(r"\1***@", LABEL.sub("", next(chain(grave, telling, lines), ""), 1))
