"""The documents screen: the list and its filters, and one document with everything that became of it."""

from typing import Any

import pytest
from stand_in import Api, Open, Read, Words, problem, recorded
from streamlit.testing.v1 import AppTest
from test_dashboards_words import HOSTILE

from dashboards.changes import changes, summary
from dashboards.reader import reader


def told(state: str) -> dict[str, Any]:
    """The recorded document in this state, as it was told alone."""
    return next(told for told in recorded().values() if told.get("state") == state and "version" in told)


@pytest.fixture
def indexed(api: Api, opened: Open) -> AppTest:
    api.records()
    return opened("documents.py", id=told("indexed")["id"])


@pytest.fixture
def quarantined(api: Api, opened: Open) -> AppTest:
    api.records()
    return opened("documents.py", id=told("quarantined")["id"])


def test_documents_are_listed_with_their_state_kind_and_dates(api: Api, opened: Open, words: Read) -> None:
    api.records()
    said = words(opened("documents.py"))
    first = recorded()["GET /v1/documents"]["documents"][0]
    for part in (first["title"], first["source"], "quarantined", "it gives orders to a model", "1 Dec 2026"):
        assert part in said.text
    assert f"/documents?id={first['id']}" in said.links


def test_filters_stand_in_the_address_and_go_to_the_api(api: Api, opened: Open, words: Read) -> None:
    api.records()
    source = recorded()["GET /v1/sources/names"]["sources"][0]["id"]
    app = opened("documents.py", state="waiting", source=source, text="pier", after="a-cursor")
    app.selectbox(key="choose-type").set_value("news").run()
    assert api.requests[-1] == (
        f"GET /v1/documents?state=waiting&source={source}&q=pier&content_type=news&limit=50")
    assert app.query_params["type"] == "news"
    assert "after" not in app.query_params
    app.selectbox(key="choose-state").set_value("").run()
    assert "state" not in app.query_params


def test_what_an_address_cannot_mean_is_no_filter(api: Api, opened: Open, words: Read) -> None:
    api.records()
    opened("documents.py", state="happy", type="poem", source="nobody")
    assert api.requests[-1] == "GET /v1/documents?limit=50"


def test_an_empty_list_says_what_to_do(api: Api, opened: Open, words: Read) -> None:
    api.records()
    api.answers["GET /v1/documents"] = {"documents": [], "next": None}
    assert "No documents yet" in words(opened("documents.py")).text
    assert "every filter narrows the list" in words(opened("documents.py", text="pier")).text


def test_a_document_is_told_and_read(indexed: AppTest, words: Read) -> None:
    said = words(indexed)
    for part in ("Harbour Gazette", "Answers with", "version 2, read", "Version 2 · ", "What was found",
                 "The council has withdrawn its plan"):
        assert part in said.text
    assert {"h3", "h4", "blockquote", "pre", "table"} <= said.elements


def test_an_older_version_is_asked_for_by_its_number(api: Api, opened: Open, words: Read) -> None:
    api.records()
    opened("documents.py", id=told("indexed")["id"], version="1", view="chunks")
    identity = told("indexed")["id"]
    assert api.requests == [f"GET /v1/documents/{identity}?version=1",
                            f"GET /v1/documents/{identity}/chunks?version=1&limit=30"]


def test_its_versions_are_compared(indexed: AppTest, api: Api, words: Read) -> None:
    app = indexed.segmented_control(key="choose-view").set_value("changes").run()
    said = words(app).text
    counts = summary(recorded()[f"GET /v1/documents/{told('indexed')['id']}/diff"]["counts"])
    for part in (f"From version 1 to 2: {counts}", "Added", "Changed", "withdrawn its plan"):
        assert part in said
    app.selectbox(key="choose-to").set_value("1").run()
    assert api.requests[-1].endswith("/diff?to=1")


@pytest.mark.parametrize(
    ("view", "parts"),
    [("analysis", ("sure", "Topics", "Keywords", "built-in")),
     ("chunks", ("tokens in all, cut for all-MiniLM-L6-v2", "live", "characters 0 to")),
     ("gates", ("enough text", "met", "nothing was found"))],
)
def test_what_became_of_it_is_told(view: str, parts: tuple[str, ...], indexed: AppTest, words: Read) -> None:
    said = words(indexed.segmented_control(key="choose-view").set_value(view).run()).text
    for part in parts:
        assert part in said


def test_a_refused_document_says_why_and_can_be_released(quarantined: AppTest, api: Api, words: Read) -> None:
    app = quarantined.segmented_control(key="choose-view").set_value("gates").run()
    said = words(app)
    assert "1 expectation of 24 not met" in said.text
    assert "Ignore all previous instructions" in said.marked
    identity = told("quarantined")["id"]
    api.answers[f"POST /v1/quality/{identity}/release"] = {"flow_run_id": None}
    assert "Indexing A recipe for plum cake" in words(app.button(key="release").click().run()).text


def test_what_was_not_cut_yet_says_when_it_will_be(quarantined: AppTest, words: Read) -> None:
    said = words(quarantined.segmented_control(key="choose-view").set_value("chunks").run()).text
    assert "It was not cut yet" in said
    assert "when it is indexed" in said


def test_a_document_that_was_never_read_says_so_everywhere(api: Api, opened: Open, words: Read) -> None:
    api.records()
    never = told("quarantined") | {"version": None, "state": "waiting", "reason": "HTTP 503"}
    identity = never["id"]
    nothing = problem(409, "no_such_versions", "There is no such version.")
    api.answers |= {f"GET /v1/documents/{identity}": never, f"GET /v1/documents/{identity}/chunks": nothing,
                    f"GET /v1/documents/{identity}/gates": nothing,
                    f"GET /v1/documents/{identity}/versions": {"versions": []}}
    app = opened("documents.py", id=identity)
    assert "Nothing of it was read yet\nHTTP 503" in words(app).lines
    for view, sentence in (("changes", "There are no versions yet"), ("chunks", "It was not cut yet"),
                           ("gates", "It was not judged yet"), ("analysis", "It was not analysed yet")):
        assert sentence in words(app.segmented_control(key="choose-view").set_value(view).run()).text


def test_a_removed_document_is_shown_with_its_reason_and_nothing_to_do(
    api: Api, opened: Open, words: Read
) -> None:
    api.records()
    gone = told("indexed") | {"version": None, "version_id": None, "state": "removed"}
    api.answers[f"GET /v1/documents/{gone['id']}"] = gone
    app = opened("documents.py", id=gone["id"])
    assert "removed" in words(app).text
    assert not app.button


def test_a_long_text_comes_in_parts(api: Api, opened: Open, words: Read) -> None:
    api.records()
    long = told("indexed")
    blocks = [{"kind": "paragraph", "text": f"paragraph {n} ends"} for n in range(450)]
    api.answers[f"GET /v1/documents/{long['id']}"] = long | {"version": long["version"] | {"blocks": blocks}}
    app = opened("documents.py", id=long["id"])
    assert "paragraph 199 ends" in words(app).text
    assert "paragraph 200 ends" not in words(app).text
    app.button(key="next-after").click().run()
    assert "paragraph 200 ends" in words(app).text


def test_every_kind_of_block_is_shown_word_for_word() -> None:
    kinds = [{"kind": "heading", "level": 1}, {"kind": "heading", "level": 9}, {"kind": "paragraph"},
             {"kind": "list_item", "level": 2, "ordered": True}, {"kind": "quote"}, {"kind": "code"},
             {"kind": "table", "header_rows": 1}]
    for said in HOSTILE:
        shown = Words(reader([kind | {"text": said} for kind in kinds]))
        assert shown.text.count(said) == len(kinds)
        assert shown.links == []
        assert shown.elements <= {"article", "h3", "h6", "p", "blockquote", "pre", "code", "div", "table",
                                  "tbody", "tr", "th"}


def test_a_tables_rows_and_header_are_its_lines() -> None:
    shown = str(reader([{"kind": "table", "text": "Year | Visits\n2019 | 17", "header_rows": 1}]))
    assert "<th dir=\"auto\">Visits</th>" in shown
    assert "<td dir=\"auto\">17</td>" in shown


def change(kind: str, text: str = "words", **more: Any) -> dict[str, Any]:
    return {"change": kind, "kind": "paragraph", "text": text, "before": 0, "after": 0} | more


def test_a_difference_shows_what_changed_and_what_stands_beside_it() -> None:
    told = [*(change("same", f"same {n}.") for n in range(9)), change("removed", "gone"),
            change("moved", "here"),
            change("changed", words=[["=", "The "], ["-", "old"], ["+", "<b>new</b>"], ["=", " pier"]])]
    shown = Words(changes(told))
    assert shown.lines.startswith("same 0.\n7 blocks the same\nsame 1.")
    assert "Removed\ngone\nMoved from elsewhere\nhere\nChanged\nThe " in shown.lines
    assert {"ins", "del"} <= shown.elements
    assert "<b>new</b>" in shown.text
    assert summary({"same": 9, "moved": 1, "changed": 1, "added": 0, "removed": 1}) == (
        "1 changed, 1 removed, 1 moved; 9 blocks the same")
