"""What becomes of bytes that nothing leads to any more."""

from datetime import timedelta
from pathlib import Path

import made_files as made
import pytest
from doorway import NOW, SCOPES, declaration_of, pieces

from models.session import Database
from tasks import curate
from tasks.keep import originals, tickets
from tasks.keep.files import Doors
from tasks.keep.given import Given
from tasks.keep.store import put_in
from tasks.keep.sweep import GRACE, sweep

pytestmark = pytest.mark.database


async def test_only_what_leads_to_no_document_is_deleted_and_not_at_once(
    doors: Doors, db: Database, tmp_path: Path
) -> None:
    kept = []
    for body in (made.MARKDOWN, made.CSV):
        given = Given(SCOPES, upload=declaration_of(body, "text/plain"))
        secret = tickets.issue(db, given, NOW).secret
        kept.append(await tickets.upload(doors, secret, pieces(body), NOW))
    left = tmp_path / "left"
    left.write_bytes(b"of a process that was killed before it wrote the row")
    await put_in(doors.store, left, doors.folder)
    curate.remove_document(db.caller(SCOPES), kept[0].document_id, NOW)
    assert await sweep(db, doors.store, NOW) == 0
    later = NOW + GRACE + timedelta(hours=1)
    assert await sweep(db, doors.store, later) == 2
    assert await sweep(db, doors.store, later) == 0
    assert originals.find(db.caller(SCOPES), kept[0].document_id) is None
    artifact = originals.find(db.caller(SCOPES), kept[1].document_id)
    assert artifact is not None
    async with originals.opened(doors, artifact) as path:
        assert path.read_bytes() == made.CSV
