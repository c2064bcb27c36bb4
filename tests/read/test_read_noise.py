"""Noise makes no version, a changed figure does, and what comes and goes makes one."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.blocks import Block, BlockKind
from models.extracted import Extracted, Hidden
from models.session import Database
from models.tables import DocumentVersion
from tasks.discover.add import add_single
from tasks.ports import Fetched, Read, Validators, Wanted
from tasks.read import read_document

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PROSE = "The keeper of the light counted forty ships on the morning of the storm, and none of them was lost."
REGIONS = [f"{PROSE} In parish {number} it was the same, and the bells rang." for number in range(10)]


class Site:
    """A page whose blocks are set."""

    def __init__(self) -> None:
        self.now, self.blocks = NOW, [PROSE]

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any) -> Fetched:
        return Fetched(
            url=url,
            final_url=url,
            status=200,
            body="\n".join(self.blocks).encode(),
            media_type="text/html",
            charset=None,
            validators=Validators(),
            fetched_at=self.now,
        )


class Lines:
    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        blocks = tuple(Block(BlockKind.PARAGRAPH, line) for line in body.decode().split("\n"))
        return Extracted(blocks, "A page", "test", hidden=(Hidden("concealed", PROSE),)).to_json()


async def looks(db: Database, *texts: list[str], hours: float = 1) -> list[int | None]:
    """The number of the version that each look at the page made."""
    site = Site()
    document = add_single(db, "https://site.example/a", NOW)
    made = []
    for number, site.blocks in enumerate(texts):
        site.now = NOW + timedelta(hours=hours * number)
        read = await read_document(db, site, Lines(), "w", document, site.now)
        assert isinstance(read, Read)
        made.append(read.version)
    return made


async def test_a_page_whose_clock_and_counters_run_makes_one_version(db: Database) -> None:
    pages = [
        [
            PROSE,
            f"Last updated 1{n}:05",
            f"posted {n + 1} hours ago",
            f"Read {n * 100 + 7} times",
            f"Sponsored: kettle {n}",
        ]
        for n in range(4)
    ]
    assert await looks(db, *pages) == [1, None, None, None]


async def test_a_page_that_says_todays_date_makes_one_version_over_days(db: Database) -> None:
    pages = [
        ["Sunday, 1 March 2026", PROSE],
        ["Monday, 2 March 2026", PROSE],
        ["Tuesday, 3 March 2026", PROSE],
    ]
    assert await looks(db, *pages, hours=24) == [1, None, None]


async def test_a_changed_figure_makes_a_version(db: Database) -> None:
    assert await looks(
        db, [PROSE, "posted 1 hour ago"], [PROSE.replace("forty", "41"), "posted 2 hours ago"]
    ) == [1, 2]


async def test_a_b_a_makes_one_more_version_whatever_its_clock_says(db: Database) -> None:
    other = PROSE.replace("forty", "fifty")
    pages = [
        [text, f"It is 1{number}:00:00"] for number, text in enumerate([PROSE, other, PROSE, other, PROSE])
    ]
    assert await looks(db, *pages) == [1, 2, None, None, None]


async def test_a_region_that_did_not_load_makes_no_version_and_its_return_none(db: Database) -> None:
    assert await looks(db, REGIONS, REGIONS[:6], REGIONS) == [1, None, None]


async def test_a_part_that_stays_away_is_believed_at_the_second_look(db: Database) -> None:
    assert await looks(db, REGIONS, REGIONS[:6], REGIONS[:6]) == [1, None, 2]


async def test_a_text_that_loses_a_part_and_says_something_new_is_a_version(db: Database) -> None:
    assert await looks(db, REGIONS, [*REGIONS[:6], "The rest was withdrawn by the council."]) == [1, 2]


async def test_a_version_keeps_what_its_page_hides(db: Database) -> None:
    await looks(db, [PROSE])
    with db.begin() as session:
        version = session.query(DocumentVersion).one()
        assert version.hidden == [{"how": "concealed", "text": PROSE}]
