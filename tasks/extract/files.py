"""The jailed look at a file before it is kept: what it is, and whether it may be let in."""

from pathlib import Path
from typing import Any

from tasks.errors import Permanent
from tasks.extract import archives
from tasks.extract.types import OFFICE, OLE, agreed, has_archive, is_locked_office, is_textual, type_of


def parse(body: bytes, path: str, declared: str, most_file: int, most_total: int) -> dict[str, Any]:
    """``{"media_type": …, "textual": …}`` of the file at ``path``; ``body`` is empty, since files are large.

    Raises Permanent where its bytes contradict what was ``declared``, and for an archive not to be trusted.
    """
    file = Path(path)
    shown = type_of(file)
    if shown == OLE and declared in OFFICE and is_locked_office(file):
        return {"media_type": declared, "textual": False}
    archives.check(file, most_file, most_total)
    if not is_archive(file) and has_archive(file):
        raise Permanent(f"it is {shown} and a zip archive at once")
    media_type = agreed(declared, shown)
    if media_type is None:
        raise Permanent(f"it was declared as {declared[:100]}, but its bytes are {shown}")
    return {"media_type": media_type, "textual": is_textual(media_type)}


def is_archive(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(2) == b"PK"
