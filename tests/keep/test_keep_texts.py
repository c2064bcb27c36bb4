"""The text door: four outcomes, and only they."""

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from doorway import LATER, NOW, InProcess, documents, note_of, versions
from sqlalchemy import event, update

from models.session import Database
from models.tables import Document, DocumentVersion
from tasks.errors import Rejected
from tasks.keep.given import Given, Subject
from tasks.keep.identity import Outcome, hashes
from tasks.keep.rows import Kept
from tasks.keep.texts import keep_texts

pytestmark = pytest.mark.database

TIDES = "# Tides\n\nThe pier floods at spring tide."
OTHER = "# Tides\n\nThe pier no longer floods."
THE_PIER = Subject("place", "The pier")
PIER = "https://harbour.example/pier"


async def keep(db: Database, parser: InProcess, *given: Given) -> list[Kept]:
    return await keep_texts(db, parser, given, NOW)


async def test_a_text_becomes_a_document_that_waits_for_the_index(db: Database, parser: InProcess) -> None:
    [kept] = await keep(db, parser, note_of(TIDES))
    [document] = documents(db)
    assert (kept.outcome, kept.created, kept.document_id) == (Outcome.INSERTED, True, document.id)
    assert (document.state, document.title, document.url) == ("read", "Tides", f"almanac:kept/{document.id}")
    with db.begin() as session:
        [version] = session.query(DocumentVersion).all()
    assert version.text == "Tides\n\nThe pier floods at spring tide."
    assert [block["kind"] for block in version.blocks] == ["heading", "paragraph"]


FULL = note_of(TIDES, uri=PIER, title="Tides at the pier", observed_at=NOW, expires_at=LATER,
               subject=THE_PIER)


@pytest.mark.parametrize(("first", "then", "outcome"), [
    (note_of(TIDES), note_of(TIDES), Outcome.UNCHANGED),
    (FULL, FULL, Outcome.UNCHANGED),
    (FULL, note_of(TIDES, expires_at=LATER), Outcome.UNCHANGED),  # what is not said is left as it is
    (note_of(TIDES), note_of(TIDES, title="Floods"), Outcome.REFRESHED),
    (note_of(TIDES), note_of(TIDES, uri=PIER), Outcome.REFRESHED),
    (note_of(TIDES, uri=PIER), note_of(TIDES, uri=PIER + "/2"), Outcome.REFRESHED),  # a new source of it
    (note_of(TIDES), note_of(TIDES, observed_at=NOW), Outcome.REFRESHED),
    (note_of(TIDES), note_of(TIDES, expires_at=LATER), Outcome.REFRESHED),
    (note_of(TIDES, expires_at=LATER), note_of(TIDES), Outcome.REFRESHED),  # it holds for ever now
    (note_of(TIDES), note_of(TIDES, subject=THE_PIER), Outcome.REFRESHED),
    (note_of(TIDES, uri=PIER), note_of(OTHER, uri=PIER), Outcome.REPLACED),
    (note_of(TIDES, uri=PIER), note_of(OTHER, uri=f"{PIER}?utm_source=feed"), Outcome.REPLACED),
    (note_of(TIDES, subject=THE_PIER), note_of(OTHER, subject=THE_PIER, title="Renamed"), Outcome.REPLACED),
    (note_of(TIDES), note_of(OTHER), Outcome.INSERTED),
    (note_of(TIDES, uri=PIER), note_of(OTHER, uri=PIER + "/2"), Outcome.INSERTED),
    (note_of(TIDES, subject=THE_PIER), note_of(OTHER, subject=Subject("ship", "The pier")), Outcome.INSERTED),
    (note_of(TIDES), note_of(TIDES, scopes=("family",)), Outcome.INSERTED),
    (note_of(TIDES), note_of(TIDES, scopes=("family", "library")), Outcome.INSERTED),
])
async def test_what_is_handed_in_again_has_one_of_four_outcomes(
    db: Database, parser: InProcess, first: Given, then: Given, outcome: Outcome
) -> None:
    [before] = await keep(db, parser, first)
    [after] = await keep(db, parser, then)
    assert after.outcome is outcome
    assert (after.document_id == before.document_id) is (outcome is not Outcome.INSERTED)
    assert len(documents(db)) == 1 + (outcome is Outcome.INSERTED)
    assert versions(db) == 1 + outcome.changes_content
    assert parser.parsed == 1 + outcome.changes_content  # nothing is read that is known


async def test_a_refresh_moves_what_is_said_and_asks_for_another_look(
    db: Database, parser: InProcess
) -> None:
    await keep(db, parser, note_of(TIDES))
    await keep(db, parser, FULL)
    [document] = documents(db)
    assert (document.title, document.url, document.observed_at, document.expires_at) == (
        "Tides at the pier", PIER, NOW, LATER)
    assert document.recheck == (
        "kept again with another title and uri and subject and observed_at and expires_at")
    with db.begin() as session:
        [version] = session.query(DocumentVersion).all()
    assert (version.title, version.final_url, version.published_at) == ("Tides at the pier", PIER, NOW)


async def test_a_text_that_changes_takes_its_own_title_along(db: Database, parser: InProcess) -> None:
    await keep(db, parser, note_of("# Old\n\nwords", uri=PIER))
    await keep(db, parser, note_of("# New\n\nwords", uri=PIER))
    assert documents(db)[0].title == "New"
    await keep(db, parser, note_of("# Newer\n\nwords", uri=PIER, title="Mine"))
    await keep(db, parser, note_of("# Newest\n\nwords", uri=PIER))
    assert documents(db)[0].title == "Mine"


async def test_a_change_of_markup_alone_makes_no_version(db: Database, parser: InProcess) -> None:
    await keep(db, parser, note_of("a *tide*", uri=PIER))
    [kept] = await keep(db, parser, note_of("a _tide_", uri=PIER))
    assert (kept.outcome, versions(db)) == (Outcome.REPLACED, 1)


async def test_what_was_removed_is_kept_anew(db: Database, parser: InProcess) -> None:
    [first] = await keep(db, parser, note_of(TIDES))
    with db.begin() as session:
        session.execute(update(Document).values(state="removed"))
    [again] = await keep(db, parser, note_of(TIDES))
    assert again.created
    assert again.document_id != first.document_id


async def test_a_polled_page_is_not_what_a_caller_says_of_its_address(
    db: Database, parser: InProcess
) -> None:
    from tasks.discover.add import add_single

    polled = add_single(db, PIER, NOW)
    [kept] = await keep(db, parser, note_of(TIDES, uri=PIER))
    assert kept.created
    assert kept.document_id != polled


@pytest.mark.parametrize("text", ["<!-- nothing -->", "---\ntitle: x\n---\n", "\ufeff"])
async def test_a_text_that_says_nothing_is_refused(db: Database, parser: InProcess, text: str) -> None:
    with pytest.raises(Rejected, match="nothing to read"):
        await keep(db, parser, note_of(text))
    assert documents(db) == []


async def test_one_that_is_refused_keeps_its_whole_batch_out(db: Database, parser: InProcess) -> None:
    with pytest.raises(Rejected):
        await keep(db, parser, note_of(TIDES), note_of("<!-- -->"))
    assert documents(db) == []


async def test_a_batch_holds_the_same_text_once(db: Database, parser: InProcess) -> None:
    outcomes = [kept.outcome for kept in await keep(db, parser, *[note_of(TIDES)] * 3, note_of(OTHER))]
    assert outcomes == [Outcome.INSERTED, Outcome.UNCHANGED, Outcome.UNCHANGED, Outcome.INSERTED]


async def test_an_unchanged_batch_costs_one_hash_and_one_look(db: Database, parser: InProcess) -> None:
    notes = [note_of(f"note {n}", uri=f"https://n.example/{n}") for n in range(40)]
    await keep(db, parser, *notes)
    statements: list[str] = []

    def notice(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(db.engine, "before_cursor_execute", notice)
    outcomes = {kept.outcome for kept in await keep(db, parser, *notes)}
    event.remove(db.engine, "before_cursor_execute", notice)
    assert outcomes == {Outcome.UNCHANGED}
    assert len(statements) == 2
    assert "sha256" in statements[0]
    assert all(statement.lstrip().startswith(("SELECT", "WITH")) for statement in statements)


@pytest.mark.parametrize("text", ["x", "Ünïcödé 漢字 🌊", "line\nline", "'; DROP TABLE document; --"])
def test_the_hash_is_a_uuid_of_version_8_over_the_utf8_bytes(db: Database, text: str) -> None:
    [found] = hashes(db, [text])
    raw = bytearray(hashlib.sha256(text.encode()).digest()[:16])
    raw[6], raw[8] = raw[6] & 15 | 128, raw[8] & 63 | 128
    assert found == UUID(bytes=bytes(raw))
    assert (found.version, found.variant) == (8, "specified in RFC 4122")


def test_twenty_who_hand_in_the_same_at_once_make_one_document(db: Database) -> None:
    start = Barrier(3)

    def work(_: int) -> list[Kept]:
        start.wait(10)
        return asyncio.run(keep_texts(db, InProcess(), [note_of(TIDES, uri=PIER), note_of(OTHER)], NOW))

    with ThreadPoolExecutor(3) as pool:
        kept = [one for done in pool.map(work, range(21)) for one in done]
    assert len(documents(db)) == 2
    assert len({one.document_id for one in kept}) == 2
    assert sum(one.created for one in kept) == 2


async def test_an_old_keep_that_is_said_again_answers_again(db: Database, parser: InProcess) -> None:
    await keep(db, parser, note_of(TIDES, expires_at=NOW - timedelta(days=1)))
    await keep(db, parser, note_of(TIDES))
    assert documents(db)[0].expires_at is None
