"""``almanac quality`` and ``almanac document diff``."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from household import Household
from small_library import SITE

from models.states import Severity
from tasks.ports import Remark

pytestmark = pytest.mark.database


class Strict:
    """Refuses everything."""

    def versions(self, versions: Sequence[UUID]) -> list[Remark]:
        return [
            Remark(
                "versions",
                "no text",
                Severity.CRITICAL,
                "it says too much",
                "9",
                "forty nests \x1b[2J",
                version_id=it,
            )
            for it in versions
        ]

    def chunks(self, chunks: Sequence[Mapping[str, Any]], window: int, dimensions: int) -> list[Remark]:
        return []


def refused(almanac: Any, household: Household) -> str:
    household.library.gate = Strict()
    said = almanac("read", f"{SITE}/owls")
    assert (said.status, said.err) == (1, "almanac: quarantined: it says too much\n")
    return str(almanac.json("document", "list")["documents"][0]["id"])


def test_what_was_refused_is_reported_and_released(almanac: Any, household: Household) -> None:
    document = refused(almanac, household)
    told = almanac("quality", "report")
    assert told.status == 0
    assert all(word in told.out for word in (document[:8], "quarantined", "it says too much", "forty nests"))
    assert "\x1b" not in told.out
    assert almanac.json("quality", "report", "--verdict", "quarantined")["counts"] == {"quarantined": 1}
    assert almanac.json("quality", "release", document[:8])["state"] == "indexed"
    again = almanac("quality", "release", document[:8])
    assert (again.status, again.out) == (1, "")
    assert again.err == "almanac: No gate has refused what this document says: there is nothing to decide.\n"


def test_what_was_refused_is_rejected(almanac: Any, household: Household) -> None:
    document = refused(almanac, household)
    assert almanac("quality", "reject", document[:8]).out == f"Rejected {document[:8]}\n"
    assert almanac.json("document", "show", document)["state"] == "rejected"


def test_nothing_is_said_to_be_found_where_nothing_was(almanac: Any) -> None:
    assert almanac("quality", "report").out == "The gates found nothing.\n"


def test_the_words_that_changed_are_marked(almanac: Any, household: Household) -> None:
    pages = household.library.fetcher.pages
    for text in (
        "A census\nForty nests were counted.\nRain fell.",
        "A census\nFifty nests were counted.\nHail, too.",
    ):
        pages[f"{SITE}/owls"] = text
        document = almanac.json("read", f"{SITE}/owls")["id"]
    lines = almanac("document", "diff", document[:8]).out.splitlines()
    assert lines[0].startswith("- version 1, read ")
    assert lines[1].startswith("+ version 2, read ")
    assert lines[3:] == ["~ [-Forty-]{+Fifty+} nests were counted.", "- Rain fell.", "+ Hail, too."]
    assert almanac.json("document", "diff", document, "1", "2")["counts"]["changed"] == 1
    assert almanac("document", "diff", document, "1", "3").err == (
        "almanac: There is nothing to compare: it has the versions 1, 2.\n"
    )
    assert almanac("document", "diff", document, "0", "1").status == 2
