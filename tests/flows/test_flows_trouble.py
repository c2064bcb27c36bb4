"""Work that fails is told by /health until it succeeds, and is tried again at the next tick."""

from pathlib import Path

import pytest
from small_library import SmallLibrary

from almanac import wiring
from almanac.library import Process
from models.session import Database
from tasks.errors import Transient
from tasks.steps import handover, running

pytestmark = pytest.mark.database


async def test_why_the_index_failed_is_told_until_it_succeeds(
    db: Database, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = SmallLibrary(db, home, {})
    monkeypatch.setattr(wiring, "library", lambda: library)
    process = Process.__new__(Process)  # without its servers
    process.library, process.parts = library, {"index": "ok", "worker": "starting"}  # type: ignore[assignment] # a stand-in
    assert not handover.index_lags()
    with pytest.raises(Transient):
        async with running.told("index"):
            raise Transient("the index could not be written: no room\nand more")
    assert process.tell_parts() == {"index": "the index could not be written: no room", "worker": "starting"}
    assert handover.index_lags()
    async with running.told("index"):
        pass
    assert (process.tell_parts()["index"], handover.index_lags()) == ("ok", False)
