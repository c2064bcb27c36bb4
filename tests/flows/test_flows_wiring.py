"""The library of a process: made of adapters, each once and only when it is asked for."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import sleep

import pytest

from almanac.settings import Settings
from almanac.wiring import Library, Once
from tasks.errors import Transient
from tasks.web import chromium


class Counting:
    """Something that takes a while to make, and counts how often it was."""

    made = 0

    @Once
    def slow(self) -> int:
        sleep(0.05)
        self.made += 1
        return self.made

    @Once
    def broken(self) -> int:
        self.made += 1
        raise OSError("not today")


def test_threads_that_ask_at_once_get_the_one_that_was_made() -> None:
    counting, together = Counting(), Barrier(8)

    def ask(_: int) -> int:
        together.wait()
        return counting.slow

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask, range(8))) == {1}


def test_what_could_not_be_made_is_tried_again() -> None:
    counting = Counting()
    for times in (1, 2):
        with pytest.raises(OSError, match="not today"):
            _ = counting.broken
        assert counting.made == times


def test_a_library_without_a_database_says_what_to_do(home: Path) -> None:
    with pytest.raises(ValueError, match=r"ALMANAC_DATABASE_URL .*almanac up"):
        _ = Library(Settings(home=home)).db


def test_the_settings_say_who_analyses(home: Path) -> None:
    chosen = Settings(home=home), Settings(home=home, llm_url="http://127.0.0.1:9/v1", llm_model="tide-7b")
    names = []
    for library in map(Library, chosen):
        library.__dict__["_embedder"] = object()  # as if it were made: loading it takes seconds
        assert library.analyser is library.analyser
        names.append(library.analyser.name)
    assert names == ["built-in 1", "tide-7b, prompt 1"]


def test_closing_a_library_of_which_nothing_was_used_opens_nothing(home: Path) -> None:
    Library(Settings(home=home)).close()
    assert not home.exists()


@pytest.mark.parametrize(("wanted", "there"), [("off", True), ("auto", False)])
def test_a_library_without_a_browser_renders_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, there: bool
) -> None:
    monkeypatch.setattr(chromium, "found", lambda: "/usr/bin/chromium" if there else None)
    assert Library(Settings(home=home, browser=wanted)).renderer is None


@pytest.mark.parametrize("wanted", ["auto", "ws://browser:3000/"])
def test_a_library_with_a_browser_has_one_for_all_and_closes_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setattr(chromium, "found", lambda: "/usr/bin/chromium")
    library = Library(Settings(home=home, browser=wanted))
    assert library.renderer is library.renderer is not None
    library.close()
    with pytest.raises(Transient, match="the browser is being stopped"):
        asyncio.run(library.renderer.render("http://a.example/"))
