"""The library of a process: made of adapters, each once and only when it is asked for."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import sleep
from types import SimpleNamespace

import pytest
from small_library import Hashes

from almanac.settings import Settings
from almanac.wiring import Library, Once
from models.session import Database
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
        library.__dict__["_searched"] = SimpleNamespace(embedder=object())  # as if it were made
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


@pytest.mark.database
def test_a_library_lets_another_collection_answer_and_removes_the_old_one(db: Database, home: Path) -> None:
    library = Library(Settings(home=home))
    library.db, library.bundled = db, Hashes()
    old = library.searched
    assert (library.embedder.name, library.index.count(), library.is_outdated) == ("hashes", 0, False)
    with library.successor() as begun:
        assert begun.index.count() == 0
    assert library.is_outdated  # a rebuild that was killed goes on at the next start
    with library.successor() as new:
        assert new.row.name == begun.row.name
        with new.filling() as index:
            assert index.count() == 0
        assert new.index.count() == 0
        library.adopt(new)
    assert (library.searched, library.index, library.is_outdated) == (new, new.index, False)
    assert old.index.count() == 0  # for a question that is under way
    library.let_go()
    assert [it.name for it in (home / "index").iterdir()] == [new.row.name]
    library.close()
    again = Library(Settings(home=home))
    again.db, again.bundled = db, Hashes()
    assert again.searched.row.name == new.row.name
    again.close()


@pytest.mark.database
def test_another_model_in_the_settings_does_not_answer_before_its_collection_is_full(
    db: Database, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Library(Settings(home=home))
    first.db, first.bundled = db, Hashes()
    assert first.index.count() == 0
    first.close()
    library = Library(Settings(home=home, embeddings_url="http://tei/v1", embeddings_model="bge"))
    library.db, library.bundled, served = db, Hashes(), Hashes()
    served.name, served.dimensions = "bge", 8
    monkeypatch.setattr(library, "served", lambda *_: served)
    assert (library.embedder.name, library.is_outdated) == ("hashes", True)
    with library.successor() as new:
        library.adopt(new)
    assert (library.embedder, library.searched.row.address) == (served, "http://tei/v1")
    assert (library.searched.row.dimensions, library.is_outdated) == (8, False)
    library.close()
