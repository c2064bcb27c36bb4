"""The welcome: an empty library gets its first sources, whoever cannot be reached, and answers."""

import tomllib
from importlib.resources import files
from typing import Any

import pytest

from almanac.cli import welcome
from almanac.cli.failures import Failed
from almanac.cli.screen import screen
from almanac.client import ApiProblem, Starting
from almanac.settings import Settings
from models.addresses import check_address

UNREACHABLE = "the name does not resolve: is there a network?"
DOCUMENTATION = {"id": "own", "kind": "documentation", "documents": {"indexed": 4}, "unfinished": 0}
OWN = {"id": "feed", "kind": "feed", "documents": {}, "unfinished": 0}
CITATION = {"title": "README", "url": "about:README", "source": "Almanac", "published_at": None,
            "failing_since": None}
TEXT = "Read sources on a schedule."
EXCERPT = {"label": "K1", "text": TEXT, "citation": CITATION, "score": {"total": 0.5}}


class Library:
    """Answers as the API does; ``offline`` adds no source."""

    def __init__(self, sources: list[Any], offline: bool = False, excerpts: int = 1, used: int = 0) -> None:
        self._sources, self.offline, self.excerpts, self.used = sources, offline, excerpts, used
        self.added: list[str] = []
        self.pages = ["almanac:ABOUT.md", "almanac:README.md"]
        self.starting: list[dict[str, str] | None] = []  # what /health says first; None: nobody answers yet

    def health(self) -> Any:
        said = self.starting.pop(0) if self.starting else {"status": "ok"}
        if said is None:
            raise Starting
        return said

    def sources(self) -> list[Any]:
        return self._sources

    def documents(self, source: str, limit: int) -> Any:
        assert source == DOCUMENTATION["id"]
        return {"documents": [{"url": url} for url in self.pages]}

    def add_source(self, url: str, **choices: Any) -> None:
        if self.offline:
            raise ApiProblem("Not reached", UNREACHABLE, "unreachable", 502)
        self.added.append(url)

    def system(self) -> Any:
        return {"limits": {"articles_per_hour": {"limit": 60, "used": self.used}}}

    def retrieve(self, question: str, k: int) -> Any:
        return {"excerpts": [EXCERPT] * self.excerpts, "nothing": "The library is empty."}


@pytest.fixture
def greeted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def greet(library: Library, **changes: Any) -> str:
        monkeypatch.setattr(welcome, "connect", lambda: library)
        monkeypatch.setattr(screen, "json", False)
        welcome.greet(Settings(**changes))
        return capsys.readouterr().out

    return greet


def starters() -> list[dict[str, str]]:
    listed: list[dict[str, str]] = tomllib.loads((files("almanac") / "starters.toml").read_text())["source"]
    return listed


def test_an_empty_library_gets_the_starter_sources(greeted: Any) -> None:
    library = Library([DOCUMENTATION])
    told = greeted(library)
    assert sorted(library.added) == sorted(starter["url"] for starter in starters())
    assert all(f"added {starter['name']}" in told for starter in starters())


def test_without_a_network_it_says_what_was_not_reached_and_why_and_answers(greeted: Any) -> None:
    told = greeted(Library([DOCUMENTATION], offline=True))
    assert all(f"could not add {s['name']} ({s['url']}): {UNREACHABLE}" in told for s in starters())
    assert TEXT in told
    assert CITATION["title"] in told
    assert "http://127.0.0.1:8421" in told


@pytest.mark.parametrize("changes", [{}, {"starters": False}])
def test_a_library_that_has_sources_or_whose_owner_wants_none_gets_none(greeted: Any, changes: Any) -> None:
    library = Library([DOCUMENTATION] if changes else [DOCUMENTATION, OWN])
    told = greeted(library, **changes)
    assert library.added == []
    assert TEXT in told


def test_a_library_that_does_not_even_answer_about_itself_is_a_failure(greeted: Any) -> None:
    with pytest.raises(Failed, match=r"own documentation \(The library is empty\).*almanac index verify"):
        greeted(Library([DOCUMENTATION], excerpts=0))


def test_documentation_that_its_owner_removed_is_no_failure(greeted: Any) -> None:
    told = greeted(Library([OWN], excerpts=0))
    assert "You removed Almanac's own documentation" in told
    assert "it comes back at the next start" in told
    assert "http://127.0.0.1:8421" in told


def test_the_answering_page_that_its_owner_removed_is_no_failure(greeted: Any) -> None:
    library = Library([DOCUMENTATION, OWN], excerpts=0)
    library.pages.remove("almanac:ABOUT.md")
    told = greeted(library)
    assert "You removed the page of Almanac's own documentation that answers this" in told
    assert "http://127.0.0.1:8421" in told


def test_a_library_with_a_part_in_trouble_is_not_waited_for(greeted: Any) -> None:
    library = Library([DOCUMENTATION, OWN])
    library.starting = [{"status": "trouble"}]
    assert TEXT in greeted(library)


def test_the_page_that_is_meant_to_answer_is_shipped() -> None:
    assert (files("almanac") / "documentation" / welcome.ANSWERING.removeprefix("almanac:")).is_file()


def test_a_start_that_is_under_way_is_waited_for(greeted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(welcome, "SECONDS_BETWEEN_LOOKS", 0.01)
    library = Library([DOCUMENTATION, OWN])
    library.starting = [None, {"status": "starting"}]
    assert TEXT in greeted(library)
    assert library.starting == []


def test_a_limit_that_is_reached_excuses_nothing_since_the_documentation_is_free_of_it(greeted: Any) -> None:
    with pytest.raises(Failed, match="own documentation"):
        greeted(Library([DOCUMENTATION, OWN], excerpts=0, used=60))


def test_an_owner_who_asks_for_more_similarity_gets_no_failure(greeted: Any) -> None:
    told = greeted(Library([DOCUMENTATION, OWN], excerpts=0), min_similarity=0.9)
    assert "Nothing relevant. The library is empty." in told
    assert "ALMANAC_MIN_SIMILARITY" in told


def test_the_starter_sources_are_a_few_addresses_that_may_be_added() -> None:
    assert 3 <= len(starters()) <= 8
    assert all(check_address(starter["url"]) == starter["url"] for starter in starters())
    assert len({starter["name"] for starter in starters()}) == len(starters())
