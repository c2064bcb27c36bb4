"""What a file is by its bytes, whatever was declared."""

import re
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile, ZipFile

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODT = "application/vnd.oasis.opendocument.text"
EPUB = "application/epub+zip"
PDF, ZIP, TEXT, OLE = "application/pdf", "application/zip", "text/plain", "application/x-ole-storage"
OFFICE = frozenset({DOCX, PPTX, XLSX})
UNKNOWN = "application/octet-stream"

PARTS = {"word/document.xml": DOCX, "ppt/presentation.xml": PPTX, "xl/workbook.xml": XLSX}
NAMED_INSIDE = frozenset({ODT, EPUB, "application/vnd.oasis.opendocument.spreadsheet",
                          "application/vnd.oasis.opendocument.presentation"})
SIGNATURES: Mapping[bytes, str] = {
    b"%PDF-": PDF,
    b"PK\x03\x04": ZIP,
    b"PK\x05\x06": ZIP,
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": OLE,
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
    b"OggS": "audio/ogg",
    b"ID3": "audio/mpeg",
    b"fLaC": "audio/flac",
    b"\x1aE\xdf\xa3": "video/x-matroska",
    b"{\\rtf": "application/rtf",
    b"\x1f\x8b": "application/gzip",
    b"BZh": "application/x-bzip2",
    b"\xfd7zXZ\0": "application/x-xz",
    b"7z\xbc\xaf\x27\x1c": "application/x-7z-compressed",
    b"Rar!\x1a\x07": "application/vnd.rar",
    b"\x28\xb5\x2f\xfd": "application/zstd",
    b"MSCF": "application/vnd.ms-cab-compressed",
    b"\x7fELF": "application/x-executable",
    b"MZ": "application/x-msdownload",
}
ZIPPED = frozenset({*PARTS.values(), *NAMED_INSIDE})
WITHIN_OLE = frozenset({
    "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
    "application/vnd.ms-outlook",
})
CERTAIN = frozenset({*SIGNATURES.values(), *ZIPPED})  # types that their bytes always show
ALIASES = {
    "application/x-pdf": PDF, "application/x-zip-compressed": ZIP, "application/x-gzip": "application/gzip",
    "image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "text/rtf": "application/rtf",
    "application/x-rar-compressed": "application/vnd.rar", "video/webm": "video/x-matroska",
    "application/ogg": "audio/ogg", "video/ogg": "audio/ogg",
}
TEXTUAL = re.compile(r"text/(?!rtf)|application/(?:json|xml|xhtml\+xml|javascript|x-yaml|.*\+(?:json|xml))$")
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
HEAD, TAIL = 4096, 65_557  # the last holds the end of a zip archive (its comment has 65,535 bytes at most)
END_OF_ZIP = b"PK\x05\x06"
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the stream of an office file under a password


def is_textual(media_type: str) -> bool:
    """Whether it is a type of text, which no scanner has to see."""
    return bool(TEXTUAL.match(media_type))


def type_of(path: Path) -> str:
    """The media type that the bytes show; ``UNKNOWN`` for binary data of no kind that we know."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    for signature, media_type in SIGNATURES.items():
        if head.startswith(signature):
            return type_of_archive(path) if media_type == ZIP else media_type
    return TEXT if head.startswith(MARKS) or not CONTROLS.search(head) else UNKNOWN


def type_of_archive(path: Path) -> str:
    """Office files, books and open documents are zip archives that hold certain members."""
    try:
        with ZipFile(path) as archive:
            names = set(archive.namelist())
            if "[Content_Types].xml" in names:
                return next((found for part, found in PARTS.items() if part in names), ZIP)
            if "mimetype" in names and archive.getinfo("mimetype").file_size <= HEAD:
                inside = archive.read("mimetype").decode(errors="replace").strip()
                return inside if inside in NAMED_INSIDE else ZIP
    except (BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError):
        return ZIP  # tasks.extract.archives says what is wrong with it
    return ZIP


def has_archive(path: Path) -> bool:
    """Whether a zip archive ends where the file ends, whatever the file begins with."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - TAIL))
        return END_OF_ZIP in file.read()


def is_locked_office(path: Path) -> bool:
    return ENCRYPTED in path.read_bytes()


def agreed(declared: str, shown: str) -> str | None:
    """The type to go by; none where the bytes contradict what was declared."""
    declared = ALIASES.get(declared, declared)
    if declared in {"", UNKNOWN, shown} or (declared == ZIP and shown in ZIPPED):
        return shown
    if declared in WITHIN_OLE:
        return declared if shown == OLE else None
    if declared in CERTAIN:
        return None
    plain = shown == TEXT or (shown == UNKNOWN and not is_textual(declared))
    return declared if plain else None
