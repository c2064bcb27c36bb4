"""Who may reach what by an assistant and by the command line: rows of every scope set. No cell leaks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assistant import call, over_http, refused
from household import Household, household_of_its_own
from rooms import CALLERS, PUBLIC, Rooms, furnish
from scoped_rows import QUERY, marks, readable

from almanac.stack.postgres import Postgres

pytestmark = pytest.mark.database

UNKNOWN = "ffffffff-ffff-4fff-8fff-ffffffffffff"


@pytest.fixture(scope="module")
def rooms(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    home = tmp_path_factory.mktemp("matrix")
    with household_of_its_own(postgres, home) as household:
        household.runs.away = True
        yield furnish(household, home)


@pytest.fixture(scope="module")
def shared(rooms: Rooms) -> Household:
    """What ``shared_served`` serves."""
    return rooms.household


@pytest.fixture
def served(shared_served: int) -> int:
    """What ``almanac`` speaks to."""
    return shared_served


@pytest.mark.parametrize("caller", CALLERS)
async def test_an_assistant_is_told_of_what_its_token_reads(
    rooms: Rooms, shared_served: int, caller: str
) -> None:
    who, seen = CALLERS[caller], readable(CALLERS[caller].reads, PUBLIC)
    async with over_http(shared_served, rooms.bearers[caller]) as session:
        assert marks(await call(session, "search_library", query=QUERY, k=100)) == seen
        assert marks(await call(session, "list_sources")) == seen
        assert not marks(await call(session, "library_status"))
        unknown = await refused(session, "read_document", document_id=UNKNOWN)
        for name, cell in rooms.cells.items():
            if name in seen:
                assert marks(await call(session, "read_document", document_id=str(cell.document))) == {name}
            else:
                assert await refused(session, "read_document", document_id=str(cell.document)) == unknown
            handed = {"text": f"said to an assistant of {caller} for {name}", "scopes": cell.scopes}
            if set(cell.scopes) <= set(who.writes):
                assert "Kept" in await call(session, "keep", **handed)
            else:
                assert "This token may" in await refused(session, "keep", **handed)


def test_the_command_line_is_told_of_what_the_owner_reads(rooms: Rooms, almanac: Any) -> None:
    seen = readable(CALLERS["owner"].reads, PUBLIC)
    for words in (("search", QUERY, "-k", "100", "--min-similarity", "0"), ("document", "list"),
                  ("source", "list"), ("source", "export"), ("quality", "report")):
        assert marks(almanac(*words).out) == seen, words
    unknown = almanac("document", "show", UNKNOWN)
    for name, cell in rooms.cells.items():
        for words in (("document", "show"), ("document", "versions"), ("source", "show")):
            said = almanac(*words, str(cell.source if words[0] == "source" else cell.document))
            if name in seen:
                assert (said.status, marks(said.out)) == (0, {name}), words
            else:
                assert (said.status, marks(said.out + said.err)) == (1, set())
        if name not in seen:
            said = almanac("document", "show", str(cell.document))
            assert (said.status, said.out, said.err) == (unknown.status, unknown.out, unknown.err)


def test_the_command_line_keeps_where_its_token_may_write(almanac: Any, tmp_path: Path) -> None:
    assert almanac("keep", "--text", "for all of the library", "--scope", "library", "--no-wait").status == 0
    refused = almanac("keep", "--text", "for the family", "--scope", "family", "--no-wait")
    assert (refused.status, refused.out) == (1, "")
    assert "This token may not write into “family”: " in refused.err
    assert almanac("organization", "add", "family").status == 0
    assert almanac("organization", "admit", "family", "owner", "--write").status == 0
    kept = almanac.json("keep", "--text", "for the family", "--scope", "family", "--no-wait")
    assert almanac.json("document", "show", kept["document_id"])["scopes"] == ["family"]
    assert "owner*" in almanac("organization", "list").out
    made = almanac.json("token", "add", "eve", "--scope", "family", "--scope", "library", "--write", "family")
    assert (made["scopes"], made["writes"]) == (["family", "library"], ["family"])
    assert almanac.json("token", "add", "guest", "--read-only")["writes"] == []
    again = almanac("token", "add", "eve")
    assert (again.status, again.out) == (1, "")
    assert "There is a token of the name eve already" in again.err
    assert almanac("organization", "dismiss", "family", "owner").status == 0
    assert almanac("document", "show", kept["document_id"]).status == 1
    assert almanac("organization", "remove", "family").status == 0
