"""The upload door: tickets that are good once, and bytes that are held to what was said of them."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import made_files as made
import psutil
import pytest
from doorway import NOW, SCOPES, Telling, declaration_of, documents, pieces
from sqlalchemy import func, select

from models.session import Database
from models.tables import Artifact, Document, UploadTicket
from tasks.errors import Away, Permanent, Rejected
from tasks.extract.types import DOCX, PDF, ZIP
from tasks.keep import originals, tickets
from tasks.keep.files import Doors
from tasks.keep.given import Declaration, Given, Subject
from tasks.keep.identity import Outcome
from tasks.keep.rows import Kept
from tasks.keep.store import ObjectStore

pytestmark = pytest.mark.database

REPORT = made.report()


def given_of(body: bytes, media_type: str = PDF, **more: object) -> Given:
    return Given(**{"scopes": SCOPES, "upload": declaration_of(body, media_type, "report.pdf")} | more)


async def upload(doors: Doors, given: Given, body: bytes) -> Kept:
    secret = tickets.issue(doors.db, given, NOW).secret
    return await tickets.upload(doors, secret, pieces(body[:10], body[10:]), NOW)


def artifacts(db: Database) -> int:
    with db.begin() as session:
        return session.scalar(select(func.count(Artifact.id))) or 0


async def stored(doors: Doors) -> list[str]:
    return [key async for key, _ in doors.store.written()]


async def test_an_upload_becomes_an_artifact_and_a_document_that_waits(doors: Doors, db: Database) -> None:
    kept = await upload(doors, given_of(REPORT, title="The report", about="on tides"), REPORT)
    assert kept.outcome is Outcome.INSERTED
    with db.begin() as session:
        [artifact] = session.scalars(select(Artifact)).all()
        [document] = session.scalars(select(Document)).all()
    assert (artifact.id, artifact.name, artifact.media_type, artifact.size) == (
        kept.artifact_id, "report.pdf", PDF, len(REPORT))
    assert (artifact.about, artifact.state) == ("on tides", "pending")
    assert (document.id, document.artifact_id, document.title, document.state) == (
        kept.document_id, artifact.id, "The report", "discovered")
    [key] = await stored(doors)
    assert key == artifact.key
    assert "report" not in key
    assert list(doors.folder.iterdir()) == []


async def test_an_original_comes_back_byte_for_byte_to_those_who_may_read_it(
    doors: Doors, db: Database
) -> None:
    kept = await upload(doors, given_of(REPORT, scopes=("family", "library")), REPORT)
    assert originals.find(db.caller(["library"]), kept.document_id) is None
    artifact = originals.find(db.caller(["family", "library", "work"]), kept.document_id)
    assert artifact is not None
    async with originals.opened(doors, artifact) as path:
        assert path.read_bytes() == REPORT
    assert list(doors.folder.iterdir()) == []


NOISE = b"\0" + made.gzipped(b"")


@pytest.mark.parametrize(("body", "packed"), [(made.MARKDOWN * 100, True), (NOISE, False)],
                         ids=["text", "noise"])
async def test_bytes_are_packed_where_that_saves(
    doors: Doors, db: Database, body: bytes, packed: bool
) -> None:
    media_type = "text/markdown" if packed else "application/x-noise"
    kept = await upload(doors, given_of(body, media_type), body)
    artifact = originals.find(db.caller(SCOPES), kept.document_id)
    assert artifact is not None
    assert artifact.packed is packed
    async with originals.opened(doors, artifact) as path:
        assert path.read_bytes() == body


async def test_an_original_that_was_changed_in_the_store_is_not_given_out(
    doors: Doors, db: Database, tmp_path: Path
) -> None:
    kept = await upload(doors, given_of(REPORT), REPORT)
    artifact = originals.find(db.caller(SCOPES), kept.document_id)
    assert artifact is not None
    file = tmp_path / "originals" / (artifact.key or "")
    for damaged in (file.read_bytes()[:-9], b"something else"):
        file.write_bytes(damaged)
        with pytest.raises(Permanent, match="not what was kept"):
            async with originals.opened(doors, artifact):
                pass
    file.unlink()
    with pytest.raises(Permanent, match="not in the store"):
        async with originals.opened(doors, artifact):
            pass


async def test_the_same_file_is_kept_once_in_a_scope_set(
    doors: Doors, db: Database, scanner: Telling
) -> None:
    first = await upload(doors, given_of(REPORT), REPORT)
    again = await upload(doors, given_of(REPORT), REPORT)
    renamed = await upload(doors, given_of(REPORT, title="Another title"), REPORT)
    other = await upload(doors, given_of(REPORT, scopes=("family",)), REPORT)
    assert [it.outcome for it in (again, renamed, other)] == [
        Outcome.UNCHANGED, Outcome.REFRESHED, Outcome.INSERTED]
    assert first.document_id == again.document_id == renamed.document_id != other.document_id
    assert (artifacts(db), len(await stored(doors)), len(scanner.seen)) == (2, 2, 2)


async def test_another_file_on_the_same_subject_replaces_the_first(doors: Doors, db: Database) -> None:
    subject = Subject("report", "Tides")
    first = await upload(doors, given_of(REPORT, subject=subject), REPORT)
    longer = REPORT + b"\n%more\n"
    second = await upload(doors, given_of(longer, subject=subject), longer)
    assert (second.outcome, second.document_id) == (Outcome.REPLACED, first.document_id)
    assert documents(db)[0].artifact_id == second.artifact_id


async def test_a_ticket_is_good_once(doors: Doors, db: Database) -> None:
    secret = tickets.issue(db, given_of(REPORT), NOW).secret
    await tickets.upload(doors, secret, pieces(REPORT), NOW)
    with pytest.raises(tickets.NoTicket):
        await tickets.upload(doors, secret, pieces(REPORT), NOW)


@pytest.mark.parametrize(("secret", "after"), [
    ("", tickets.LIFETIME), ("made-up-and-long-enough", timedelta()), ("\ud800", timedelta())])
async def test_a_ticket_that_is_old_or_unknown_is_the_same_as_none(
    doors: Doors, db: Database, secret: str, after: timedelta
) -> None:
    secret = secret or tickets.issue(db, given_of(REPORT), NOW).secret
    with pytest.raises(tickets.NoTicket):
        await tickets.upload(doors, secret, pieces(REPORT), NOW + after)
    assert await stored(doors) == []


def test_tickets_are_stored_hashed_and_forgotten_in_the_end(db: Database) -> None:
    secret = tickets.issue(db, given_of(REPORT), NOW).secret
    with db.begin() as session:
        [row] = session.scalars(select(UploadTicket)).all()
    assert secret not in {str(getattr(row, column.name)) for column in UploadTicket.__table__.columns}
    tickets.issue(db, given_of(REPORT), NOW + timedelta(days=2))
    tickets.forget(db, NOW + timedelta(days=2))
    with db.begin() as session:
        assert session.scalar(select(func.count(UploadTicket.id))) == 1


@pytest.mark.parametrize(("body", "reason"), [
    (REPORT[:-1], "bytes were declared, and .* came; its SHA-256"),
    (REPORT + b"x", "more than"),
    (REPORT[:-1] + b"x", "its SHA-256 is not the one that was declared"),
    (b"", "bytes were declared, and 0 came"),
], ids=["too short", "too long", "changed", "nothing"])
async def test_bytes_other_than_declared_are_refused_and_use_up_the_ticket(
    doors: Doors, db: Database, body: bytes, reason: str
) -> None:
    secret = tickets.issue(db, given_of(REPORT), NOW).secret
    with pytest.raises(Rejected, match=reason):
        await tickets.upload(doors, secret, pieces(body), NOW)
    with pytest.raises(tickets.NoTicket):
        await tickets.upload(doors, secret, pieces(REPORT), NOW)
    assert (await stored(doors), documents(db), list(doors.folder.iterdir())) == ([], [], [])


async def test_half_an_upload_leaves_nothing_and_may_be_tried_again(doors: Doors, db: Database) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield REPORT[:100]
        raise ConnectionResetError

    secret = tickets.issue(db, given_of(REPORT), NOW).secret
    with pytest.raises(ConnectionResetError):
        await tickets.upload(doors, secret, broken(), NOW)
    assert (await stored(doors), documents(db), list(doors.folder.iterdir())) == ([], [], [])
    assert (await tickets.upload(doors, secret, pieces(REPORT), NOW)).created


async def test_a_large_file_passes_through_without_being_held_in_memory(
    db: Database, doors: Doors, tmp_path: Path
) -> None:
    class Passing:
        async def scan(self, path: Path) -> None:
            """Finds nothing."""

    piece = made.MARKDOWN * 20_000
    count = 60_000_000 // len(piece)
    summed = hashlib.sha256()
    for _ in range(count):
        summed.update(piece)

    async def flood() -> AsyncIterator[bytes]:
        for _ in range(count):
            yield piece

    declared = Declaration("flood.txt", "text/plain", count * len(piece), summed.hexdigest())
    secret = tickets.issue(db, Given(SCOPES, upload=declared), NOW).secret
    before = psutil.Process().memory_info().rss
    kept = await tickets.upload(replace(doors, scanner=Passing()), secret, flood(), NOW)
    assert psutil.Process().memory_info().rss - before < 30_000_000
    artifact = originals.find(db.caller(SCOPES), kept.document_id)
    assert artifact is not None
    assert (tmp_path / "originals" / (artifact.key or "")).stat().st_size < 1_000_000


HARMFUL = made.MARKDOWN + b"harm-pattern"


@pytest.mark.parametrize(("body", "declared", "reason"), [
    (HARMFUL, "text/markdown", "the scanner found it"),
    (REPORT, DOCX, "its bytes are application/pdf"),
    (made.archive({"../x": b"x"}), ZIP, "leads out of it"),
], ids=["found", "contradicted", "archive"])
async def test_what_is_refused_leaves_nothing(
    doors: Doors, db: Database, body: bytes, declared: str, reason: str
) -> None:
    with pytest.raises(Rejected, match=reason):
        await upload(doors, given_of(body, declared), body)
    assert (await stored(doors), documents(db), artifacts(db)) == ([], [], 0)


async def test_without_a_scanner_only_text_comes_in(doors: Doors, db: Database) -> None:
    unscanned = replace(doors, scanner=None)
    assert (await upload(unscanned, given_of(made.MARKDOWN, "text/markdown"), made.MARKDOWN)).created
    with pytest.raises(Rejected, match="ALMANAC_CLAMD"):
        await upload(unscanned, given_of(REPORT), REPORT)
    assert artifacts(db) == 1


async def test_a_scanner_that_is_away_leaves_the_ticket_good(doors: Doors, db: Database) -> None:
    class Gone:
        async def scan(self, path: Path) -> None:
            raise Away("the scanner is away")

    secret = tickets.issue(db, given_of(REPORT), NOW).secret
    with pytest.raises(Away):
        await tickets.upload(replace(doors, scanner=Gone()), secret, pieces(REPORT), NOW)
    assert await stored(doors) == []
    assert (await tickets.upload(doors, secret, pieces(REPORT), NOW)).created


async def test_a_store_that_is_away_writes_no_row(doors: Doors, db: Database, tmp_path: Path) -> None:
    class Full(ObjectStore):
        async def put(self, key: str, path: Path) -> None:
            raise Away("the disk is full")

    full = replace(doors, store=Full((tmp_path / "full").as_uri()))
    with pytest.raises(Away):
        await upload(full, given_of(REPORT), REPORT)
    assert (artifacts(db), documents(db)) == (0, [])
