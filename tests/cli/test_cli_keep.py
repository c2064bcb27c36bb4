"""``almanac keep``: texts, addresses and files from the command line."""

import asyncio
import hashlib
import io
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from household import TOKEN, Household
from small_library import SITE

pytestmark = pytest.mark.database

NOTE = "# The mole\n\nThe mole at Cape Verren was lengthened in 1931."


def test_a_text_is_kept_and_answers(almanac: Any) -> None:
    kept = almanac.json("keep", "--text", NOTE, "--title", "On the mole")
    assert (kept["outcome"], kept["created"], kept["state"]) == ("inserted", True, "indexed")
    found = almanac("search", "mole lengthened 1931")
    assert "On the mole" in found.out
    again = almanac("keep", "--text", NOTE)
    assert again.status == 0
    assert "unchanged" in again.out


def test_a_text_may_come_from_stdin(almanac: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(NOTE))
    assert almanac.json("keep", "--text", "-")["title"] == "The mole"


def test_a_file_is_uploaded_and_converted(almanac: Any, household: Household, tmp_path: Path) -> None:
    file = tmp_path / "quay.txt"
    file.write_text("The quay of Almaden\nIts cranes were sold in 1950.")
    kept = almanac.json("keep", "--file", str(file), "--about", "from the attic")
    assert (kept["outcome"], kept["state"], kept["file"]["state"]) == ("inserted", "indexed", "ready")
    assert almanac.json("keep", "--file", str(file))["outcome"] == "unchanged"


def test_what_is_at_an_address_is_kept(almanac: Any) -> None:
    kept = almanac.json("keep", "--uri", f"{SITE}/owls", "--preserve-source", "--expires-at", "2099-01-01")
    assert (kept["state"], kept["url"], kept["file"]["preserve"]) == ("indexed", f"{SITE}/owls", True)
    assert kept["expires_at"] == "2099-01-01T00:00:00+00:00"


async def test_half_an_upload_over_the_wire_may_be_tried_again(served: int, household: Household) -> None:
    body = b"The quay of Almaden\nIts cranes were sold in 1950."
    upload = {"name": "quay.txt", "media_type": "text/plain", "size": len(body),
              "sha256": hashlib.sha256(body).hexdigest()}
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{served}", trust_env=False, headers={"Authorization": f"Bearer {TOKEN}"}
    ) as api:
        url = (await api.post("/v1/keep", json={"upload": upload})).json()["upload"]["url"]
        _, writer = await asyncio.open_connection("127.0.0.1", served)
        writer.write(f"PUT {urlsplit(url).path} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:20])
        await writer.drain()
        await asyncio.sleep(0.3)  # so that it is taken, half
        assert (await api.put(url, content=body)).status_code == 404
        writer.close()
        for _ in range(100):
            if (answer := await api.put(url, content=body)).status_code == 200:
                break
            await asyncio.sleep(0.05)
    assert answer.json()["created"]
    household.runs.join()  # which convert it, in the same folder
    assert list(household.library.doors.folder.iterdir()) == []


@pytest.mark.parametrize(("words", "reason"), [
    ((), "nothing to keep"),
    (("--title", "x"), "nothing to keep"),
    (("--text", "x", "--expires-at", "tomorrow"), "“tomorrow” is no time"),
    (("--text", "x", "--preserve-source"), "give the uri"),
    (("--uri", "http://site.example/owls"), "Only https"),
    (("--text", "x", "--scope", "secret"), "may not write into “secret”"),
    (("--file", "nowhere.txt"), "nowhere.txt is no file"),
])
def test_what_cannot_be_kept_is_said_in_one_line(almanac: Any, words: tuple[str, ...], reason: str) -> None:
    said = almanac("keep", *words)
    assert said.status in {1, 2}
    assert reason in said.err
    assert said.err.count("\n") == 1


def test_several_files_are_kept_one_after_the_other(almanac: Any, tmp_path: Path) -> None:
    one, two, empty = (tmp_path / name for name in ("one.txt", "two.txt", "empty.txt"))
    one.write_text("The quay of Almaden.")
    two.write_text("The mole at Cape Verren.")
    empty.write_text("")
    done = almanac.json("keep", "--file", str(one), "--file", str(two))
    assert [(it["outcome"], it["file"]) for it in done["kept"]] == [
        ("inserted", str(one)), ("inserted", str(two))]
    again = almanac("keep", "--file", str(one), "--file", str(empty))
    assert (again.status, again.out) == (1, "")
    assert str(empty) in again.err
    assert "1 of 2 are kept" in again.err
    assert almanac("keep", "--file", str(one), "--file", str(two), "--title", "T").status == 2
    assert almanac("keep", "--file", str(one), "--file", str(tmp_path)).status == 2
