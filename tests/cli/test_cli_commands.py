"""What each command does on a running library, for people and for programs."""

import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from household import Household
from small_library import FEED, SITE
from sqlalchemy import update

from models.tables import Source

pytestmark = pytest.mark.database


@pytest.fixture
def source(almanac: Any) -> Any:
    """The site's feed, added and read."""
    return almanac.json("source", "add", FEED, "--every", "2h")


def test_adding_a_source_waits_until_its_documents_are_indexed(source: Any) -> None:
    assert (source["kind"], source["name"], source["every_seconds"]) == ("feed", "Site", 7200)
    assert (source["documents"], source["unfinished"]) == ({"indexed": 2, "rejected": 1}, 0)


def test_adding_a_source_tells_what_was_found(almanac: Any) -> None:
    said = almanac("source", "add", FEED)
    assert (said.status, said.err) == (0, "")
    assert "Site" in said.out
    assert re.search(r"items +3\n", said.out)
    assert "2 indexed, 1 rejected" in said.out


def test_adding_a_source_need_not_wait(almanac: Any, household: Household) -> None:
    household.runs.away = True  # nothing is ever read
    source = almanac.json("source", "add", FEED, "--no-wait")
    assert (source["documents"], source["unfinished"]) == ({"discovered": 3}, 3)


def test_adding_it_again_names_what_is_there(almanac: Any, source: Any) -> None:
    said = almanac("source", "add", FEED)
    assert said.status == 1
    assert source["id"] in said.err


def test_every_choice_reaches_the_source(almanac: Any) -> None:
    source = almanac.json(
        "source", "add", FEED, "--name", "Owls only", "--cron", "0 7 * * *", "--priority", "80",
        "--weight", "1", "--include", "*owls*", "--include", "*eagles*", "--exclude", "*draft*",
        "--limit", "5", "--kind", "feed")
    assert (source["name"], source["cron"], source["every_seconds"]) == ("Owls only", "0 7 * * *", None)
    assert (source["priority"], source["weight"], source["limit_per_poll"]) == (80, 1.0, 5)
    assert (source["include"], source["exclude"]) == (["*owls*", "*eagles*"], ["*draft*"])
    assert source["documents"] == {"indexed": 1}


def test_a_source_is_known_by_the_beginning_of_its_id(almanac: Any, source: Any) -> None:
    for prefix in (source["id"][:4], source["id"][:8].upper(), source["id"]):
        assert almanac.json("source", "show", prefix)["id"] == source["id"]
    shown = almanac("source", "show", source["id"][:8]).out
    assert all(told in shown for told in (source["id"], FEED, "every 2h", "2 indexed"))
    listed = almanac("source", "list").out
    assert listed.splitlines()[1].startswith(source["id"][:8])


def test_an_ambiguous_id_is_asked_for_more(almanac: Any, household: Household) -> None:
    with household.library.db.begin() as session:
        for n in range(2):
            identity = UUID(f"abcd000{n}-0000-4000-8000-000000000000")
            session.add(Source(id=identity, kind="feed", name="A", url=f"{SITE}/{n}"))
    said = almanac("source", "show", "abcd")
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert "2 ids" in said.err


def test_polling_waits_and_tells_the_outcome(almanac: Any, household: Household, source: Any) -> None:
    assert almanac.json("source", "poll", source["id"])["outcome"] == "unchanged"
    household.library.fetcher.pages[f"{SITE}/swans"] = "Swans on the lake\nThey came back in March."
    said = almanac("source", "poll", source["id"][:8])
    assert (said.status, said.err) == (0, "")
    assert "1 new" in said.out
    assert "3 indexed" in said.out


def test_a_poll_that_fails_is_told_with_its_reason(almanac: Any, household: Household, source: Any) -> None:
    household.library.fetcher._feed = lambda: "<html><body>Please sign in</body></html>"
    said = almanac("source", "poll", source["id"])
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert "feed" in said.err


def test_a_poll_whose_run_dies_is_not_waited_for(almanac: Any, household: Household) -> None:
    source = almanac.json("source", "add", FEED)
    household.runs.dying = True
    said = almanac("source", "poll", source["id"])
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert "crashed" in said.err


def make_due(household: Household) -> None:
    with household.library.db.begin() as session:
        session.execute(update(Source).values(next_poll_at=datetime(2026, 1, 1, tzinfo=UTC)))


def test_all_that_are_due_are_polled_by_one_run_and_told_with_their_outcomes(
    almanac: Any, household: Household, source: Any
) -> None:
    household.runs.started.clear()
    make_due(household)
    household.library.fetcher.pages[f"{SITE}/swans"] = "Swans on the lake\nThey came back in March."
    told = almanac.json("source", "poll", "--due")
    assert household.runs.started == [("poll", {})]
    assert [(poll["source"], poll["outcome"]) for poll in told["polls"]] == [("Site", "new")]
    assert almanac.json("source", "show", source["id"])["documents"]["indexed"] == 3
    make_due(household)
    said = almanac("source", "poll", "--due")
    assert (said.status, said.err) == (0, "")
    assert "Site" in said.out
    assert "unchanged: not modified since" in said.out


def test_when_none_is_due_that_is_told(almanac: Any, source: Any) -> None:
    assert almanac("source", "poll", "--due").out == "No source was due.\n"
    assert almanac.json("source", "poll", "--due")["polls"] == []


def test_a_due_poll_that_fails_is_told_with_the_others(
    almanac: Any, household: Household, source: Any
) -> None:
    household.library.fetcher._feed = lambda: "<html><body>Please sign in</body></html>"
    make_due(household)
    said = almanac("source", "poll", "--due")
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert "1 of 1 polls went wrong: Site: not a feed" in said.err
    assert "suspect" in said.out
    make_due(household)
    told = json.loads(almanac("source", "poll", "--due", "--json").out)
    assert told["polls"][0]["outcome"] == "suspect"


def test_due_polls_need_not_be_waited_for(almanac: Any, household: Household) -> None:
    assert set(almanac.json("source", "poll", "--due", "--no-wait")) == {"flow_run_id"}


def test_without_interests_the_mode_interesting_reads_everything_and_says_so(almanac: Any) -> None:
    said = almanac("source", "add", FEED, "--mode", "interesting")
    assert said.status == 0
    assert "nothing is known yet of what interests you: until then everything is read" in said.err
    [source] = almanac.json("source", "list")["sources"]
    assert "interesting: nothing is known yet" in almanac("source", "show", source["id"]).out
    assert "skipped" not in source["documents"]


def test_a_source_is_changed_and_what_is_not_named_stays(almanac: Any) -> None:
    added = almanac.json("source", "add", FEED, "--name", "Site", "--no-wait")
    said = almanac("source", "edit", added["id"], "--every", "2d", "--tag", "sea", "--priority", "90")
    assert (said.status, said.out) == (0, "Changed Site: every, priority, tags\n")
    shown = almanac.json("source", "show", added["id"])
    assert (shown["every_seconds"], shown["priority"], shown["tags"], shown["name"], shown["weight"]) == (
        172_800, 90, ["sea"], "Site", 0.5)
    assert almanac.json("source", "edit", added["id"], "--tag", "")["tags"] == []


@pytest.mark.parametrize(("words", "why"), [
    ([], "say what to change"), (["--cron", "x"], "is no cron line"), (["--map", "url=x"], "map is for"),
])
def test_a_change_that_cannot_be_is_one_line(almanac: Any, words: list[str], why: str) -> None:
    added = almanac.json("source", "add", FEED, "--no-wait")
    said = almanac("source", "edit", added["id"], *words)
    assert (said.status, said.err.count("\n")) == (2, 1)
    assert why in said.err


def test_reading_again_what_was_read_just_now_says_how_it_stands(almanac: Any) -> None:
    for _ in range(2):  # as after an interrupt, which leaves the reading to the library
        said = almanac("read", f"{SITE}/owls")
        assert re.search(r"state +indexed\nversion +1, read \d{4}-\d\d-\d\d \d\d:\d\d UTC\n", said.out)
        assert "unchanged" not in said.out


def test_a_source_is_paused_resumed_and_removed(almanac: Any, source: Any) -> None:
    assert almanac.json("source", "pause", source["id"])["paused"] is True
    assert "paused" in almanac("source", "list").out
    assert almanac.json("source", "resume", source["id"])["paused"] is False
    assert almanac.json("source", "remove", source["id"])["documents"] == 3
    assert almanac("source", "list").out.startswith("No sources yet")


def test_reading_an_address_waits_for_its_end(almanac: Any) -> None:
    assert almanac.json("read", f"{SITE}/owls")["state"] == "indexed"
    said = almanac("read", f"{SITE}/lighthouse")
    assert (said.status, said.err) == (0, "")
    assert "indexed" in said.out
    assert "The lighthouse at Cape Verren" in said.out


def test_a_document_that_the_limit_holds_back_says_so_and_until_when(
    almanac: Any, household: Household
) -> None:
    household.library.settings.articles_per_hour = 1
    assert almanac.json("read", f"{SITE}/owls")["state"] == "indexed"
    waits = r"waits: 1 of 1 articles this hour are indexed; goes on about \d{4}-\d\d-\d\d \d\d:\d\d UTC"
    said = almanac("read", f"{SITE}/lighthouse")
    assert (said.status, said.err) == (0, "")
    assert re.search(rf"state +read\nreason +read; {waits}\n", said.out)
    assert re.search(waits, almanac("document", "list").out)
    [held] = almanac.json("document", "list", "--state", "read")["documents"]
    assert re.search(waits, almanac("document", "show", held["id"]).out)
    said = almanac("status")
    assert (said.status, said.err) == (0, "")
    assert re.search(rf"articles +{waits}", said.out)
    [source] = almanac.json("source", "list")["sources"]
    assert source["held"] == held["held"]
    assert re.search(rf"articles +{waits}", almanac("source", "show", source["id"]).out)
    assert re.search(rf"\n\n1 read, {waits}\n", almanac("source", "list").out)


def test_removed_documents_are_listed_where_they_are_asked_for(almanac: Any, source: Any) -> None:
    almanac.json("source", "remove", source["id"])
    removed = almanac.json("document", "list", "--state", "removed")["documents"]
    assert {document["reason"] for document in removed} == {"its source was removed"}
    assert len(removed) == 3


def test_what_is_listed_as_removed_can_be_shown_and_says_how_to_bring_it_back(
    almanac: Any, source: Any
) -> None:
    almanac.json("document", "remove", almanac.json("document", "list", "--limit", "1")["documents"][0]["id"])
    [removed] = almanac.json("document", "list", "--state", "removed")["documents"]
    assert re.search(r"reason +removed by its owner", almanac("document", "show", removed["id"][:8]).out)
    for command in ("retry", "versions", "remove"):
        said = almanac("document", command, removed["id"][:8])
        assert (said.status, said.out) == (1, "")
        assert said.err == ("almanac: There is no such document any more: removed by its owner. "
                            f"`almanac read {removed['url']}` brings it back.\n")


def test_an_address_that_cannot_be_read_fails_with_its_reason(almanac: Any) -> None:
    said = almanac("read", f"{SITE}/gone")
    assert (said.status, said.out) == (1, "")
    assert said.err == "almanac: rejected: HTTP 410 Gone\n"
    assert almanac("read", f"{SITE}/gone", "--json").out.count('"state": "rejected"') == 1


def test_a_document_shows_what_its_analysis_says_and_is_analysed_again(almanac: Any, source: Any) -> None:
    [owls] = [it for it in almanac.json("document", "list")["documents"] if it["url"].endswith("owls")]
    shown = almanac("document", "show", owls["id"]).out
    for name in ("kind", "category", "topics", "keywords", "summary", "analysed"):
        assert re.search(rf"^{name} +\S", shown, re.MULTILINE), name
    before = almanac.json("document", "show", owls["id"])["version"]["analysis"]
    again = almanac.json("document", "retry", owls["id"][:8], "--analyse")["version"]["analysis"]
    assert again["analysed_at"] > before["analysed_at"]
    assert again["summary"] == before["summary"]
    assert "kind" in almanac("document", "retry", owls["id"], "--analyse").out


def test_documents_are_listed_shown_retried_and_removed(
    almanac: Any, household: Household, source: Any
) -> None:
    listed = almanac.json("document", "list", "--source", source["id"][:8])
    assert len(listed["documents"]) == 3
    [gone] = almanac.json("document", "list", "--state", "rejected")["documents"]
    assert "410" in almanac("document", "list").out
    household.library.fetcher.pages[gone["url"]] = "Back again\nThe page that was gone is there once more."
    assert almanac.json("document", "retry", gone["id"][:8])["state"] == "indexed"
    assert "Back again" in almanac("document", "show", gone["id"][:8]).out
    assert [v["number"] for v in almanac.json("document", "versions", gone["id"])["versions"]] == [1]
    assert "Back again" in almanac("document", "versions", gone["id"]).out
    assert almanac.json("document", "remove", gone["id"])["documents"] == 1
    assert len(almanac.json("document", "list")["documents"]) == 2


def test_a_page_that_is_gone_is_told_by_its_poll_and_shown_with_since_when(
    almanac: Any, household: Household
) -> None:
    pages = household.library.fetcher.pages
    pages[f"{SITE}/board"] = "The board\nThe council meets on Friday."
    board = almanac.json("source", "add", f"{SITE}/board", "--kind", "page")
    text, pages[f"{SITE}/board"] = pages[f"{SITE}/board"], None
    gone = almanac("source", "poll", board["id"])
    assert (gone.status, gone.err) == (1, "almanac: HTTP 410 Gone\n")
    [row] = almanac.json("document", "list", "--source", board["id"])["documents"]
    fails = r"fails +since [-0-9]+ [:0-9]+ UTC; what it said on [-0-9]+ [:0-9]+ UTC still answers"
    assert re.search(fails, almanac("document", "show", row["id"]).out)
    pages[f"{SITE}/board"] = f"{text} And on Sunday."
    assert almanac.json("source", "poll", board["id"])["items_changed"] == 1
    assert "still answers" not in almanac("document", "show", row["id"]).out


def test_a_list_that_was_cut_says_so(almanac: Any, source: Any) -> None:
    assert "--limit 2" in almanac("document", "list", "--limit", "2").out


def test_a_token_is_shown_once_and_can_be_revoked(almanac: Any) -> None:
    secret = almanac("token", "add", "assistant").out.strip()
    assert re.fullmatch(r"\S{40,}", secret)
    listed = almanac("token", "list").out
    assert "assistant" in listed
    assert secret not in listed
    [token] = [row for row in almanac.json("token", "list")["tokens"] if row["name"] == "assistant"]
    assert almanac("token", "revoke", token["id"][:8]).status == 0
    assert "revoked" in almanac("token", "list").out


def test_the_index_is_verified_and_made_again(almanac: Any, household: Household, source: Any) -> None:
    assert almanac("index", "verify").status == 0
    household.library.index.entries.clear()
    said = almanac("index", "verify")
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert "almanac index rebuild" in said.err
    assert almanac("index", "rebuild").status == 0
    assert almanac.json("index", "verify")["missing"] == 0


def test_a_rebuild_that_ends_badly_says_where_to_look(almanac: Any, household: Household) -> None:
    household.runs.dying = True
    said = almanac("index", "rebuild")
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert "crashed" in said.err
    assert "Prefect UI" in said.err


def test_an_index_in_trouble_is_to_be_made_again_only_when_its_cause_is_mended(
    almanac: Any, household: Household, source: Any
) -> None:
    household.library.index.entries.clear()
    household.parts["index"] = "the disk is full"
    said = almanac("index", "verify")
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert "its last work failed (the disk is full): mend that, then `almanac index rebuild`" in said.err


def test_an_address_that_fails_but_answers_still_is_listed_so(
    almanac: Any, household: Household, source: Any
) -> None:
    page = f"{SITE}/owls"
    household.library.fetcher.pages[page] = None
    [owls] = [each for each in almanac.json("document", "list")["documents"] if each["url"] == page]
    assert almanac("document", "retry", owls["id"]).status == 1
    listed = almanac("document", "list", "--state", "rejected").out
    assert re.search(r"still answers; HTTP 410", listed)
    assert len(re.findall("still answers", listed)) == 1


def test_a_title_with_commands_for_the_terminal_does_no_harm(almanac: Any, household: Household) -> None:
    household.library.fetcher.pages[f"{SITE}/evil"] = "\x1b[2Jevil\x1b]0;owned\x07\nA text of some length."
    said = almanac("read", f"{SITE}/evil")
    assert "evil" in said.out
    assert "\x1b" not in said.out
