"""Subscriptions, tags and headers on the command line."""

from pathlib import Path
from typing import Any

import pytest
from household import Household
from small_library import FEED, SITE

from almanac.cli import preview

pytestmark = pytest.mark.database
SECRET = "tok_TESTONLY_9f3a"


def opml(*entries: str) -> str:
    return f"<opml><body>{''.join(entries)}</body></opml>"


def test_a_file_is_imported_and_each_wrong_entry_is_a_line(almanac: Any, tmp_path: Path) -> None:
    file = tmp_path / "feeds.opml"
    file.write_text(opml(f'<outline text="Sea"><outline text="Site" xmlUrl="{FEED}"/></outline>',
                         '<outline text="Bad" xmlUrl="x:y"/>'))
    said = almanac("source", "import", str(file))
    assert said.status == 0
    first, refused = said.out.splitlines()
    assert (first, refused.startswith("refused  Bad: ")) == ("1 added, 0 known, 1 refused", True)
    exported = almanac("source", "export")
    assert (exported.status, exported.out.startswith("<?xml"), FEED in exported.out) == (0, True, True)
    assert "1 known" in almanac("source", "import", str(file)).out


@pytest.mark.parametrize(("content", "status"), [
    (None, 2), ("not an OPML", 2), (opml('<outline text="Bad" xmlUrl="x:y"/>'), 1), ("x" * 1_000_001, 2)])
def test_a_file_that_cannot_be_imported_is_a_line(
    almanac: Any, tmp_path: Path, content: str | None, status: int
) -> None:
    file = tmp_path / "feeds.opml"
    if content is not None:
        file.write_text(content)
    said = almanac("source", "import", str(file))
    assert (said.status, len(said.err.splitlines())) == (status, 1)


def test_headers_are_shown_by_name_and_set_anew(almanac: Any, household: Household) -> None:
    source = almanac.json("source", "add", FEED, "--header", f"X-Key: {SECRET}", "--tag", "Sea", "--no-wait")
    assert (source["headers"], source["tags"]) == (["x-key"], ["Sea"])
    shown = almanac("source", "show", source["id"])
    assert "asked with" in shown.out
    assert SECRET not in shown.out + almanac("source", "list").out
    assert almanac.json("source", "headers", source["id"], "--header", "Cookie: a=b")["headers"] == ["cookie"]
    assert almanac.json("source", "headers", source["id"])["headers"] == []


@pytest.mark.parametrize(
    "header", [SECRET, f"X-Key {SECRET}", f"X Key: {SECRET}", f"Host: {SECRET}", f": {SECRET}"])
def test_a_wrong_header_is_refused_without_being_repeated(alone: Any, header: str) -> None:
    said = alone("source", "add", FEED, "--header", header)
    assert (said.status, SECRET in said.err + said.out, len(said.err.splitlines())) == (2, False, 1)


def test_a_zone_that_is_none_is_refused(alone: Any) -> None:
    said = alone("source", "add", FEED, "--cron", "0 7 * * *", "--zone", "Mars/North")
    assert (said.status, "no time zone" in said.err) == (2, True)


def test_without_somebody_to_ask_the_best_is_taken(almanac: Any, household: Household) -> None:
    household.library.fetcher.pages[f"{SITE}/"] = "Front page\nHello"
    assert almanac.json("source", "add", f"{SITE}/", "--no-wait")["url"] == FEED


def test_somebody_at_a_terminal_is_shown_what_there_is_and_chooses(
    almanac: Any, household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = {"kind": "feed", "url": f"{SITE}/other", "name": "Other", "offered": 9, "others": [
        {"kind": "feed", "url": FEED, "name": "Site", "offered": 3}]}
    monkeypatch.setattr("almanac.client.Client.preview_source", lambda *_, **__: offers)
    monkeypatch.setattr("almanac.cli.source.someone_asked", lambda: True)
    monkeypatch.setattr(preview.typer, "prompt", lambda *_, **__: 2)
    said = almanac("source", "add", f"{SITE}/", "--no-wait")
    assert (said.status, FEED in said.out, "Other" in said.err) == (0, True, True)
    monkeypatch.setattr(preview.typer, "prompt", lambda *_, **__: 7)
    assert almanac("source", "add", f"{SITE}/", "--no-wait").status == 2
