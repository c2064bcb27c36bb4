"""From a file to what it says: states in PostgreSQL that outlive every crash."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import made_files as made
import pytest
from doorway import NOW, SCOPES, declaration_of, documents, note_of, pieces
from sqlalchemy import select, update

from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.states import DocumentState
from models.tables import Artifact, Document, DocumentVersion
from tasks import curate
from tasks.errors import Permanent, Transient
from tasks.keep import convert, tickets
from tasks.keep.files import Doors
from tasks.keep.given import Given, Subject
from tasks.keep.rows import Kept
from tasks.keep.texts import keep_texts
from tasks.ports import Original

pytestmark = pytest.mark.database

REPORT = made.report()
SAID = Extracted((Block(BlockKind.PARAGRAPH, made.WORDS),), "", "test")
SUBJECT = Subject("report", "Tides")


class Scripted:
    """A converter whose answers are known beforehand."""

    def __init__(self, *answers: Extracted | Exception) -> None:
        self.answers = list(answers)
        self.seen: list[Original] = []

    async def convert(self, original: Original) -> Extracted:
        self.seen.append(original)
        assert original.path.read_bytes()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def upload(doors: Doors, body: bytes = REPORT, **more: Any) -> Kept:
    declared = declaration_of(body, "application/pdf", "report.pdf")
    given = Given(**{"scopes": SCOPES, "upload": declared} | more)
    secret = tickets.issue(doors.db, given, NOW).secret
    return await tickets.upload(doors, secret, pieces(body), NOW)


async def run(doors: Doors, *answers: Extracted | Exception, now: Any = NOW) -> list[convert.Converted]:
    return await convert.convert_files(
        doors.db, doors.store, Scripted(*answers), doors.folder, "worker", len(answers), now)


def artifact(db: Database) -> Artifact:
    with db.begin() as session:
        return session.scalars(select(Artifact)).one()


def versions(db: Database) -> Sequence[DocumentVersion]:
    with db.begin() as session:
        return session.scalars(select(DocumentVersion).order_by(DocumentVersion.number)).all()


async def test_a_file_that_is_converted_says_what_it_holds(doors: Doors, db: Database) -> None:
    kept = await upload(doors)
    convert.queue(db, [artifact(db).id])
    assert (artifact(db).state, convert.waiting(db, NOW)) == ("queued", 1)
    [done] = await run(doors, SAID)
    assert (done.state, artifact(db).state, convert.waiting(db, NOW)) == ("ready", "ready", 0)
    [document], [version] = documents(db), versions(db)
    assert (document.id, document.state, document.title) == (kept.document_id, "read", "report.pdf")
    assert (version.text, version.title, version.extractor) == (made.WORDS, "report.pdf", "test")


async def test_a_file_that_cannot_be_converted_is_found_by_what_is_known_of_it(
    doors: Doors, db: Database
) -> None:
    await upload(doors, about="Minutes of the harbour board, signed")
    [done] = await run(doors, Permanent("the PDF has no text layer: its pages are pictures"))
    assert (done.state, artifact(db).state) == ("failed", "failed")
    [document], [version] = documents(db), versions(db)
    assert document.state == DocumentState.READ
    assert document.reason == artifact(db).reason == "the PDF has no text layer: its pages are pictures"
    for known in ("report.pdf", "application/pdf", "Minutes of the harbour board, signed", "no text layer"):
        assert known in version.text


async def test_a_converter_that_is_away_is_asked_again_later_and_given_up_in_the_end(
    doors: Doors, db: Database
) -> None:
    await upload(doors)
    away = Transient("docling-serve does not answer")
    for attempt, wait in enumerate((1, 4, 16), 1):
        [done] = await run(doors, away, now=NOW + timedelta(days=attempt))
        assert (done.state, artifact(db).due_at - NOW) == (
            "queued", timedelta(days=attempt, minutes=wait))
    assert await run(doors, SAID, now=NOW + timedelta(days=3)) == []  # it is not due
    [done] = await run(doors, away, now=NOW + timedelta(days=9))
    assert (done.state, len(versions(db))) == ("failed", 1)


async def test_what_a_killed_process_had_is_free_when_its_lease_ends_or_it_starts_again(
    doors: Doors, db: Database
) -> None:
    await upload(doors)
    assert convert.claim(db, "worker/1", NOW) is not None
    assert (artifact(db).state, convert.claim(db, "worker/2", NOW)) == ("processing", None)
    convert.release(db, "worker")
    assert convert.claim(db, "worker/3", NOW) is not None
    with db.begin() as session:
        session.execute(update(Artifact).values(leased_until=NOW - timedelta(minutes=1)))
    [done] = await run(doors, SAID)
    assert done.state == "ready"


async def test_a_file_that_ends_its_process_each_time_is_given_up(doors: Doors, db: Database) -> None:
    await upload(doors)
    for _ in range(convert.MAX_ATTEMPTS):
        convert.claim(db, "worker/1", NOW)
        convert.release(db, "worker")
    [done] = await run(doors, SAID)
    assert (done.state, done.reason) == ("failed", "its conversion ended its process 4 times")


async def test_a_worker_that_was_paused_too_long_writes_nothing(doors: Doors, db: Database) -> None:
    await upload(doors)
    taken = convert.claim(db, "slow/1", NOW)
    assert taken is not None
    convert.release(db, "slow")
    await run(doors, SAID)
    late = Extracted((Block(BlockKind.PARAGRAPH, "late"),), "", "test")
    state, _ = await convert.settle(db, doors.store, taken, "slow/1", late, NOW)
    assert (state, [version.text for version in versions(db)]) == ("processing", [made.WORDS])


async def test_a_text_on_the_same_subject_is_not_overwritten_by_an_older_file(
    doors: Doors, db: Database
) -> None:
    first = await upload(doors, subject=SUBJECT)
    [text] = await keep_texts(db, doors.parser, [note_of("What holds now.", subject=SUBJECT)], NOW)
    assert text.document_id == first.document_id
    await run(doors, SAID)
    assert [version.text for version in versions(db)] == ["What holds now."]


async def test_what_answered_answers_until_the_new_file_is_read(doors: Doors, db: Database) -> None:
    await upload(doors, subject=SUBJECT)
    await run(doors, SAID)
    with db.begin() as session:
        session.execute(update(Document).values(version_id=versions(db)[0].id, state="indexed"))
    longer = REPORT + b"%more\n"
    await upload(doors, longer, subject=SUBJECT)
    [document] = documents(db)
    assert (document.state, document.version_id) == ("indexed", versions(db)[0].id)
    await run(doors, Extracted((Block(BlockKind.PARAGRAPH, "More."),), "", "test"))
    assert [version.number for version in versions(db)] == [1, 2]


async def test_a_removed_document_gets_no_version(doors: Doors, db: Database) -> None:
    kept = await upload(doors)
    curate.remove_document(db.caller(SCOPES), kept.document_id, NOW)
    await run(doors, SAID)
    assert versions(db) == []


async def test_a_retry_converts_a_failed_file_again(doors: Doors, db: Database) -> None:
    kept = await upload(doors)
    await run(doors, Permanent("broken"))
    assert curate.retry_document(db.caller(SCOPES), kept.document_id, NOW)
    assert documents(db)[0].due_at is None  # it has no address to be read
    [done] = await run(doors, SAID)
    assert (done.state, [version.number for version in versions(db)]) == ("ready", [1, 2])


async def test_a_store_that_lost_the_bytes_fails_the_conversion_and_not_the_run(
    doors: Doors, db: Database
) -> None:
    await upload(doors)
    await doors.store.delete(artifact(db).key or "")
    [done] = await run(doors, SAID)
    assert (done.state, done.reason) == ("failed", "its original is not in the store any more")
