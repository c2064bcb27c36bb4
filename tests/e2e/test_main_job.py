"""The main job, end to end: the real command, PostgreSQL, Qdrant Edge and Prefect server, and a site of ours."""

import json
import re
import time
from typing import Any

import psycopg
import pytest
from gazette import PAGES, Site, article, page

from almanac.stack.postgres import Postgres

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


def rows(almanac: Any, query: str) -> list[tuple[Any, ...]]:
    """What PostgreSQL says, asked directly."""
    with psycopg.connect(Postgres(almanac.home).url(driver="postgresql")) as connection:
        return connection.execute(query.encode()).fetchall()


def traces(almanac: Any) -> list[tuple[Any, ...]]:
    """Everything that a poll of an unchanged site must leave as it is."""
    return rows(almanac, "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM document_version), "
                         "(SELECT count(*) FROM chunk), (SELECT max(xmin::text::bigint) FROM chunk), "
                         "(SELECT max(indexed_at) FROM document_version)")


def documents(almanac: Any, source: str) -> dict[str, dict[str, Any]]:
    listed = almanac.json("document", "list", "--source", source)
    return {re.sub(r"^http://127.0.0.1:\d+", "", row["url"]): row for row in listed["documents"]}


@pytest.fixture(scope="module")
def gazette(almanac: Any, site: Site) -> dict[str, Any]:
    """The site's feed, added, polled, read and indexed."""
    return dict(almanac.json("source", "add", f"{site.url}/feed.xml", "--limit", "100", timeout=300))


@pytest.fixture(scope="module")
def first_look(almanac: Any, gazette: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every document of the site after its first poll, by path."""
    return documents(almanac, gazette["id"])


def test_every_part_runs(almanac: Any) -> None:
    status = almanac.json("status")
    assert {part["name"] for part in status["parts"]} == {"postgres", "prefect", "library", "dashboard"}
    assert {part["state"] for part in status["parts"]} == {"running"}


def test_it_answers_what_it_can_do_from_its_own_documentation(almanac: Any) -> None:
    answer = almanac.json("search", "what can you do?")
    assert answer["excerpts"]
    assert {e["citation"]["source"] for e in answer["excerpts"]} == {"Almanac's own documentation"}


def test_a_source_is_known_by_what_was_found(gazette: dict[str, Any]) -> None:
    assert (gazette["kind"], gazette["name"]) == ("feed", "Harbour Gazette")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_every_page_ends_in_its_state_with_its_reason(first_look: dict[str, Any], page: Any) -> None:
    row = first_look[page.path]
    assert row["state"] == page.state, row["reason"]
    assert page.reason.lower() in row["reason"].lower()


def test_an_address_inside_this_machine_is_refused_by_its_class(first_look: dict[str, Any]) -> None:
    row = first_look["/admin"]
    assert row["state"] == "rejected"
    assert "loopback" in row["reason"]
    assert "127.0.0.1" not in row["reason"]


def test_robots_txt_is_obeyed_and_asked_once(site: Site, gazette: dict[str, Any]) -> None:
    assert site.requests["/private/notes"] == 0
    assert site.requests["/robots.txt"] == 1


QUESTIONS = ["Who keeps the lighthouse at Cape Verren?", "How many barn owls were counted?",
             "peat bog drains", "What did the wolves do?", "café on the Königstraße", "tides twelfths table"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_citation_is_the_stored_version_character_for_character(
    almanac: Any, gazette: dict[str, Any], question: str
) -> None:
    answer = almanac.json("search", question)
    assert answer["excerpts"]
    for excerpt in answer["excerpts"]:
        [(text, content_hash)] = rows(
            almanac, f"SELECT text, content_hash FROM document_version WHERE id = '{excerpt['version_id']}'")
        citation = excerpt["citation"]
        assert text[citation["start"] : citation["end"]] == excerpt["text"]
        assert citation["content_hash"] == content_hash
        cited = almanac.http.get(f"/v1/citations/{answer['retrieval_id']}/{excerpt['label']}").json()
        assert cited["text"] == excerpt["text"]
        assert (cited["start"], cited["end"]) == (citation["start"], citation["end"])
    assert len([e for e in answer["excerpts"] if e["document_id"] == answer["excerpts"][0]["document_id"]]) <= 2


def test_the_right_article_comes_first(almanac: Any, gazette: dict[str, Any]) -> None:
    first = almanac.json("search", "a comet with a tail of six degrees")["excerpts"][0]
    assert first["citation"]["title"] == "A comet over the observatory"


def test_accents_survive_a_wrong_charset(almanac: Any, gazette: dict[str, Any]) -> None:
    texts = dict(rows(almanac, "SELECT title, text FROM document_version"))
    assert "Königstraße serves crème brûlée" in texts["Café Müller"]
    assert "The inn “Zum Bären” has a sign" in texts["Das Wirtshaus"]
    assert "from Málaga and São Paulo" in texts["Das Wirtshaus"]


def test_raw_html_is_never_stored(almanac: Any, gazette: dict[str, Any]) -> None:
    [(found,)] = rows(almanac, "SELECT count(*) FROM document_version WHERE text ~ '</?(p|div|article|nav|h1)\\M'")
    assert found == 0


def test_nothing_relevant_is_an_answer(almanac: Any, gazette: dict[str, Any]) -> None:
    done = almanac.run("search", "zxqv frobnicate wibble")
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing relevant" in done.stdout.lower()


def test_a_second_poll_of_an_unchanged_site_changes_nothing(
    almanac: Any, site: Site, gazette: dict[str, Any]
) -> None:
    def asked() -> int:  # but for what waits, and may have its next attempt at any moment
        return sum(n for path, n in site.requests.items() if path not in {"/error", "/busy", "/slow"})

    before, asked_before = traces(almanac), asked()
    poll = almanac.json("source", "poll", gazette["id"])
    assert poll["outcome"] == "unchanged"
    assert traces(almanac) == before
    assert asked() == asked_before + 1


def test_a_changed_article_gets_a_version_and_the_old_text_answers_no_more(
    almanac: Any, site: Site, gazette: dict[str, Any]
) -> None:
    site.publish("/changing", article(40, "The price is 99 crowns."))
    almanac.json("source", "poll", gazette["id"])
    row = documents(almanac, gazette["id"])["/changing"]
    versions = almanac.json("document", "versions", row["id"])["versions"]
    assert [version["number"] for version in versions] == [2, 1]
    found = json.dumps(almanac.json("search", "What is the price in crowns?", "-k", "20"))
    assert "99 crowns" in found
    assert "12 crowns" not in found


def test_a_page_is_read_again_at_every_poll(almanac: Any, site: Site) -> None:
    board = almanac.json("source", "add", f"{site.url}/board", "--kind", "page")
    asked = site.requests["/board"]
    assert almanac.json("source", "poll", board["id"])["outcome"] == "unchanged"
    assert site.requests["/board"] == asked + 1
    site.publish("/board", article(7, "The council meets on Friday."))
    assert almanac.json("source", "poll", board["id"])["items_changed"] == 1
    [row] = almanac.json("document", "list", "--source", board["id"])["documents"]
    assert len(almanac.json("document", "versions", row["id"])["versions"]) == 2


def test_a_single_address_is_read_now(almanac: Any, site: Site) -> None:
    site.publish("/single", page("The well in the square", """
        <p>The well was dug by the monks in 1388, when the river had changed its bed and left the square dry.</p>
        <p>For four hundred years the women of the town drew their water here. The rope has cut deep marks into its rim,
        and nobody has ever counted them.</p>"""))
    row = almanac.json("read", f"{site.url}/single")
    assert row["state"] == "indexed"


def test_the_flows_are_seen_in_prefect_and_none_failed(almanac: Any, gazette: dict[str, Any]) -> None:
    prefect = f"http://127.0.0.1:{almanac.ports['PREFECT']}/api"
    deployments = almanac.http.post(f"{prefect}/deployments/filter", json={}).json()
    assert {"poll", "read", "index", "retrieve"} <= {d["entrypoint"].split(":")[0].split(".")[1] for d in deployments}
    runs = almanac.http.post(f"{prefect}/flow_runs/filter", json={"limit": 200}).json()
    assert {run["state_type"] for run in runs} <= {"COMPLETED", "SCHEDULED", "RUNNING", "PENDING", "CANCELLED"}
    assert "COMPLETED" in {run["state_type"] for run in runs}


def test_a_killed_library_comes_back_and_loses_nothing(almanac: Any, site: Site, gazette: dict[str, Any]) -> None:
    import os
    import signal

    before = almanac.json("search", "Who keeps the lighthouse at Cape Verren?")["excerpts"][0]["chunk_id"]
    [library] = [part for part in almanac.json("status")["parts"] if part["name"] == "library"]
    os.kill(library["pid"], signal.SIGKILL)
    until = time.monotonic() + 90
    while time.monotonic() < until:
        done = almanac.run("status", "--json")
        if done.returncode == 0 and json.loads(done.stdout)["parts"] != []:
            parts = {part["name"]: part for part in json.loads(done.stdout)["parts"]}
            if parts["library"]["state"] == "running" and parts["library"]["pid"] != library["pid"]:
                break
        time.sleep(0.5)
    after = almanac.json("search", "Who keeps the lighthouse at Cape Verren?")["excerpts"][0]["chunk_id"]
    assert after == before
    assert almanac.json("index", "verify")["missing"] == almanac.json("index", "verify")["orphans"] == 0
