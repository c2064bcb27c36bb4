"""How long a page's server is believed when it says "not modified"."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
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

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None) -> Fetched:
        self.asked.append(validators)
        told = bool(validators and validators.etag)
        return Fetched(
            url=url, final_url=url, status=304 if told else 200, body=b"" if told else self.text.encode(),
            media_type="text/html", charset=None, validators=Validators(etag='W/"1"'), fetched_at=self.now,
        )


class Plain:
    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        return Extracted(blocks=(Block(BlockKind.PARAGRAPH, body.decode()),), title="A page", extractor="test").to_json()


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
