"""Almanac's own documentation, offered like a web site."""

from pathlib import Path
from typing import Any

import pytest

from models.states import PollOutcome
from tasks.discover.documentation import LISTING, Shelf
from tasks.discover.kinds import documentation
from tasks.discover.offers import Look
from tasks.errors import Permanent
from tasks.ports import Validators, Wanted


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("intro\n\n# Almanac\n\nA library.\n")
    (tmp_path / "GLOSSARY.md").write_text("no heading")
    (tmp_path / "notes.txt").write_text("not for readers")
    return tmp_path


async def test_a_file_is_markdown_and_answers_304_to_its_own_etag(folder: Path) -> None:
    shelf = Shelf(folder)
    first = await shelf.fetch("almanac:README.md", Wanted.PAGE)
    assert (first.status, first.media_type) == (200, "text/markdown")
    assert first.body == (folder / "README.md").read_bytes()
    assert (await shelf.fetch("almanac:README.md", Wanted.PAGE, first.validators)).not_modified
    (folder / "README.md").write_text("# Almanac\n\nA larger library.\n")
    assert not (await shelf.fetch("almanac:README.md", Wanted.PAGE, first.validators)).not_modified


@pytest.mark.parametrize("name", ["notes.txt", "../secret.md", "missing.md", ""])
async def test_only_the_markdown_files_of_the_folder_are_on_the_shelf(folder: Path, name: str) -> None:
    (folder.parent / "secret.md").write_text("secret")
    with pytest.raises(Permanent, match="documentation"):
        await Shelf(folder).fetch(f"almanac:{name}", Wanted.PAGE)


async def test_other_addresses_are_handed_on_with_their_validators(folder: Path, web: Any) -> None:
    web.put("https://tide.example/", "<p>x", etag='"1"')
    fetched = await Shelf(folder, beyond=web).fetch("https://tide.example/", Wanted.PAGE, Validators('"1"'))
    assert fetched.not_modified
    with pytest.raises(Permanent, match="not on the shelf"):
        await Shelf(folder).fetch("https://tide.example/", Wanted.PAGE)


async def test_each_file_is_an_item_that_changes_with_its_text(folder: Path, parsers: Any) -> None:
    shelf = Shelf(folder)
    before = await documentation.discover(shelf, parsers, Look(LISTING))
    assert [(item.url, item.title) for item in before.items] == [
        ("almanac:GLOSSARY.md", "GLOSSARY.md"), ("almanac:README.md", "Almanac"),
    ]
    known = Look(LISTING, before.validators or Validators(), before.body_hash)
    assert (await documentation.discover(shelf, parsers, known)).outcome is PollOutcome.UNCHANGED
    (folder / "README.md").write_text("# Almanac\n\nA larger library.\n")
    after = await documentation.discover(shelf, parsers, known)
    changed = [new.url for old, new in zip(before.items, after.items, strict=True) if old != new]
    assert changed == ["almanac:README.md"]
