"""The jailed parser of kept files: by their type, each with the imports that it alone needs."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract import markdown, page
from tasks.extract.types import DOCX, EPUB, ODT, PDF, PPTX, XLSX, is_textual

WEB = ("text/html", "application/xhtml+xml")
READERS = {  # by media type: the module, whose ``convert`` gives ``Extracted``; docling takes seconds to load
    PDF: "tasks.extract.pdf",
    EPUB: "tasks.extract.book",
    **dict.fromkeys((DOCX, PPTX, XLSX, ODT, "text/csv"), "tasks.extract.office"),
    **dict.fromkeys(WEB, "tasks.extract.office"),
}
PICTURES = "it is a picture: no text is read from pictures here (ALMANAC_DOCLING_URL names what can)"


def prepare() -> None:
    page.prepare()


def parse(
    body: bytes, path: str, name: str, media_type: str, charset: str | None, url: str | None
) -> dict[str, Any]:
    """``Extracted`` as JSON of the file at ``path``; ``body`` is empty.

    Raises Permanent, with the reason, for what cannot be read: no reader, a password, no text, garbled text.
    """
    file = Path(path)
    if media_type in WEB and url:  # a page of the web is more than its article
        return page.parse(file.read_bytes(), url, media_type, charset)
    if media_type in READERS:
        convert: Callable[[Path, str], Extracted] = import_module(READERS[media_type]).convert
        return convert(file, media_type).to_json()
    if is_textual(media_type):
        return markdown.parse(file.read_bytes(), name, media_type, charset)
    if media_type.startswith("image/"):
        raise Permanent(PICTURES)
    raise Permanent(f"files of the type {media_type} cannot be read here")
