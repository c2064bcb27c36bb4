"""``almanac doctor`` where a library runs: what it says of itself, and which sources fail and why."""

import json
from typing import Any

import pytest
from household import Household
from small_library import FEED, SITE
from sqlalchemy import insert, text, update

from models.tables import CrawlDelay, Source

pytestmark = pytest.mark.database


def found(almanac: Any) -> dict[str, str]:
    findings = json.loads(almanac("doctor", "--json").out)["findings"]
    return {finding["what"]: finding["words"] for finding in findings}


def test_the_doctor_says_how_a_running_library_fares(almanac: Any, household: Household) -> None:
    added = almanac.json("source", "add", FEED)
    assert found(almanac)["sources"] == "1, none of which fails"
    with household.library.db.begin() as session:
        session.execute(update(Source).values(failures=3, health="failed since Monday: gone (HTTP 410)"))
        session.execute(insert(CrawlDelay).values(
            host="slow.example", asked=86_400, kept=60, read_at=text("now()")))
        session.execute(insert(CrawlDelay).values(
            host="site.example", asked=600, kept=60, read_at=text("now()")))
    shown = almanac("source", "show", added["id"]).out
    assert "60 s between two pages, of 600 s that it asks for" in shown
    told = found(almanac)
    assert told["library"] == "every part is well"
    assert told["sources"] == f"1 of 1 fail: {added['name']} (failed since Monday: gone (HTTP 410))"
    assert told["crawl delay"] == "slow.example asks for 86,400 seconds between two pages and is given 60"


def test_a_part_that_is_not_well_makes_it_sick(almanac: Any, household: Household) -> None:
    household.parts["index"] = "the folder is read-only"
    said = almanac("doctor")
    assert said.status == 1
    assert "index: the folder is read-only" in said.out


def test_where_nothing_runs_the_doctor_says_so_and_nobody_is_sick_of_it(alone: Any) -> None:
    said = alone("doctor", "--json")
    assert "Almanac is not running: start it with `almanac up`" in said.out
    assert SITE not in said.out
