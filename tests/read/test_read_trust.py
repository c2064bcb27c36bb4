"""What a page's server is believed, and for how long: “not modified”, texts that come and go, lost texts."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.tables import Document
from tasks import reports
from tasks.discover.add import add_single
from tasks.ports import Fetched, Validators, Wanted
from tasks.read import read_document

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Liar:
    """A site that says "not modified" whenever it is asked that, whatever changed."""

    def __init__(self) -> None:
        self.now = NOW
        self.text = "first"
        self.asked: list[Validators | None] = []

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any) -> Fetched:
        self.asked.append(validators)
        told = bool(validators and validators.etag)
        return Fetched(
            url=url, final_url=url, status=304 if told else 200, body=b"" if told else self.text.encode(),
            media_type="text/html", charset=None, validators=Validators(etag='W/"1"'), fetched_at=self.now,
        )


class Plain:
    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        blocks = (Block(BlockKind.PARAGRAPH, body.decode()),)
        return Extracted(blocks=blocks, title="A page", extractor="test").to_json()


class Site:
    """A page whose text is set, without validators."""

    def __init__(self) -> None:
        self.now, self.text = NOW, ""

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any) -> Fetched:
        return Fetched(url=url, final_url=url, status=200, body=self.text.encode(), media_type="text/html",
                       charset=None, validators=Validators(), fetched_at=self.now)


async def looks(
    db: Database, *texts: tuple[float, str], now: datetime = NOW
) -> list[tuple[int | None, str]]:
    """The version and the reason that each text came to, read so many hours after the first."""
    site = Site()
    document = add_single(db, "https://site.example/a", now)
    came_to = []
    for hours, site.text in texts:
        site.now = now + timedelta(hours=hours)
        read = await read_document(db, site, Plain(), "test", document, site.now)
        assert read is not None
        came_to.append((read.version, read.reason))
    return came_to


async def test_a_page_that_goes_back_and_forth_gets_one_version_a_day_at_most(db: Database) -> None:
    """A cache that serves two states of a page in turn."""
    day = [(0, "old"), (1, "new"), (2, "old"), (3, "new"), (4, "old"), (24, "old")]
    told = await looks(db, *day, (26, "old"), (27, "new"), (28, "newer"))
    assert [version for version, _ in told] == [1, 2, None, None, None, None, 3, None, 4]
    assert told[2][1] == told[4][1] == "it goes back and forth between two texts: version 2 stands"
    assert told[3][1] == "unchanged, waits for the index"


async def test_what_goes_back_and_forth_marks_its_source_as_flapping_for_a_day(db: Database) -> None:
    await looks(db, (0, "old"), (1, "new"), now=datetime.now(UTC))
    [source] = reports.sources(db.caller(["library"]))
    assert (source["flapping"], "flapping" in source["health"]) == (0, False)
    await looks(db, (2, "old"), now=datetime.now(UTC))
    [source] = reports.sources(db.caller(["library"]))
    assert source["flapping"] == 1
    assert source["health"].endswith("; flapping: 1 page goes back and forth between two texts")
    with db.begin() as session:
        session.execute(update(Document).values(flapped_at=Document.flapped_at - timedelta(days=2)))
    assert reports.sources(db.caller(["library"]))[0]["flapping"] == 0


LONG = "The ferries of the harbour were counted once more. " * 40


async def test_a_text_that_is_nearly_gone_is_looked_at_again_before_it_is_believed(db: Database) -> None:
    gone = "Gone for good"
    told = await looks(db, (0, LONG), (1, "Could not load"), (2, LONG), (3, gone), (4, gone))
    assert [version for version, _ in told] == [1, None, None, None, 2]
    assert told[1][1].startswith("it has lost most of the text of version 1: it is looked at again")
    assert told[2][1] == "unchanged, waits for the index"


async def test_a_text_that_was_cut_is_believed_at_once(db: Database) -> None:
    told = await looks(db, (0, LONG), (1, LONG[: len(LONG) // 2]), (2, "x" * 400), (3, "y" * 50))
    assert [version for version, _ in told] == [1, 2, 3, 4]


async def test_after_a_week_of_not_modified_the_page_is_asked_for_without_conditions(db: Database) -> None:
    site = Liar()
    document = add_single(db, "https://site.example/a", NOW)
    versions = []
    for day in (0, 1, 3, 6, 8, 9):
        site.now = NOW + timedelta(days=day)
        site.text = "second" if day else "first"
        read = await read_document(db, site, Plain(), "test", document, site.now)
        assert read is not None
        versions.append(read.version)
    assert [bool(asked and asked.etag) for asked in site.asked] == [False, True, True, True, False, True]
    assert versions == [1, None, None, None, 2, None]
