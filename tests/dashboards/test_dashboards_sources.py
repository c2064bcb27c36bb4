"""The sources screen: each source, how it is, and its last poll."""

from typing import Any

import pytest
from stand_in import Api, Open, Read, poll, source

from dashboards.sources import health
from tasks import reports


def test_the_stand_in_has_the_fields_of_the_real_reports() -> None:
    assert set(source()) == {*reports.SOURCE, "last_poll", "documents", "unfinished", "crawl_delay"}
    assert set(poll()) == set(reports.POLL)


def test_a_library_without_sources_says_how_to_add_one(api: Api, opened: Open, words: Read) -> None:
    api.lists()
    app = opened("sources.py")
    assert "almanac source add URL" in words(app).text
    api.lists(source())
    assert "Tower news" in words(app.button[0].click().run()).text


def test_a_source_is_told_with_its_last_and_next_poll(api: Api, opened: Open, words: Read) -> None:
    api.lists(source(documents={"indexed": 1234, "needs_browser": 2}))
    said = words(opened("sources.py"))
    for part in ("Tower news", "feed · tower.example", "Well", "14 Mar", "new: 2 new, of 30 offered", "10:30",
                 "1,234 indexed", "2 needs browser"):
        assert part in said.text
    assert said.links == ["https://tower.example/feed.xml"]


def test_the_whole_is_counted(api: Api, opened: Open, words: Read) -> None:
    api.lists(source("One", documents={"indexed": 2}), source("Two", failures=1, documents={}))
    assert "2 sources · 1 of them unwell · 2 documents" in words(opened("sources.py")).text
    api.lists(source(documents={"indexed": 1}))
    assert "1 source · 1 document\n" in words(opened("sources.py")).text


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "Well"),
        ({"last_poll": poll("unchanged")}, "Well"),
        ({"last_poll": None}, "Not polled yet"),
        ({"failures": 2, "last_poll": poll("failed")}, "Failing"),
        ({"failures": 1, "last_poll": poll("suspect")}, "Suspect"),
        ({"paused": True}, "Paused"),
        ({"paused": True, "failures": 2, "last_poll": poll("failed")}, "Paused"),
        ({"paused": True, "last_poll": None}, "Paused"),
    ],
)
def test_its_health_is_a_word(changes: dict[str, Any], word: str) -> None:
    assert health(source(**changes))[1] == word


def test_a_failing_source_says_why_and_for_how_many_polls(api: Api, opened: Open, words: Read) -> None:
    api.lists(source(failures=4, last_poll=poll("failed", "the server answered 503")))
    said = words(opened("sources.py")).lines
    assert "Failing\n4 polls in a row\n" in said
    assert "failed: the server answered 503" in said


def test_a_source_that_is_not_looked_at_again_says_so(api: Api, opened: Open, words: Read) -> None:
    api.lists(source(next_poll_at=None, last_poll=None, last_polled_at=None, documents={}))
    assert "Not polled yet\nnever\non demand\nnone" in words(opened("sources.py")).lines
    api.lists(source(paused=True))
    assert "\npaused\n" in words(opened("sources.py")).lines


def test_those_that_need_a_look_come_first(api: Api, opened: Open, words: Read) -> None:
    api.lists(
        source("Asleep", paused=True), source("Fine"), source("Odd", failures=1, last_poll=poll("suspect")),
        source("Sick", failures=9, last_poll=poll("failed")), source("Young", last_poll=None),
    )
    said = words(opened("sources.py")).text
    assert sorted(["Asleep", "Fine", "Odd", "Sick", "Young"], key=said.index) == [
        "Sick", "Odd", "Young", "Fine", "Asleep"]
