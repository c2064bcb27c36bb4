"""Reading: what each kind of look does to a document, and that one look harms no other."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from models.addresses import identity_key
from models.blocks import Block, BlockKind, digest
from models.extracted import Extracted
from models.session import Database
from models.states import ChunkState, DocumentState
from models.tables import LIBRARY_SCOPE, Chunk, Document, DocumentVersion, Source
from tasks import curate
from tasks.errors import NeedsBrowser, NeedsCredential, Permanent, Postponed, StageError, Transient, Unsafe
from tasks.ports import Fetched, Validators, Wanted
from tasks.read import due, read_documents, release
from tasks.read.claims import PER_HOST, claim
from tasks.read.save import LONGEST_RETRY, backoff

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SITE = "https://site.example"


class Site:
    """A fetcher over pages in memory: an address answers with text, with 304, or with a failure."""

    def __init__(self, pages: dict[str, str | StageError | None]) -> None:
        self.pages = pages
        self.asked: list[tuple[str, Validators | None]] = []
        self.moves: dict[str, str] = {}

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any) -> Fetched:
        self.asked.append((url, validators))
        await asyncio.sleep(0)
        page = self.pages[url]
        if isinstance(page, StageError):
            raise page
        return Fetched(
            url=url, final_url=self.moves.get(url, url), status=304 if page is None else 200,
            body=(page or "").encode(), media_type="text/html", charset=None,
            validators=Validators(etag='"1"'), fetched_at=NOW,
        )


class Lines:
    """A parser for which each line is a paragraph; ``canonical: URL`` and ``crash`` lines are obeyed."""

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        lines = body.decode().splitlines()
        canonical = next((line[11:] for line in lines if line.startswith("canonical: ")), None)
        if "crash" in lines:
            raise KeyError("a fault of ours")
        if not lines:
            raise NeedsBrowser("the page has no text")
        blocks = tuple(Block(BlockKind.PARAGRAPH, line) for line in lines if not line.startswith("canonical"))
        return Extracted(blocks, title=lines[0], extractor="lines", canonical_url=canonical,
                         site_name="Harbour News", modified_at=NOW).to_json()


def plant(db: Database, *urls: str, **values: Any) -> list[UUID]:
    """A source with a document for each address, due now."""
    with db.begin() as session:
        source = Source(kind="feed", name="Site", url=f"{SITE}/{uuid4()}")
        session.add(source)
        session.flush()
        documents = [
            Document(id=uuid4(), source_id=source.id, url=url, key=identity_key(url),
                     discovered_at=NOW + timedelta(seconds=i), **{"due_at": NOW} | values)
            for i, url in enumerate(urls)
        ]
        session.add_all(documents)
        return [document.id for document in documents]


def document(db: Database, document_id: UUID) -> Document:
    with db.begin() as session:
        return session.get_one(Document, document_id)


def versions(db: Database, document_id: UUID) -> Sequence[DocumentVersion]:
    with db.begin() as session:
        query = select(DocumentVersion).where(DocumentVersion.document_id == document_id)
        return session.scalars(query.order_by(DocumentVersion.number)).all()


async def read(db: Database, site: Site, now: datetime = NOW, **options: Any) -> dict[str, tuple[str, str]]:
    reads = await read_documents(db, site, Lines(), "test", 100, now, **options)
    return {read.url: (read.state, read.reason) for read in reads}


async def test_a_page_that_is_read_becomes_a_version_whose_text_and_hash_agree(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a")
    await read(db, Site({f"{SITE}/a": "Tide table\nHigh water at nine."}))
    [version] = versions(db, page)
    assert version.text == "Tide table\n\nHigh water at nine."
    assert version.content_hash == digest(version.text) == document(db, page).content_hash
    assert (version.number, version.indexed_at) == (1, None)
    assert (version.site_name, version.modified_at) == ("Harbour News", NOW)
    assert document(db, page).state == DocumentState.READ
    assert document(db, page).due_at is None


@pytest.mark.parametrize(
    ("failure", "state", "comes_back"),
    [
        (Transient("HTTP 503"), DocumentState.WAITING, True),
        (Permanent("gone (HTTP 404)"), DocumentState.REJECTED, False),
        (Unsafe("a loopback address"), DocumentState.REJECTED, False),
        (NeedsCredential("it asks for a password"), DocumentState.REJECTED, False),
        (NeedsBrowser("no text"), DocumentState.NEEDS_BROWSER, False),
    ],
)
async def test_a_failure_sets_the_state_that_its_class_names_and_says_why(
    db: Database, failure: StageError, state: str, comes_back: bool
) -> None:
    [page] = plant(db, f"{SITE}/a")
    await read(db, Site({f"{SITE}/a": failure}))
    row = document(db, page)
    assert (row.state, row.reason, row.due_at is not None) == (state, failure.reason, comes_back)
    assert (row.leased_by, row.leased_until, row.attempts) == (None, None, 1)
    assert versions(db, page) == []


async def test_a_wait_that_the_server_asked_for_is_kept_but_never_longer_than_a_day(db: Database) -> None:
    hour, year = plant(db, f"{SITE}/hour", f"{SITE}/year")
    await read(db, Site({f"{SITE}/hour": Transient("HTTP 429", timedelta(hours=1)),
                         f"{SITE}/year": Transient("HTTP 429", timedelta(days=365))}))
    assert document(db, hour).due_at == NOW + timedelta(hours=1)
    assert document(db, year).due_at == NOW + LONGEST_RETRY


async def test_attempts_that_are_used_up_end_in_failed_with_the_last_reason(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a", attempts=7)
    await read(db, Site({f"{SITE}/a": Transient("HTTP 503")}))
    row = document(db, page)
    assert (row.state, row.due_at) == (DocumentState.FAILED, None)
    assert row.reason == "given up after 8 attempts: HTTP 503"


def test_the_wait_between_attempts_doubles_up_to_a_day_and_is_never_the_same_for_all() -> None:
    waits = [backoff(attempts) / timedelta(minutes=1) for attempts in range(1, 30)]
    for attempts, wait in enumerate(waits):
        assert 0.75 * min(2**attempts, 1440) <= wait <= 1.25 * min(2**attempts, 1440)
    assert len({backoff(3) for _ in range(5)}) > 1


async def test_an_unchanged_page_makes_no_version_whether_told_by_304_or_by_its_text(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a")
    site = Site({f"{SITE}/a": "Same words"})
    await read(db, site)
    await read(db, site, ids=[page])
    site.pages[f"{SITE}/a"] = None
    await read(db, site, ids=[page])
    assert len(versions(db, page)) == 1
    assert site.asked[0][1] == Validators()
    assert site.asked[2][1] == Validators(etag='"1"')


@pytest.mark.parametrize(("version", "expected"), [
    ({}, ("read", "unchanged, waits for the index")),
    ({"indexed_at": NOW}, ("indexed", "unchanged")),
    ({"failure": "it cannot be indexed: too odd"}, ("failed", "it cannot be indexed: too odd")),
])
async def test_an_unchanged_document_is_where_its_newest_version_is(
    db: Database, version: dict[str, Any], expected: tuple[str, str]
) -> None:
    [identity] = plant(db, f"{SITE}/a")
    site = Site({f"{SITE}/a": "One"})
    await read(db, site)
    with db.begin() as session:
        newest = session.scalars(select(DocumentVersion)).one()
        for name, value in version.items():
            setattr(newest, name, value)
    await read(db, site, ids=[identity])
    assert (document(db, identity).state, document(db, identity).reason) == expected


async def test_a_poll_that_asks_again_during_the_look_is_not_forgotten(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a")
    later = NOW + timedelta(minutes=1)

    class Meanwhile(Site):
        async def fetch(
            self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any
        ) -> Fetched:
            with db.begin() as session:
                session.get_one(Document, page).due_at = later
            return await super().fetch(url, wanted, validators)

    await read(db, Meanwhile({f"{SITE}/a": "Words"}))
    assert (document(db, page).state, document(db, page).due_at) == (DocumentState.READ, later)


async def test_a_changed_page_makes_a_second_version_that_overtakes_one_not_indexed(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a")
    site = Site({f"{SITE}/a": "Water at nine"})
    await read(db, site)
    site.pages[f"{SITE}/a"] = "Water at ten"
    assert await read(db, site, ids=[page]) == {f"{SITE}/a": ("read", "changed: version 2")}
    first, second = versions(db, page)
    assert first.superseded_at is not None
    assert (second.number, second.text, second.superseded_at) == (2, "Water at ten", None)


async def test_a_look_that_goes_wrong_leaves_what_answered_before(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a")
    site = Site({f"{SITE}/a": "Good text"})
    await read(db, site)
    with db.begin() as session:
        row = session.get_one(Document, page)
        row.version_id = versions(db, page)[0].id
    answering = document(db, page).version_id
    for failure in (Transient("HTTP 500"), Permanent("gone (HTTP 410)"), NeedsBrowser("an empty shell")):
        site.pages[f"{SITE}/a"] = failure
        await read(db, site, ids=[page])
        assert document(db, page).version_id == answering
    assert [version.superseded_at for version in versions(db, page)] == [None]


async def test_the_same_words_at_another_address_are_a_duplicate_of_the_first(db: Database) -> None:
    first, second = plant(db, f"{SITE}/a", f"{SITE}/b")
    site = Site({f"{SITE}/a": "One text", f"{SITE}/b": "One text"})
    await read(db, site, ids=[first])
    await read(db, site, ids=[second])
    row = document(db, second)
    assert (row.state, row.duplicate_of) == (DocumentState.DUPLICATE, first)
    assert row.reason == f"{SITE}/a says exactly the same"
    assert versions(db, second) == []


async def test_of_two_copies_the_one_named_first_stays_however_slow_it_is(db: Database) -> None:
    first, second = plant(db, f"{SITE}/a", f"{SITE}/b")

    class Slow(Site):
        async def fetch(
            self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any
        ) -> Fetched:
            await asyncio.sleep(0.05 if url == f"{SITE}/a" else 0)
            return await super().fetch(url, wanted, validators)

    await read(db, Slow({f"{SITE}/a": "One text", f"{SITE}/b": "One text"}))
    assert (document(db, first).state, document(db, second).duplicate_of) == (DocumentState.READ, first)


async def test_a_page_whose_canonical_address_is_another_document_is_its_duplicate(db: Database) -> None:
    first, second = plant(db, f"{SITE}/a", f"{SITE}/amp/a")
    await read(db, Site({f"{SITE}/a": "The text", f"{SITE}/amp/a": f"The text\ncanonical: {SITE}/a"}))
    row = document(db, second)
    assert (row.state, row.duplicate_of) == (DocumentState.DUPLICATE, first)
    assert row.reason == f"its canonical address is {SITE}/a, which is read already"


async def test_two_pages_that_each_call_the_other_canonical_do_not_both_vanish(db: Database) -> None:
    pages = plant(db, f"{SITE}/a", f"{SITE}/b")
    await read(db, Site({f"{SITE}/a": f"A\ncanonical: {SITE}/b", f"{SITE}/b": f"A\ncanonical: {SITE}/a"}))
    assert sorted(document(db, page).state for page in pages) == ["duplicate", "read"]


async def test_a_canonical_address_nobody_has_read_does_not_make_a_duplicate(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a")
    await read(db, Site({f"{SITE}/a": f"Text\ncanonical: {SITE}/elsewhere"}))
    assert document(db, page).state == DocumentState.READ


async def test_an_address_that_moved_onto_another_document_is_its_duplicate(db: Database) -> None:
    new, old = plant(db, f"{SITE}/new", f"{SITE}/old")
    site = Site({f"{SITE}/new": "Text", f"{SITE}/old": "Text with a banner"})
    site.moves[f"{SITE}/old"] = f"{SITE}/new"
    await read(db, site)
    assert document(db, old).duplicate_of == new


async def test_a_document_that_becomes_a_copy_stops_answering(db: Database) -> None:
    first, second = plant(db, f"{SITE}/a", f"{SITE}/b")
    site = Site({f"{SITE}/a": "One", f"{SITE}/b": "Two"})
    await read(db, site)
    [version] = versions(db, second)
    with db.begin() as session:
        row = session.get_one(Document, second)
        row.version_id = version.id
        session.add(Chunk(id=uuid4(), version_id=version.id, document_id=second, source_id=row.source_id,
                          position=0, text="Two", headings=[], start=0, end=3, tokens=1, digest="x",
                          vector=b"", embedder="none", state=ChunkState.LIVE))
    site.pages[f"{SITE}/b"] = "One"
    await read(db, site, ids=[second])
    assert (document(db, second).duplicate_of, document(db, second).version_id) == (first, None)
    with db.begin() as session:
        assert session.scalars(select(Chunk.state)).all() == [ChunkState.RETIRING]


async def test_a_fault_of_ours_is_retried_and_does_not_harm_the_neighbours(db: Database) -> None:
    bad, good = plant(db, f"{SITE}/bad", f"{SITE}/good")
    await read(db, Site({f"{SITE}/bad": "crash", f"{SITE}/good": "Fine"}))
    assert (document(db, bad).state, document(db, good).state) == ("waiting", "read")
    assert document(db, bad).reason == "reading it failed inside Almanac (KeyError)"


async def test_what_postgresql_cannot_hold_is_refused_and_does_not_harm_the_neighbours(db: Database) -> None:
    bad, good = plant(db, f"{SITE}/bad", f"{SITE}/good")
    await read(db, Site({f"{SITE}/bad": "a\0b", f"{SITE}/good": "Fine"}))
    assert (document(db, bad).state, document(db, good).state) == ("rejected", "read")
    assert document(db, bad).reason == "what it says cannot be stored"


def test_no_document_is_taken_twice_and_a_lease_ends_by_time_or_by_release(db: Database) -> None:
    plant(db, f"{SITE}/a", f"{SITE}/b")
    assert len(claim(db, "one", 1, NOW)) == 1
    assert len(claim(db, "two", 9, NOW)) == 1
    assert claim(db, "three", 9, NOW) == []
    assert due(db, NOW) == 0
    assert release(db, "one") == 1
    assert due(db, NOW) == 1
    assert len(claim(db, "three", 9, NOW + timedelta(minutes=6))) == 2


async def test_a_batch_that_is_cancelled_gives_back_what_it_has_not_saved(db: Database) -> None:
    done, reading, not_begun = plant(db, *(f"{SITE}/{i}" for i in range(3)))
    at_it = asyncio.Event()

    class Slow(Site):
        async def fetch(self, url: str, *asked: Any, **more: Any) -> Fetched:
            if url != f"{SITE}/0":
                at_it.set()
                await asyncio.sleep(60)
            return await super().fetch(url, *asked, **more)

    batch = asyncio.create_task(read(db, Slow({f"{SITE}/0": "Words"})))
    await at_it.wait()
    for _ in range(300):
        if document(db, done).state == DocumentState.READ:
            break
        await asyncio.sleep(0.01)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert {it.id for it in claim(db, "another", 9, NOW)} == {reading, not_begun}


async def test_a_batch_that_fails_gives_back_what_it_has_not_saved(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = plant(db, f"{SITE}/a", f"{SITE}/b")

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tasks.read.batch.save", fail)
    with pytest.raises(ExceptionGroup):
        await read(db, Site({f"{SITE}/a": "Words", f"{SITE}/b": "More"}))
    assert {it.id for it in claim(db, "another", 9, NOW)} == set(planted)


async def test_what_another_has_taken_meanwhile_is_not_given_back(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a")

    class Late(Site):
        async def fetch(self, *asked: Any, **more: Any) -> Fetched:
            assert claim(db, "another", 9, NOW + timedelta(minutes=6))
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await read(db, Late({}))
    assert str(document(db, page).leased_by).startswith("another/")


def test_what_is_urgent_goes_first_and_one_host_does_not_fill_the_batch(db: Database) -> None:
    plant(db, *(f"https://big.example/{i}" for i in range(PER_HOST + 10)), priority=90)
    plant(db, "https://small.example/1", priority=10)
    taken = [document.url for document in claim(db, "one", 100, NOW)]
    assert len(taken) == PER_HOST + 1
    assert "https://small.example/1" in taken


@pytest.mark.parametrize("hidden", ["paused", "removed_at"])
def test_documents_of_a_paused_or_removed_source_are_left_alone(db: Database, hidden: str) -> None:
    plant(db, f"{SITE}/a")
    with db.begin() as session:
        source = session.scalars(select(Source)).one()
        setattr(source, hidden, True if hidden == "paused" else NOW)
    assert (due(db, NOW), claim(db, "one", 9, NOW)) == (0, [])


def test_a_document_that_is_due_later_or_never_is_not_taken(db: Database) -> None:
    plant(db, f"{SITE}/later", due_at=NOW + timedelta(seconds=1))
    plant(db, f"{SITE}/never", due_at=None)
    assert claim(db, "one", 9, NOW) == []


def test_hosts_behind_one_that_fills_the_window_are_served(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.read.claims.WINDOW", 10)
    plant(db, *(f"https://big.example/{i}" for i in range(40)), priority=90)
    plant(db, *(f"https://host-{i}.example/" for i in range(15)), priority=10)
    taken = [document.url for document in claim(db, "one", 30, NOW)]
    assert (len(taken), len([url for url in taken if "big" in url])) == (25, 10)


def test_two_claims_of_one_worker_name_hold_leases_of_their_own(db: Database) -> None:
    plant(db, f"{SITE}/a", f"{SITE}/b")
    [first], [second] = claim(db, "one", 1, NOW), claim(db, "one", 1, NOW)
    assert first.lease != second.lease
    assert (release(db, "on"), release(db, "one")) == (0, 2)


async def test_a_document_that_is_removed_while_it_is_read_stays_removed(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a")

    class Meanwhile(Site):
        async def fetch(self, *asked: Any, **more: Any) -> Fetched:
            curate.remove_document(db.caller([LIBRARY_SCOPE]), page, NOW)
            return await super().fetch(*asked, **more)

    assert await read(db, Meanwhile({f"{SITE}/a": "Words"})) == {}
    assert (document(db, page).state, versions(db, page)) == (DocumentState.REMOVED, [])


async def test_what_was_not_asked_at_all_costs_no_attempt_and_is_no_failure(db: Database) -> None:
    [page] = plant(db, f"{SITE}/a", attempts=7)
    await read(db, Site({f"{SITE}/a": Postponed("the host has asked for a pause", timedelta(minutes=3))}))
    row = document(db, page)
    assert (row.state, row.attempts, row.failing_since) == (DocumentState.WAITING, 7, None)
    assert row.due_at == NOW + timedelta(minutes=3)
