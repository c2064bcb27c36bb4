"""Files before they are kept: each its verdict, whatever it says of itself."""

from pathlib import Path
from typing import Any

import made_files as made
import pytest

from tasks.errors import Permanent
from tasks.extract import files
from tasks.extract.types import DOCX, EPUB, ODT, PDF, PPTX, XLSX, ZIP

MB = 1_000_000
PLAIN_ZIP = made.archive({"a/b.txt": b"words"})


def look(tmp_path: Path, body: bytes, declared: str) -> Any:
    """The verdict, where the scanner looks at 5 MB of a file and at 9 MB of an archive."""
    file = tmp_path / "file"
    file.write_bytes(body)
    return files.parse(b"", str(file), declared, 5 * MB, 9 * MB)["media_type"]


def named(value: object) -> str:
    """In the names of tests: bytes are long, and those of archives are never twice the same."""
    return "bytes" if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize(("body", "declared", "shown"), [
    (made.report(), PDF, PDF),
    (made.report(), "application/x-pdf", PDF),
    (made.report(), "application/octet-stream", PDF),
    (made.docx(), DOCX, DOCX),
    (made.pptx(), PPTX, PPTX),
    (made.xlsx(), XLSX, XLSX),
    (made.odt(), ODT, ODT),
    (made.epub(), EPUB, EPUB),
    (made.docx(), ZIP, DOCX),
    (PLAIN_ZIP, ZIP, ZIP),
    (made.gzipped(b"words"), "application/gzip", "application/gzip"),
    (made.bzipped(b"words"), "application/x-bzip2", "application/x-bzip2"),
    (made.HTML, "text/html", "text/html"),
    (made.CSV, "text/csv", "text/csv"),
    (made.MARKDOWN, "text/markdown", "text/markdown"),
    (b"\xff\xfeh\0i\0", "text/plain", "text/plain"),
    (b"{}", "application/json", "application/json"),
    (b"\\section{x}", "application/x-tex", "application/x-tex"),
    (made.PNG, "image/png", "image/png"),
    (b"\0\0\0 ftypmp42", "video/mp4", "video/mp4"),
    (made.locked_office(), DOCX, DOCX),
], ids=named)
def test_a_file_is_what_it_was_declared_to_be(
    tmp_path: Path, body: bytes, declared: str, shown: str
) -> None:
    assert look(tmp_path, body, declared) == shown


@pytest.mark.parametrize(("body", "declared"), [
    (made.HTML, PDF),
    (made.report(), "text/plain"),
    (made.report(), DOCX),
    (PLAIN_ZIP, DOCX),
    (made.docx(), XLSX),
    (made.docx(), "text/markdown"),
    (made.PNG, "image/jpeg"),
    (made.PNG, "application/x-unheard-of"),
    (b"MZ" + bytes(100), "text/plain"),
    (b"\x7fELF" + bytes(100), PDF),
    (bytes(100), "text/plain"),
    (bytes(100), PDF),
    (b"words", "image/png"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), DOCX),
], ids=named)
def test_bytes_that_contradict_their_type_are_refused(tmp_path: Path, body: bytes, declared: str) -> None:
    with pytest.raises(Permanent, match=r"it was declared as .*, but its bytes are"):
        look(tmp_path, body, declared)


@pytest.mark.parametrize(("body", "declared", "reason"), [
    (made.archive({"zeros": bytes(6 * MB)}), ZIP, "larger than 5,000,000 bytes"),
    (made.archive({f"zeros{n}": bytes(3 * MB) for n in range(4)}), ZIP, "holds more than the scanner"),
    (made.archive({"a.zip": made.archive({"zeros": bytes(6 * MB)})}), ZIP, "larger than 5,000,000 bytes"),
    (made.archive({"a.gz": made.gzipped(bytes(6 * MB))}), ZIP, "larger than 5,000,000 bytes"),
    (made.gzipped(bytes(6 * MB)), "application/gzip", "larger than 5,000,000 bytes"),
    (made.bzipped(bytes(6 * MB)), "application/x-bzip2", "larger than 5,000,000 bytes"),
    (made.lying(10, b"x" * 6 * MB), ZIP, "larger than 5,000,000 bytes"),
    (made.lying(10, b"x" * 1000), ZIP, "not as large as the archive says"),
    (made.overlapping(), ZIP, "overlap"),
    (made.archive({"../../etc/passwd": b"x"}), ZIP, "leads out of it"),
    (made.archive({"/etc/passwd": b"x"}), ZIP, "leads out of it"),
    (made.archive({"a/..\\..\\b": b"x"}), ZIP, "leads out of it"),
    (made.archive({"C:\\x": b"x"}), ZIP, "leads out of it"),
    (made.nested(6), ZIP, "nested more than 4 deep"),
    (made.locked(), ZIP, "locked with a password"),
    (PLAIN_ZIP[:-40], ZIP, "broken"),
    (PLAIN_ZIP.replace(b"PK\x03\x04", b"PK\x03\x05", 1), ZIP, "but its bytes are|broken"),
    (made.archive({"a.7z": b"7z\xbc\xaf\x27\x1c" + bytes(20)}), ZIP, "7z archive"),
    (b"Rar!\x1a\x07" + bytes(20), "application/vnd.rar", "RAR archive"),
    (made.report() + PLAIN_ZIP, PDF, "and a zip archive at once"),
    (made.PNG + PLAIN_ZIP, "image/png", "and a zip archive at once"),
    (made.HTML + PLAIN_ZIP, "text/html", "and a zip archive at once"),
    (made.docx()[:-22] + bytes(22), DOCX, "broken"),
], ids=named)
def test_what_lies_or_hides_is_refused_with_its_own_reason(
    tmp_path: Path, body: bytes, declared: str, reason: str
) -> None:
    with pytest.raises(Permanent, match=reason):
        look(tmp_path, body, declared)


def test_an_archive_of_more_files_than_anybody_opens_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="more than 10,000 files"):
        look(tmp_path, made.archive({str(n): b"" for n in range(10_001)}), ZIP)
