"""Pauses: a host that asks to be left alone is, also after a restart."""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.session import Database
from tasks.errors import Postponed, Transient
from tasks.ports import Wanted
from tasks.web.kept_pauses import KeptPauses
from tasks.web.pauses import KNOWN, Pauses

HTML = b"<p>hello"
BUSY = (503, b"", {"retry-after": "120"})


def soon(**delta: float) -> datetime:
    return datetime.now(UTC) + timedelta(**delta)


def is_paused(pauses: Pauses, host: str) -> bool:
    try:
        pauses.check(host)
    except Postponed:
        return True
    return False


async def test_a_pause_is_of_one_host_and_ends() -> None:
    pauses = Pauses()
    await pauses.begin("a", soon(seconds=0.1))
    until = r"a has asked for a pause until \d{4}-\d\d-\d\d \d\d:\d\d UTC"
    with pytest.raises(Postponed, match=until) as paused:
        pauses.check("a")
    assert paused.value.retry_after is not None
    assert timedelta() < paused.value.retry_after <= timedelta(seconds=0.11)
    pauses.check("b")
    await asyncio.sleep(0.11)
    pauses.check("a")


async def test_the_longer_of_two_pauses_stands() -> None:
    pauses = Pauses()
    await pauses.begin("a", soon(hours=1))
    await pauses.begin("a", soon(seconds=-1))
    assert is_paused(pauses, "a")


async def test_those_who_are_sent_away_do_not_all_return_at_once() -> None:
    pauses = Pauses()
    await pauses.begin("a", soon(hours=1))
    waits = set()
    for _ in range(20):
        with pytest.raises(Postponed) as paused:
            pauses.check("a")
        assert paused.value.retry_after is not None
        waits.add(paused.value.retry_after.total_seconds() // 10)
    assert len(waits) > 5
    assert min(waits) >= 359
    assert max(waits) <= 396


@pytest.mark.parametrize(("status", "retry_after", "paused"), [
    (429, "60", True), (503, "60", True), (403, "60", True), (429, "Wed, 21 Oct 2099 07:28:00 GMT", True),
    (429, "-5", False), (429, "soon", False), (429, "", False), (503, "", False), (403, "", False),
    (500, "60", False), (404, "60", False), (200, "60", False),
])
async def test_who_asks_for_a_wait_and_how(status: int, retry_after: str, paused: bool) -> None:
    pauses = Pauses()
    await pauses.heed("a", status, {"retry-after": retry_after} if retry_after else {})
    assert is_paused(pauses, "a") is paused


async def test_refusals_in_a_row_are_a_pause_though_none_was_asked_for() -> None:
    pauses = Pauses()
    for _ in range(2):
        await pauses.heed("a", 429, {})
    await pauses.heed("a", 200, {})  # it was of those addresses, not of the host
    for _ in range(2):
        await pauses.heed("a", 429, {"retry-after": "soon"})
    assert not is_paused(pauses, "a")
    await pauses.heed("a", 429, {})
    with pytest.raises(Postponed) as first:
        pauses.check("a")
    await pauses.heed("a", 429, {})
    with pytest.raises(Postponed) as second:
        pauses.check("a")
    waits = [each.value.retry_after or timedelta() for each in (first, second)]
    assert [round(wait / timedelta(minutes=1.05)) for wait in waits] == [1, 2]


async def test_a_host_that_asks_for_a_pause_is_left_alone(site: Any, door: Any) -> None:
    site.routes = {"/busy": BUSY, "/a": (200, HTML, {})}
    with pytest.raises(Transient, match="not available"):
        await door.fetch(site.url("/busy"), Wanted.PAGE)
    with pytest.raises(Postponed, match=f"{site.pair} has asked for a pause") as paused:
        await door.fetch(site.url("/a"), Wanted.PAGE)
    assert paused.value.retry_after is not None
    assert timedelta(seconds=115) < paused.value.retry_after <= timedelta(seconds=132)
    assert site.paths == ["/busy"]


async def test_a_redirect_does_not_lead_around_a_pause(open_site: Any, open_door: Any) -> None:
    first, other = await open_site(), await open_site("127.0.0.3")
    first.routes = {"/a": (302, b"", {"location": other.url("/a")})}
    other.routes = {"/busy": BUSY, "/a": (200, HTML, {})}
    door = open_door(f"{first.pair} {other.pair}")
    with pytest.raises(Transient, match="not available"):
        await door.fetch(other.url("/busy"), Wanted.FEED)
    with pytest.raises(Postponed):
        await door.fetch(first.url("/a"), Wanted.FEED)
    assert other.paths == ["/busy"]


@pytest.mark.database
async def test_a_pause_survives_a_restart(site: Any, open_door: Any, db: Database) -> None:
    site.routes = {"/busy": BUSY, "/a": (200, HTML, {})}
    before = open_door(site.pair, pauses=KeptPauses(db))
    with pytest.raises(Transient):
        await before.fetch(site.url("/busy"), Wanted.PAGE)
    before.close()
    after = open_door(site.pair, pauses=KeptPauses(db))
    with pytest.raises(Postponed, match="has asked for a pause") as paused:
        await after.fetch(site.url("/a"), Wanted.PAGE)
    assert paused.value.retry_after is not None
    assert timedelta(seconds=100) < paused.value.retry_after <= timedelta(seconds=132)
    assert site.paths == ["/busy"]


@pytest.mark.database
def test_kept_pauses_grow_and_are_forgotten_when_they_have_ended(db: Database) -> None:
    kept, later = KeptPauses(db), soon(hours=2)
    kept.save("a.example", later)
    kept.save("a.example", soon(hours=1))
    kept.save("b.example:8080", soon(seconds=-1))
    assert kept.load() == {"a.example": later}
    with db.begin() as session:
        assert session.connection().exec_driver_sql("SELECT count(*) FROM host_pause").scalar() == 1


async def test_a_pause_that_another_process_was_asked_for_is_known_in_time(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, datetime] = {}

    class Store:
        asked = 0

        def load(self) -> Mapping[str, datetime]:
            self.asked += 1
            return kept

    store = Store()
    pauses = Pauses(store)  # type: ignore[arg-type]  # nothing is saved here
    await pauses.recall()
    kept["a"] = soon(hours=1)
    await pauses.recall()
    assert (is_paused(pauses, "a"), store.asked) == (False, 1)
    monkeypatch.setattr("tasks.web.pauses.monotonic", lambda: time.monotonic() + KNOWN)
    await pauses.recall()
    assert (is_paused(pauses, "a"), store.asked) == (True, 2)


async def test_a_store_that_is_away_stops_nothing_and_is_asked_again(site: Any, open_door: Any) -> None:
    class Away:
        asked = 0

        def load(self) -> Mapping[str, datetime]:
            self.asked += 1
            if self.asked == 1:
                raise OSError("away")
            return {site.pair: soon(hours=1)}

        def save(self, host: str, until: datetime) -> None:
            raise OSError("away")

        def save_delay(self, host: str, asked: float, kept: float) -> None:
            raise OSError("away")

    site.routes = {"/a": (200, HTML, {}), "/busy": BUSY}
    away = Away()
    door = open_door(site.pair, pauses=away)
    with pytest.raises(Transient, match="not available"):
        await door.fetch(site.url("/busy"), Wanted.FEED)
    with pytest.raises(Postponed):
        await door.fetch(site.url("/a"), Wanted.FEED)
    assert away.asked == 2
