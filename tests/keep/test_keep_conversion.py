"""Files to documents, by the real converters in their jail: plain ones and those that cannot be read."""

from collections.abc import Iterator
from pathlib import Path

import made_files as made
import pytest

from almanac.wiring import CONVERSION, CONVERTERS
from models.blocks import BlockKind
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.jail import Jail
from tasks.extract.types import DOCX, EPUB, ODT, PDF, PPTX, XLSX
from tasks.keep.converter import Jailed
from tasks.ports import Original


@pytest.fixture(scope="module")
def conversion() -> Iterator[Jail]:
    limits = CONVERSION | {"cpu_seconds": 20, "wall_seconds": 40.0, "memory_bytes": 2_000_000_000}
    jail = Jail(CONVERTERS, **limits)
    yield jail
    jail.close()


async def convert(
    conversion: Jail, tmp_path: Path, body: bytes, media_type: str, url: str | None = None
) -> Extracted:
    file = tmp_path / "file"
    file.write_bytes(body)
    return await Jailed(conversion).convert(Original(file, "file", media_type, None, url))


@pytest.mark.parametrize(("body", "media_type"), [
    (made.docx(), DOCX), (made.pptx(), PPTX), (made.odt(), ODT), (made.epub(), EPUB),
    (made.HTML, "text/html"), (made.MARKDOWN, "text/markdown"),
], ids=lambda value: "bytes" if isinstance(value, bytes) else value)
async def test_what_people_write_is_read(
    conversion: Jail, tmp_path: Path, body: bytes, media_type: str
) -> None:
    read = await convert(conversion, tmp_path, body, media_type)
    assert read.title == "Harbour report"
    assert read.blocks[0].kind is BlockKind.HEADING
    assert made.WORDS in [block.text for block in read.blocks]


@pytest.mark.parametrize(("body", "media_type"), [(made.xlsx(), XLSX), (made.CSV, "text/csv")],
                         ids=["a sheet", "lines"])
async def test_tables_stay_tables(conversion: Jail, tmp_path: Path, body: bytes, media_type: str) -> None:
    [table] = (await convert(conversion, tmp_path, body, media_type)).blocks
    assert (table.kind, table.header_rows) == (BlockKind.TABLE, 1)
    assert table.text == f"Month | Remark\nMay | {made.WORDS}"


async def test_a_document_keeps_its_headings_lists_and_tables(conversion: Jail, tmp_path: Path) -> None:
    read = await convert(conversion, tmp_path, made.docx(), DOCX)
    assert [(block.kind.value, block.text, block.level) for block in read.blocks] == [
        ("heading", "Harbour report", 1), ("heading", "Tides", 2), ("paragraph", made.WORDS, 0),
        ("list_item", "the mole", 1), ("table", "Month | Metres\nMay | 4.2", 0)]


async def test_a_pdf_has_headings_by_their_size_and_no_running_titles(
    conversion: Jail, tmp_path: Path
) -> None:
    read = await convert(conversion, tmp_path, made.report(), PDF)
    assert [(block.kind.value, block.text, block.level) for block in read.blocks[:5]] == [
        ("heading", "Tides at the pier", 1),
        ("paragraph", "The pier floods at spring tide, and the quay is under water for an hour twice a day, "
                      "so the ferry leaves from the mole.", 0),
        ("paragraph", "Nobody was hurt.", 0),
        ("heading", "Outlook", 2),
        ("paragraph", "A wall will be built next year.", 0),
    ]
    assert not any("yearly report" in block.text for block in read.blocks)


async def test_a_page_of_the_web_is_read_as_one(conversion: Jail, tmp_path: Path) -> None:
    menu = b"<nav><a href=/>Home</a><a href=/x>Imprint</a></nav>"
    article = b"<article><h1>Tides</h1><p>%s</p></article>" % (made.WORDS.encode() * 8)
    body = b"<!doctype html><html><body>%s%s</body></html>" % (menu, article)
    read = await convert(conversion, tmp_path, body, "text/html", "https://h.example/tides")
    assert "Imprint" not in " ".join(block.text for block in read.blocks)


UNREADABLE = [
    (made.pdf([[("", 11)]]), PDF, "no text layer"),
    (made.pdf([[("\x01\x02\x03\x04\x05\x06\x07\x0e\x0f\x10" * 20, 11)]]), PDF, "garbled|no text layer"),
    (made.pdf([[("secret words of this page, as long as need be", 11)]], encrypted=True), PDF, "password"),
    (b"%PDF-1.7\nnothing of a PDF", PDF, "broken"),
    (made.locked_office(), DOCX, "locked with a password"),
    (made.archive({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"}), DOCX, "broken"),
    (made.PNG, "image/png", "it is a picture"),
    (b"ID3", "audio/mpeg", "files of the type audio/mpeg"),
    (b"<!-- -->", "text/markdown", "nothing to read"),
]


@pytest.mark.parametrize(("body", "media_type", "reason"), UNREADABLE,
                         ids=[reason for _, _, reason in UNREADABLE])
async def test_what_cannot_be_read_says_why(
    conversion: Jail, tmp_path: Path, body: bytes, media_type: str, reason: str
) -> None:
    with pytest.raises(Permanent, match=reason):
        await convert(conversion, tmp_path, body, media_type)


async def test_a_pdf_that_inflates_without_end_ends_the_jail_and_nothing_else(
    conversion: Jail, tmp_path: Path
) -> None:
    bomb = made.pdf_bomb()
    assert len(bomb) < 1_000_000
    with pytest.raises(Permanent, match=r"memory|crashed"):
        await convert(conversion, tmp_path, bomb, PDF)
    assert (await convert(conversion, tmp_path, made.report(), PDF)).blocks
