"""The freshness screen: the curves, the documents on them, half-lives that are tried and kept, one's life."""

import json
from typing import Any

import pytest
from stand_in import Api, Open, Read, ageing, known, life, placed
from streamlit.testing.v1 import AppTest

from dashboards.curves import curve, fresh, spec


def drawn(app: AppTest) -> dict[str, Any]:
    """The chart's specification."""
    [chart] = app.get("vega_lite_chart") or app.get("arrow_vega_lite_chart")
    return dict(json.loads(chart.proto.spec))


def test_each_content_type_is_told_with_its_documents_and_half_life(
    api: Api, opened: Open, words: Read
) -> None:
    api.ages(placed())
    app = opened("freshness.py")
    assert "news\n1,234 documents" in words(app).lines
    assert [field.value for field in app.number_input] == [3, 30, 90, None, None]
    assert api.requests == ["GET /v1/freshness"]


def test_the_documents_are_dots_on_the_curves(api: Api, opened: Open) -> None:
    api.ages(placed(), placed("Old", age=900.0), placed("Slow", kind="time_sensitive", age=30.0))
    lines, dots = (layer["data"]["values"] for layer in drawn(opened("freshness.py"))["layer"])
    assert [(dot["name"], dot["freshness"]) for dot in dots] == [("Lifts stop", 0.5), ("Slow", 0.5)]
    assert {line["type"] for line in lines} == {"news", "time-sensitive", "opinion", "reference", "evergreen"}


def test_another_half_life_is_drawn_at_once_and_kept_by_a_click_only(
    api: Api, opened: Open, words: Read
) -> None:
    api.ages(placed())
    api.answers["PUT /v1/ranking"] = {}
    app = opened("freshness.py")
    assert app.button(key="save-lives").disabled
    app.number_input(key="life-news").set_value(6.0).run()
    _, dots = (layer["data"]["values"] for layer in drawn(app)["layer"])
    assert dots[0]["freshness"] == pytest.approx(0.7071, abs=1e-4)
    assert not [it for it in api.requests if it.startswith("PUT")]
    app.button(key="save-lives").click().run()
    assert api.asked == [{"half_lives": {"news": 6.0}}]
    assert "The half-lives are saved" in words(app).text


def test_the_judged_questions_say_what_another_half_life_is_worth(
    api: Api, opened: Open, words: Read
) -> None:
    api.ages(placed())
    api.answers["POST /v1/judgments/replay"] = {
        "questions": [{"query": "lifts?", "good": 1, "before": 0.5, "after": 1.0}],
        "ndcg_at_10": {"before": 0.5, "after": 1.0}, "weights": {}}
    app = opened("freshness.py")
    app.number_input(key="life-news").set_value(6.0).run()
    app.button(key="replay-lives").click().run()
    assert "better than now" in words(app).text
    assert api.asked == [{"half_lives": {"news": 6.0}}]


def test_the_address_may_name_what_is_tried(api: Api, opened: Open) -> None:
    api.ages(placed())
    assert opened("freshness.py", **{"life-news": "10"}).number_input(key="life-news").value == 10


def test_a_library_without_documents_says_what_to_do(api: Api, opened: Open, words: Read) -> None:
    api.ages()
    assert "almanac source add URL" in words(opened("freshness.py")).text


def test_a_document_is_told_with_what_it_was_and_will_be(api: Api, opened: Open, words: Read) -> None:
    api.answers[f"GET /v1/documents/{known('document')}/freshness"] = life()
    said = words(opened("freshness.py", document=str(known("document"))))
    assert "halves every 3 d" in said.text
    assert "in 3 days\n0.250\n0.025" in said.lines
    assert "how do the lifts work?" in said.lines
    assert "0.933\n0.573\n0.530" in said.lines
    assert "/search?q=how+do+the+lifts+work%3F" in said.links
    assert "/freshness" in said.links


def test_a_document_that_was_never_found_and_does_not_age_says_so(
    api: Api, opened: Open, words: Read
) -> None:
    api.answers["GET /v1/documents/one/freshness"] = life(asked=[], half_life=None, is_published=False)
    said = words(opened("freshness.py", document="one")).text
    assert "does not age" in said
    assert "first seen" in said
    assert "No question has found it yet" in said


def test_a_document_that_is_not_there_leaves_a_way_on(api: Api, opened: Open, words: Read) -> None:
    said = words(opened("freshness.py", document="../sources"))
    assert "It cannot be done" in said.text
    assert api.requests == ["GET /v1/documents/..%2Fsources/freshness"]


def test_a_curve_halves_at_each_half_life() -> None:
    assert [fresh(age, 3) for age in (0, 3, 6)] == [1.0, 0.5, 0.25]
    assert fresh(900, None) == 1.0
    ages = [point["age"] for point in curve("news", 3, 120)]
    assert (ages[0], ages[-1]) == (0, 120)
    assert ages == sorted(ages)


def test_no_field_of_a_chart_is_one_that_its_tooltips_take_for_a_picture() -> None:
    told = json.dumps(spec(curve("news", 3, 120), []))
    assert '"image"' not in told
    assert '"href"' not in told
    assert ageing()["documents"] == []


def test_the_first_half_lives_come_back_by_a_click(api: Api, opened: Open) -> None:
    told = ageing(placed())
    api.answers["GET /v1/freshness"] = told | {"half_lives": told["half_lives"] | {"news": 6.0}}
    api.answers["PUT /v1/ranking"] = {}
    app = opened("freshness.py")
    assert app.number_input(key="life-news").value == 6
    api.answers["GET /v1/freshness"] = told
    app.button(key="first-lives").click().run()
    assert api.asked == [{"half_lives": told["default"]}]
    assert app.number_input(key="life-news").value == 3
    assert app.button(key="first-lives").disabled
