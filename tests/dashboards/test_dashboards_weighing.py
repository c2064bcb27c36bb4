"""Other weights: how the order would change, what judged questions say, and the click that keeps them."""

from dataclasses import replace
from typing import Any

import pytest
from stand_in import Api, Open, Read, excerpt, passed_over
from streamlit.testing.v1 import AppTest

from dashboards.weighing import replayed, rescored
from tasks.answer.rank import WEIGHTS
from tasks.answer.retrieval import Score

NEAR, NEW = Score(0.55, 0.9, 0.0, 0.1, 0.0, 0.0, 0.0), Score(0.45, 0.6, 0.0, 0.9, 0.0, 0.0, 0.0)
REPLAYED = {"questions": [{"query": "lifts?", "good": 1, "before": 1.0, "after": 0.63},
                          {"query": "stairs?", "good": 1, "before": 1.0, "after": 1.0}],
            "ndcg_at_10": {"before": 1.0, "after": 0.815}, "weights": {}}


@pytest.fixture
def app(api: Api, opened: Open) -> AppTest:
    """An answer with one excerpt, and one that was dropped, beside the open panel of weights."""
    api.finds(replace(excerpt("K1", title="Near"), score=NEAR),
              dropped=[passed_over("K2", title="New", score=NEW)])
    app = opened("search.py", q="lifts", k="1")
    app.session_state["weights"] = True
    return app.run()


def places(said: str) -> list[str]:
    return sorted(("Near", "New"), key=said.rindex)


def test_it_begins_with_the_weights_that_count(app: AppTest, words: Read) -> None:
    assert [slider.value for slider in app.slider] == [0.6, 0.15, 0.1, 0.1, 0.05, 0.05]
    assert places(words(app).text) == ["Near", "New"]
    assert app.button(key="save-weights").disabled


def test_a_moved_weight_shows_the_order_that_it_would_make(api: Api, app: AppTest, words: Read) -> None:
    app.slider(key="w-freshness").set_value(0.5).run()
    said = words(app)
    assert places(said.text) == ["New", "Near"]
    assert "up 1" in said.text
    assert "down 1" in said.text
    assert api.questions == ["lifts"]


def test_saving_needs_a_click(api: Api, app: AppTest, words: Read) -> None:
    api.answers["PUT /v1/ranking"] = {}
    app.slider(key="w-freshness").set_value(0.5).run()
    assert not [it for it in api.requests if it.startswith("PUT")]
    app.button(key="save-weights").click().run()
    assert api.asked[1] == {"weights": {"freshness": 0.5}}
    assert "The weights are saved" in words(app).text
    assert api.requests.count("POST /v1/retrieve") == 2


def test_the_judged_questions_say_whether_it_is_better(api: Api, app: AppTest, words: Read) -> None:
    api.answers["POST /v1/judgments/replay"] = REPLAYED
    app.slider(key="w-topic").set_value(0.5).run()
    app.button(key="replay").click().run()
    assert api.asked[-1] == {"weights": {"topic": 0.5}}
    said = words(app).lines
    assert "worse than now nDCG@10 over 2 judged questions: 0.815, now 1.000" in said
    assert "lifts?\n1.000\n0.630" in said
    assert "stairs?" not in said


@pytest.mark.parametrize(("after", "said"), [(0.9, "worse"), (1.0, "as good"), (1.1, "better")])
def test_better_and_worse_are_told_apart(after: float, said: str) -> None:
    assert said in str(replayed(REPLAYED | {"ndcg_at_10": {"before": 1.0, "after": after}}))


def test_without_a_judged_question_it_says_how_to_judge() -> None:
    assert "It answers" in str(replayed(REPLAYED | {"questions": []}))


def test_a_total_is_that_of_the_library_itself() -> None:
    """What the screen makes of a score with the weights that it was made with."""
    weights: dict[str, Any] = {name: getattr(WEIGHTS, name) for name in WEIGHTS.__slots__}
    parts = excerpt().score.to_json()
    made = sum(weights[name] * parts[name] for name in weights if name != "recently_used")
    assert rescored(parts, weights, weights)["total"] == pytest.approx(made - parts["recently_used"])
    doubled = rescored(parts, weights, weights | {"recently_used": 0.1})
    assert doubled["recently_used"] == pytest.approx(2 * parts["recently_used"])
    assert rescored(parts, weights | {"recently_used": 0.0}, weights)["recently_used"] == 0.0
