"""The first screen: what arrived, by story and by source; what changed, what failed, what is rising."""

import pytest
from stand_in import Api, Open, Read, came, nothing_came, rising, told_of

from dashboards.charts import columns, spark, stack
from dashboards.today import long
from dashboards.today import rising as table_of


@pytest.fixture
def busy(api: Api) -> Api:
    api.tells(came(), told_of(), rising("night trains"))
    return api


def test_the_numbers_of_the_day_come_first(busy: Api, opened: Open, words: Read) -> None:
    said = words(opened("today.py"))
    assert "24arrived" in said.lines
    assert "12changed" in said.lines
    assert "3began to fail" in said.lines
    assert "2to be decided" in said.lines
    assert "/quality" in said.links


def test_its_first_paint_asks_three_things(busy: Api, opened: Open) -> None:
    opened("today.py")
    assert busy.requests == ["GET /v1/today?days=1", "GET /v1/stories?days=1", "GET /v1/trends?days=1"]


def test_the_address_says_how_far_it_looks_back(api: Api, opened: Open, words: Read) -> None:
    api.tells(came(), told_of(title="A week's story"), rising(), days=7)
    assert "A week's story" in words(opened("today.py", period="7 days")).text


def test_a_story_is_told_with_who_tells_it(busy: Api, opened: Open, words: Read) -> None:
    said = words(opened("today.py"))
    assert "Lifts stop\n2 sources · 2 documents" in said.lines
    assert said.lines.index("Stories") < said.lines.index("What else arrived")
    assert said.links.count("https://tower.example/lifts") == 4


def test_what_changed_leads_to_the_document(busy: Api, opened: Open, words: Read) -> None:
    said = words(opened("today.py"))
    assert "version 3" in said.text
    assert any(link.startswith("/documents?id=") for link in said.links)


def test_what_failed_says_why_and_leads_to_all_of_it(busy: Api, opened: Open, words: Read) -> None:
    said = words(opened("today.py"))
    assert "Tower news: 4 polls in a row" in said.text
    assert "waiting: it answered 503" in said.text
    assert any(link.startswith("/documents?state=waiting&source=") for link in said.links)


def test_what_is_rising_is_told_against_what_was_to_be_expected(busy: Api, opened: Open, words: Read) -> None:
    said = words(opened("today.py"))
    assert "night trains\n9\n1.5 expected" in said.lines
    assert "/search?q=night+trains" in said.links


def test_a_young_library_says_why_nothing_rises(api: Api, opened: Open, words: Read) -> None:
    api.tells(came(), told_of(), rising(known_periods=0))
    assert "There is nothing to compare with yet" in words(opened("today.py")).text
    api.tells(came(), told_of(), rising())
    assert "Nothing stands out" in words(opened("today.py")).text


def test_a_quiet_day_says_what_to_do_next(api: Api, opened: Open, words: Read) -> None:
    api.tells(nothing_came(), told_of(), rising())
    said = words(opened("today.py"))
    assert "Nothing came in the last 24 hours" in said.text
    assert "almanac source add URL" in said.text
    assert said.links == ["/sources"]
    assert api.requests == ["GET /v1/today?days=1"]


def test_a_part_that_fails_leaves_the_parts_before_it(api: Api, opened: Open, words: Read) -> None:
    api.tells(came(), told_of(), rising())
    del api.answers["GET /v1/trends?days=1"]
    said = words(opened("today.py"))
    assert "24arrived" in said.lines
    assert "It cannot be done" in said.text


def test_a_chart_is_drawn_to_its_highest_column_and_says_in_words_what_it_shows() -> None:
    drawn = str(columns([[("red", 1), ("blue", 1)], [("red", 1)], []], ["a", "b", "c"], "one & two"))
    assert drawn.count("height:50.0%") == 3
    assert 'aria-label="one &amp; two"' in drawn
    assert "height:4%" in str(spark([0, 25, 50]))
    assert "width:100.00%" in str(stack([(3.0, "red", "")]))


@pytest.mark.parametrize(("hours", "said"), [(1, "1 hour"), (7, "7 hours"), (30, "30 hours"), (72, "3 days")])
def test_a_step_is_told_by_its_length(hours: int, said: str) -> None:
    from datetime import timedelta

    assert long(timedelta(hours=hours)) == said


def test_what_is_expected_is_told_no_finer_than_it_is_known() -> None:
    [one] = rising("owls")["topics"]
    assert "31 expected" in str(table_of([one | {"expected": 31.4}]))
