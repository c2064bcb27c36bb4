"""The quality screen: what passed over time, and what waits for a decision."""

from typing import Any

import pytest
from stand_in import Api, Open, Read, recorded
from streamlit.testing.v1 import AppTest

REFUSALS = "GET /v1/quality/refusals"


def waiting() -> list[dict[str, Any]]:
    refusals: list[dict[str, Any]] = recorded()[REFUSALS]["refusals"]
    return refusals


@pytest.fixture
def quality(api: Api, opened: Open) -> AppTest:
    api.records()
    return opened("quality.py")


def test_rates_are_told_over_thirty_days_by_day_and_by_expectation(
    quality: AppTest, api: Api, words: Read
) -> None:
    days = recorded()["GET /v1/quality/rates"]["days"]
    passed, refused = sum(day["passed"] for day in days), sum(day["refused"] for day in days)
    said = words(quality).text
    of_all = f"{passed / (passed + refused):.1%} of {passed + refused} versions passed the gates in 30 days"
    for part in (of_all, "no orders", "quarantined", "noted", "expectations always met"):
        assert part in said
    assert "GET /v1/quality/rates?days=30&zone=UTC" in api.requests
    assert len(api.requests) == 3


def test_each_refusal_shows_its_reasons_with_the_offending_passage(quality: AppTest, words: Read) -> None:
    said = words(quality)
    for refusal in waiting():
        for result in refusal["results"]:
            assert result["reason"] in said.text
            assert not result["passage"] or result["passage"] in said.marked
    first = waiting()[0]
    assert f"/documents?id={first['document_id']}&version=1&view=gates" in said.links


@pytest.mark.parametrize("decision", ["release", "reject"])
def test_those_that_are_picked_are_decided_at_once(
    decision: str, quality: AppTest, api: Api, words: Read
) -> None:
    chosen = [each["document_id"] for each in waiting()[1:3]]
    assert quality.button(key=decision).disabled
    for identity in chosen:
        quality.checkbox(key=f"pick-{identity}").check().run()
    api.answers[f"POST /v1/quality/{decision}"] = {
        "decided": chosen[:1], "flow_run_id": None,
        "left": [{"document_id": chosen[1], "why": "It is fatal."}]}
    app = quality.button(key=decision).click().run()
    assert api.asked[-1] == {"document_ids": chosen}
    decided = f"1 version {decision}{'d' if decision == 'release' else 'ed'}. It is fatal."
    assert decided in words(app).text


def test_a_whole_page_can_be_picked_and_let_go(quality: AppTest) -> None:
    quality.button(key="pick-all").click().run()
    assert all(box.value for box in quality.checkbox)
    assert quality.button(key="release").label == f"Release {len(waiting())} versions"
    quality.button(key="pick-all").click().run()
    assert not any(box.value for box in quality.checkbox)


def test_what_was_decided_can_be_looked_at(quality: AppTest, api: Api, words: Read) -> None:
    app = quality.selectbox(key="choose-verdict").set_value("released").run()
    assert api.requests[-1] == "GET /v1/quality/refusals?verdict=released&limit=20"
    assert "release" not in [button.key for button in app.button]


def test_an_empty_quarantine_and_an_empty_library_say_so(api: Api, opened: Open, words: Read) -> None:
    api.records()
    none = [{"day": f"2026-11-0{n}", "passed": 0, "refused": 0} for n in range(1, 4)]
    api.answers |= {"GET /v1/quality/rates": {"days": none, "expectations": []},
                    REFUSALS: {"refusals": [], "next": None, "counts": {}}}
    said = words(opened("quality.py")).text
    assert "Nothing was judged yet" in said
    assert "Nothing waits here" in said
