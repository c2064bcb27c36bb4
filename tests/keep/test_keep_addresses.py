"""The URI door: what is at an address is fetched, scanned and kept like any other file."""

from dataclasses import replace

import made_files as made
import pytest
from doorway import NOW, SCOPES, Telling, documents
from sqlalchemy import select

from models.extracted import Extracted
from models.session import Database
from models.tables import Artifact
from tasks.errors import Rejected, Unsafe
from tasks.keep import convert, originals
from tasks.keep.files import Doors
from tasks.keep.given import Given, Subject
from tasks.keep.identity import Outcome
from tasks.keep.keep import keep
from tasks.keep.rows import Kept
from tasks.ports import Fetched, Fetcher, Original, Validators, Wanted

pytestmark = pytest.mark.database

PAGE = "https://harbour.example/tides/Report%202.html?x=1"


class Site:
    """One address, and what is there."""

    def __init__(self, body: bytes = made.HTML, media_type: str = "text/html", final_url: str = PAGE) -> None:
        self.body, self.media_type, self.final_url = body, media_type, final_url
        self.asked: list[tuple[str, Wanted]] = []

    async def fetch(
        self, url: str, wanted: Wanted, validators: object = None, headers: object = None
    ) -> Fetched:
        self.asked.append((url, wanted))
        if "10.0.0.1" in url:
            raise Unsafe("it is a private address")
        return Fetched(url, self.final_url, 200, self.body, self.media_type, "utf-8", Validators(), NOW)


class Words:
    async def convert(self, original: Original) -> Extracted:
        from tasks.extract import note

        return Extracted.from_json(note.parse(b"# Read\n\nfrom " + (original.url or "a file").encode()))


async def hand_in(doors: Doors, site: Fetcher, **given: object) -> Kept:
    kept = await keep(doors, site, Given(**{"scopes": SCOPES} | given), NOW)
    assert isinstance(kept, Kept)
    return kept


async def read(doors: Doors) -> None:
    await convert.convert_files(doors.db, doors.store, Words(), doors.folder, "worker", 9, NOW)


def artifact(db: Database) -> Artifact:
    with db.begin() as session:
        return session.scalars(select(Artifact)).one()


async def test_what_is_there_becomes_a_document_and_its_bytes_are_let_go(doors: Doors, db: Database) -> None:
    site = Site()
    kept = await hand_in(doors, site, uri=PAGE)
    assert site.asked == [(PAGE, Wanted.FILE)]
    assert (kept.outcome, artifact(db).name, artifact(db).url) == (Outcome.INSERTED, "Report 2.html", PAGE)
    await read(doors)
    assert (artifact(db).state, artifact(db).key) == ("ready", None)
    assert [key async for key, _ in doors.store.written()] == []
    assert originals.find(db.caller(SCOPES), kept.document_id) is None
    assert documents(db)[0].url == PAGE


async def test_the_original_stays_where_it_is_asked_for(doors: Doors, db: Database) -> None:
    kept = await hand_in(doors, Site(), uri=PAGE, preserve_source=True, text="the yearly report")
    await read(doors)
    found = originals.find(db.caller(SCOPES), kept.document_id)
    assert found is not None
    assert found.about == "the yearly report"
    async with originals.opened(doors, found) as path:
        assert path.read_bytes() == made.HTML


async def test_an_original_may_be_asked_for_later(doors: Doors, db: Database) -> None:
    await hand_in(doors, Site(), uri=PAGE)
    before = await hand_in(doors, Site(), uri=PAGE, preserve_source=True)  # not converted yet
    assert (before.outcome, artifact(db).preserve) == (Outcome.REFRESHED, True)
    assert len([key async for key, _ in doors.store.written()]) == 1
    await read(doors)
    with db.begin() as session:
        session.get_one(Artifact, before.artifact_id).preserve = False
    await doors.store.delete(artifact(db).key or "")
    with db.begin() as session:
        session.get_one(Artifact, before.artifact_id).key = None
    after = await hand_in(doors, Site(), uri=PAGE, preserve_source=True)  # its bytes had been let go
    found = originals.find(db.caller(SCOPES), after.document_id)
    assert found is not None
    async with originals.opened(doors, found) as path:
        assert path.read_bytes() == made.HTML
    again = await hand_in(doors, Site(), uri=PAGE, preserve_source=True)
    assert again.outcome is Outcome.UNCHANGED


async def test_the_same_page_again_is_nothing_and_a_changed_one_replaces_it(
    doors: Doors, scanner: Telling
) -> None:
    first = await hand_in(doors, Site(), uri=PAGE)
    await read(doors)
    again = await hand_in(doors, Site(), uri=PAGE)
    changed = await hand_in(doors, Site(made.HTML + b"<p>more"), uri=PAGE)
    assert [it.outcome for it in (again, changed)] == [Outcome.UNCHANGED, Outcome.REPLACED]
    assert first.document_id == again.document_id == changed.document_id
    assert len(scanner.seen) == 2


async def test_a_moved_page_is_known_by_its_bytes(doors: Doors) -> None:
    first = await hand_in(doors, Site(), uri=PAGE)
    moved = await hand_in(doors, Site(), uri="https://harbour.example/new", subject=Subject("page", "Tides"))
    assert (moved.outcome, moved.document_id) == (Outcome.REFRESHED, first.document_id)


async def test_bytes_that_move_to_the_address_of_another_document_take_none_from_it(
    doors: Doors, db: Database
) -> None:
    first = await hand_in(doors, Site(), uri=PAGE)
    other = await hand_in(doors, Site(made.HTML + b"<p>more"), uri="https://harbour.example/new")
    moved = await hand_in(doors, Site(), uri="https://harbour.example/new")
    assert (moved.outcome, moved.document_id) == (Outcome.REFRESHED, first.document_id)
    assert {row.id: row.url for row in documents(db)} == {
        first.document_id: PAGE, other.document_id: "https://harbour.example/new"}


@pytest.mark.parametrize(("site", "uri", "error", "reason"), [
    (Site(), "https://10.0.0.1/", Unsafe, "private"),
    (Site(final_url="http://harbour.example/x"), PAGE, Rejected, "it leads to http://.*only https"),
    (Site(made.report(), "text/html"), PAGE, Rejected, "its bytes are application/pdf"),
    (Site(made.HTML + b"harm-pattern"), PAGE, Rejected, "the scanner found it"),
    (Site(b""), PAGE, Rejected, "empty"),
])
async def test_what_may_not_come_in_leaves_nothing(
    doors: Doors, db: Database, site: Site, uri: str, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        await hand_in(doors, site, uri=uri)
    assert (documents(db), [key async for key, _ in doors.store.written()]) == ([], [])


async def test_an_owner_may_allow_http(doors: Doors) -> None:
    lax = replace(doors, limits=replace(doors.limits, http=True))
    assert (await hand_in(lax, Site(final_url="http://h.example/x"), uri="http://h.example/x")).created
