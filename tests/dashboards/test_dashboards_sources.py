"""The sources screen: each source, how it is, what its looks came to, and how one is added and changed."""

from typing import Any

import pytest
from stand_in import Api, Open, Read, Words, poll, problem, recorded, source
from streamlit.testing.v1 import AppTest

from dashboards import mapping, subscriptions
from dashboards.source_form import USUAL, changes
from dashboards.source_words import health, trouble
from tasks import reports

ADDED = {  # of the list; ``held`` is the API's
    "last_poll", "documents", "unfinished", "crawl_delay", "flags", "flapping", "held", "looks", "days"}


def named(name: str) -> dict[str, Any]:
    """A source of the recording, as it was told alone."""
    return next(told for path, told in recorded().items() if told.get("name") == name and "polls" in told)


def test_the_stand_in_has_the_fields_of_the_real_reports() -> None:
    assert set(source()) == {*reports.SOURCE, *ADDED}
    assert set(poll()) == set(reports.POLL)
    assert {*source(), "polls", "interests"} == set(named("Harbour Gazette"))


def test_a_library_without_sources_says_how_to_add_one(api: Api, opened: Open, words: Read) -> None:
    api.lists()
    app = opened("sources.py")
    assert "almanac source add URL" in words(app).text
    api.lists(source())
    assert "Tower news" in words(app.run()).text


def test_a_source_is_told_with_its_polls_its_days_and_its_documents(
    api: Api, opened: Open, words: Read
) -> None:
    api.lists(source(documents={"indexed": 1234, "needs_browser": 2}, tags=["sea"]))
    said = words(opened("sources.py"))
    for part in ("Tower news", "feed · tower.example", "sea", "Well", "14 Mar", "10:30", "1,234 indexed",
                 "2 needs browser"):
        assert part in said.text
    identity = source()["id"]
    assert said.links == [
        f"/sources?id={identity}", "https://tower.example/feed.xml",
        f"/documents?source={identity}&state=indexed", f"/documents?source={identity}&state=needs_browser"]


def test_a_page_is_asked_for_with_the_words_and_the_zone_and_leads_to_the_next(
    api: Api, opened: Open, words: Read
) -> None:
    api.lists(source(), source("Other"))
    api.answers["GET /v1/sources/page"]["next"] = "a-cursor"
    app = opened("sources.py", text="tower")
    assert "2 sources" in words(app).text
    app.button(key="next-after").click().run()
    assert api.requests[0] == "GET /v1/sources/page?q=tower&limit=50&zone=UTC"
    assert api.requests[-1] == "GET /v1/sources/page?q=tower&limit=50&after=a-cursor&zone=UTC"


@pytest.mark.parametrize(
    ("differs", "word"),
    [
        ({}, "Well"),
        ({"last_poll": poll("unchanged")}, "Well"),
        ({"last_poll": None}, "Not polled yet"),
        ({"failures": 2, "last_poll": poll("failed")}, "Failing"),
        ({"failures": 1, "last_poll": poll("suspect")}, "Suspect"),
        ({"paused": True}, "Paused"),
        ({"paused": True, "failures": 2, "last_poll": poll("failed")}, "Paused"),
        ({"paused": True, "last_poll": None}, "Paused"),
        ({"kind": "kept", "last_poll": None}, "Nothing to poll"),
    ],
)
def test_its_health_is_a_word(differs: dict[str, Any], word: str) -> None:
    assert health(source(**differs))[1] == word


def test_what_is_wrong_is_told_with_how_often_and_what_differs_from_before() -> None:
    failing = source(failures=4, last_poll=poll("failed", "HTTP 503"), flags=["its texts are short"])
    assert trouble(failing) == "HTTP 503; 4 polls in a row; its texts are short"
    assert trouble(source()) == ""


@pytest.fixture
def one(api: Api, opened: Open) -> AppTest:
    """The recorded Harbour Gazette, opened."""
    api.records()
    return opened("sources.py", id=named("Harbour Gazette")["id"])


def test_one_source_is_shown_with_its_last_polls_and_their_reasons(one: AppTest, words: Read) -> None:
    said = words(one).text
    for part in ("Harbour Gazette", "town, sea", "every 1 h", "0.60", "not modified (HTTP 304)", "1 changed"):
        assert part in said


def test_a_poll_is_started_and_followed_with_a_way_to_prefect(api: Api, one: AppTest, words: Read) -> None:
    identity = named("Harbour Gazette")["id"]
    run = {"id": "a-run", "state": "running", "message": None, "url": "http://127.0.0.1:4200/runs/flow-run/a-run"}
    api.answers |= {f"POST /v1/sources/{identity}/poll": {"flow_run_id": "a-run"}, "GET /v1/runs/a-run": run}
    said = words(one.button(key="poll").click().run())
    assert "Polling Harbour Gazette" in said.text
    assert run["url"] in said.links


def test_what_cannot_be_done_is_told_beside_the_button(api: Api, one: AppTest, words: Read) -> None:
    identity = named("Harbour Gazette")["id"]
    api.answers[f"POST /v1/sources/{identity}/poll"] = problem(503, "not_ready", "Prefect is not ready yet.")
    said = words(one.button(key="poll").click().run()).text
    assert "Prefect is not ready yet." in said
    assert "Harbour Gazette" in said


def test_only_what_was_changed_is_sent(api: Api, one: AppTest, words: Read) -> None:
    identity = named("Harbour Gazette")["id"]
    api.answers[f"PATCH /v1/sources/{identity}"] = named("Harbour Gazette")
    one.segmented_control(key="choose-view").set_value("edit").run()
    one.number_input(key="edit-every").set_value(3)
    one.text_input(key="edit-tags").set_value("sea, pier")
    save = next(button for button in one.button if button.label == "Save")
    said = words(save.click().run())
    assert api.asked[-1] == {"every": "3h", "tags": ["sea", "pier"]}
    assert "Saved: 2 changes." in said.text


@pytest.mark.parametrize(
    ("was", "told", "changed"),
    [
        ({}, {"every": "1h"}, {}),
        ({"every_seconds": 5400}, {"every": "90m"}, {}),
        ({}, {"cron": "0 7 * * *", "zone": "UTC"}, {"cron": "0 7 * * *"}),
        ({"cron": "0 7 * * *", "every_seconds": None}, {"cron": "0 7 * * *", "zone": "Asia/Tokyo"},
         {"zone": "Asia/Tokyo"}),
        ({"cron": "0 7 * * *", "every_seconds": None}, {"every": "1h"}, {"every": "1h"}),
        ({"include": ["*/a"]}, {"include": []}, {"include": []}),
        ({}, {"name": None, "weight": 0.5, "limit": 100, "mode": "interesting"}, {"mode": "interesting"}),
    ],
)
def test_a_change_is_what_differs(was: dict[str, Any], told: dict[str, Any], changed: dict[str, Any]) -> None:
    assert changes(source() | was, told) == changed


def test_every_choice_of_a_new_source_is_one_that_a_source_has() -> None:
    assert set(USUAL) <= set(source())


def test_a_feed_is_looked_at_once_and_added_as_it_was_found(api: Api, opened: Open, words: Read) -> None:
    api.records()
    new = named("Harbour Gazette") | {"flow_run_id": None}
    api.answers["POST /v1/sources"] = new
    app = opened("sources.py", add="1", url="http://town.example/harbour.xml")
    said = words(app).text
    assert "32 items offered" in said
    assert "Its first items, as they will be read" in said
    next(button for button in app.button if button.label == "Add this source").click().run()
    assert [request for request in api.requests if "POST" in request] == [
        "POST /v1/sources/preview", "POST /v1/sources"]
    wanted = {"kind": "feed", "name": "Harbour Gazette", "every": "1h", "mode": "everything"}
    assert wanted.items() <= api.asked[-1].items()
    assert app.query_params["id"] == new["id"]


def test_a_json_api_gets_its_map_beside_its_first_rows(api: Api, opened: Open, words: Read) -> None:
    api.records()
    needs = problem(502, "needs_map", "It answers with JSON that is no feed.")
    api.answers["POST /v1/sources/preview"] = needs
    app = opened("sources.py", add="1", url="http://town.example/api")
    app.button(key="make-map").click().run()
    said = words(app).text
    for part in ("by.name", "The clerk", "Minutes of the council, 2"):
        assert part in said
    assert app.selectbox(key="map-data.posts-url").value == "link"
    app.selectbox(key="map-data.posts-author").set_value("by.name").run()
    api.answers["POST /v1/sources/preview"] = next(
        told for path, told in recorded().items() if path.endswith("/preview") and told["kind"] == "json")
    app.button(key="try-map").click().run()
    assert api.asked[-1]["map"] == {
        "items": "data.posts", "url": "link", "title": "name", "date": "created", "author": "by.name"}
    assert "Its first items, as they will be read" in words(app).text


def test_a_site_that_cannot_be_read_says_why(api: Api, opened: Open, words: Read) -> None:
    api.answers["POST /v1/sources/preview"] = problem(502, "site_refused", "HTTP 410 Gone.")
    assert "HTTP 410 Gone" in words(opened("sources.py", add="1", url="http://gone.example/")).text


def test_rows_and_guesses_are_shown_as_text() -> None:
    fields = [{"path": "<b>x</b>", "values": ["<script>", "![p](http://evil.example)"]}]
    said = Words(mapping.rows(fields))
    assert said.elements <= {"div", "table", "thead", "tbody", "tr", "th", "td", "code"}
    assert "<script>" in said.text


def test_what_an_opml_brought_is_counted_and_refusals_are_told() -> None:
    said = Words(subscriptions.told({
        "added": [{"id": "1"}], "known": ["A: is there"], "refused": ["<b>: no address"]})).lines
    assert said.startswith("1 source added\n1 source known already, 1 refused.")
    assert "<b>: no address" in said
