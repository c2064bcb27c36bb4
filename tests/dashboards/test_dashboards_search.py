"""The search screen: a question in the box or in the address, and excerpts that say where they come from."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from stand_in import ASKED, EXCERPT, Api, Open, Read, citation, excerpt, filters, known, passed_over
from streamlit.testing.v1 import AppTest

from dashboards.excerpt import pieces
from tasks.answer.origin import Place


def ask(app: AppTest, question: str) -> AppTest:
    app.text_input(key="q").input(question)
    return app.button(key="FormSubmitter:question-Search").click().run()


def test_while_nothing_is_asked_it_says_what_to_do(api: Api, opened: Open, words: Read) -> None:
    assert "Ask what your sources said" in words(opened("search.py")).text
    assert api.asked == []


def test_an_example_is_asked_by_a_click(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt())
    example = opened("search.py").button[1]
    app = example.click().run()
    assert api.questions == [example.label] == [app.text_input(key="q").value]
    assert "K1" in words(app).text


def test_the_address_brings_the_question_and_the_number(api: Api, opened: Open) -> None:
    api.finds(excerpt())
    app = opened("search.py", q="how do the lifts work?", k="3")
    assert (app.text_input(key="q").value, app.number_input(key="k").value) == ("how do the lifts work?", 3)
    assert [(asked["query"], asked["k"]) for asked in api.asked] == [("how do the lifts work?", 3)]


@pytest.mark.parametrize("number", ["0", "51", "many"])
def test_a_number_that_cannot_be_asked_for_counts_as_none(number: str, api: Api, opened: Open) -> None:
    api.finds(excerpt())
    opened("search.py", q="lifts", k=number)
    assert api.asked[0]["k"] == 6


def test_the_box_asks_without_the_blanks_around(api: Api, opened: Open) -> None:
    api.finds(excerpt())
    ask(opened("search.py"), "  how do the  lifts work? ")
    assert api.questions == ["how do the  lifts work?"]


def test_a_blank_question_is_not_asked(api: Api, opened: Open, words: Read) -> None:
    assert "Ask what your sources said" in words(ask(opened("search.py"), "   ")).text
    assert api.asked == []


def test_an_excerpt_says_what_it_says_and_where_it_comes_from(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt("K1", "By water.", headings=("Machines", "Lifts"), title="How the lifts work"))
    said = words(opened("search.py", q="lifts"))
    for part in ("K1", "How the lifts work", "Tower news", "11 Mar 2026", "A. Fitter",
                 "Machines \u203a Lifts", "By water."):
        assert part in said.text
    assert said.links == ["https://tower.example/lifts"]


def test_an_excerpt_without_a_date_is_undated(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt(published_at=None, author=None))
    assert "Tower news · undated\n" in words(opened("search.py", q="lifts")).text


def test_an_excerpt_whose_address_fails_says_since_when(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt(failing_since=datetime(2025, 3, 12, 9, 30, tzinfo=UTC)))
    assert "Its address has failed since 12 Mar 2025, 09:30." in words(opened("search.py", q="lifts")).text
    api.finds(excerpt())
    assert "failed since" not in words(opened("search.py", q="stairs")).text


def test_a_score_is_told_with_its_parts_and_the_sum_they_make(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt())
    said = words(opened("search.py", q="lifts")).lines
    assert "Score 0.57" in said
    for part, value in (("similarity", "0.722"), ("topic", "0.000"), ("recently used", "0.003")):
        assert f"{part}\n{value}\n" in said
    assert "0.60 \u00d7 similarity 0.7218 + 0.10 \u00d7 freshness 0.9332" in said
    assert api.asked[0]["explain"] is True


def test_only_a_web_address_can_be_followed(api: Api, opened: Open, words: Read) -> None:
    elsewhere = ["javascript:alert(1)", "data:text/html,<script>", "almanac:documentation", "file:///etc/hosts",
                 "//tower.example", "http://", "http://[", ""]
    api.finds(*(excerpt(f"K{n}", url=url, title="A title") for n, url in enumerate(elsewhere)))
    said = words(opened("search.py", q="lifts"))
    assert said.links == []
    assert said.text.count("A title") == len(elsewhere)


def test_a_page_without_a_title_is_called_by_its_address(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt(title=""))
    assert "K1\nhttps://tower.example/lifts\n" in words(opened("search.py", q="lifts")).lines


def test_it_is_said_when_freshness_counts_double(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt(), recent=True)
    assert "freshness counts double" in words(opened("search.py", q="news")).text
    api.finds(excerpt())
    assert "freshness counts double" not in words(opened("search.py", q="lifts")).text


def test_nothing_relevant_says_why_and_what_to_do_next(api: Api, opened: Open, words: Read) -> None:
    api.finds(nothing="Nothing in the library is close enough to the question: none is 0.30 similar or more.")
    said = words(opened("search.py", q="lifts")).lines
    assert said.startswith("Almanac\nNothing relevant\nNothing in the library is close enough")
    assert "almanac source add URL" in said


def test_looking_at_a_record_does_not_ask_again(api: Api, opened: Open) -> None:
    """Each asking is remembered as a use of what it found, and counts in the next ranking."""
    api.finds(excerpt())
    opened("search.py", q="lifts").button(key="record-K1").click().run()
    assert api.questions == ["lifts"]


def test_the_button_asks_again_and_so_does_another_question(api: Api, opened: Open) -> None:
    api.finds(excerpt())
    app = ask(opened("search.py", q="lifts"), "lifts")
    ask(app, "stairs")
    assert api.questions == ["lifts", "lifts", "stairs"]


def test_a_result_can_be_judged(api: Api, opened: Open) -> None:
    api.finds(excerpt("K1"))
    api.answers["POST /v1/judgments"] = {"judged": ["K1"], "unknown": []}
    app = opened("search.py", q="lifts")
    app.button(key="good-K1").click().run()
    assert {"good": ["K1"], "bad": []}.items() <= api.asked[-1].items()


def test_where_a_text_stands_too_and_its_story_are_said(api: Api, opened: Open, words: Read) -> None:
    place = Place("Lifts", "https://copy.example/", "The Copy", None)
    api.finds(replace(excerpt(), also_at=[place, place], story="S1"))
    said = words(opened("search.py", q="lifts")).text
    assert "story S1" in said
    assert said.count("also at The Copy") == 1


def test_its_first_paint_asks_two_things(api: Api, opened: Open) -> None:
    api.finds(excerpt())
    opened("search.py", q="lifts")
    assert api.requests == ["GET /v1/filters", "POST /v1/retrieve"]


def test_the_address_says_what_narrows_the_question(api: Api, opened: Open) -> None:
    api.finds(excerpt())
    opened("search.py", q="why?", previous="the lifts stopped", source="Tower news", type="time-sensitive",
           language="de", since="2026-03-01", until="2026-03-14", recent="age counts as usual")
    [asked] = api.asked
    assert asked == {
        "query": "why?", "previous": "the lifts stopped", "sources": [str(known("Tower news"))], "k": 6,
        "content_types": ["time_sensitive"], "languages": ["de"], "since": "2026-03-01",
        "until": "2026-03-14", "recent": False, "explain": True}


def test_a_filter_that_there_is_not_narrows_nothing(api: Api, opened: Open) -> None:
    api.finds(excerpt())
    opened("search.py", q="lifts", source="Gone", type="gossip", since="soon", recent="maybe")
    assert api.asked == [{"query": "lifts", "k": 6, "explain": True}]


def test_the_words_of_the_question_are_marked(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt(text="The lifts lift.", matches=[(4, 9), (10, 14)]))
    said = words(opened("search.py", q="lifts"))
    assert said.marked == "liftslift"
    assert "The lifts lift." in said.text


def test_what_was_dropped_is_told_with_why(api: Api, opened: Open, words: Read) -> None:
    api.finds(excerpt(), dropped=[passed_over("K2", title="Stairs")])
    said = words(opened("search.py", q="lifts")).lines
    assert "What was dropped, and why (1)" in said
    assert "Stairs\nK2 Tower news\nbeyond the 1 asked for\n0.573" in said


def test_a_score_is_a_bar_of_what_its_parts_make() -> None:
    parts = {"total": 0.5, "similarity": 0.8, "topic": 0.0, "freshness": 1.0, "source": 0.0, "interest": 0.0,
             "recently_used": 0.08}
    weights = {"similarity": 0.6, "topic": 0.15, "freshness": 0.1, "source": 0.1, "interest": 0.05}
    widths = [float(width) for width in re.findall(r"width:([0-9.]+)%", str(pieces(parts, weights)))]
    assert sum(widths[:-1]) == pytest.approx(50, abs=0.1)  # the total, of a bar that is 1 long
    assert widths[0] / widths[2] == pytest.approx(0.48 / 0.1, rel=0.01)
    assert widths[-1] == 8.0  # taken off


def test_without_a_model_there_is_nobody_to_ask(api: Api, opened: Open) -> None:
    assert "Ask" not in [button.label for button in opened("search.py").button]


def test_a_model_answers_where_there_is_one(api: Api, opened: Open, words: Read) -> None:
    api.answers["GET /v1/filters"] = filters("llama")
    api.finds(excerpt())
    api.answers["POST /v1/ask"] = api.answers["POST /v1/retrieve"] | {
        "answer": "By water [K1].", "model": "llama", "check": None, "note": "It names no excerpt."}
    app = opened("search.py", q="lifts")
    app.button(key="FormSubmitter:question-Ask").click().run()
    said = words(app).lines
    assert "llama answers from the excerpts below\nBy water [K1].\nIt names no excerpt." in said
    assert api.requests[-1] == "POST /v1/ask"
    app.button(key="record-K1").click().run()
    assert "By water [K1]." in words(app).text
    assert api.requests.count("POST /v1/ask") == 1


def test_a_record_has_an_address(api: Api, opened: Open, words: Read) -> None:
    api.cites(citation())
    app = opened("search.py", retrieval=str(ASKED), record="K1")
    assert EXCERPT in words(app).marked
    api.finds(excerpt())
    app = opened("search.py", q="lifts").button(key="record-K1").click().run()
    assert (app.query_params["retrieval"], app.query_params["record"]) == (str(ASKED), "K1")


def test_a_record_that_there_is_not_is_told_so(api: Api, opened: Open, words: Read) -> None:
    app = opened("search.py", retrieval="../sources", record="![x](http://evil.example/p.png)")
    assert "There is no such citation." in words(app).text
    assert api.requests[-1].startswith("GET /v1/citations/..%2Fsources/%21%5Bx%5D")
