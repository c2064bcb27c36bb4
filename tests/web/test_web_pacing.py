"""Pacing: one host in turn, many side by side, and a slow one holds up only itself."""

import asyncio
import time
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from tasks.errors import Transient
from tasks.ports import Wanted
from tasks.web import pacing
from tasks.web.pacing import Pacer

HTML = b"<p>hello"


class Log:
    """When requests to which host began, and how many were under way at once."""

    def __init__(self, pacer: Pacer) -> None:
        self.pacer = pacer
        self.starts: list[tuple[str, float]] = []
        self.under_way = self.most = 0

    async def request(
        self, host: str, takes: float = 0.0, crawl_delay: float = 0.0, own: bool = False
    ) -> None:
        async with self.pacer.turn(host, crawl_delay, own):
            self.starts.append((host, time.monotonic()))
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(takes)
            self.under_way -= 1

    def gaps(self) -> list[float]:
        times = [start for _, start in self.starts]
        return [later - earlier for earlier, later in pairwise(times)]


async def test_requests_to_one_host_start_a_delay_apart_and_one_at_a_time() -> None:
    log = Log(Pacer(0.05, 10))
    await asyncio.gather(*(log.request("a", takes=0.01) for _ in range(4)))
    assert log.most == 1
    assert all(gap >= 0.045 for gap in log.gaps())


async def test_a_server_of_the_owners_own_is_not_kept_waiting_unless_its_robots_txt_asks_for_it() -> None:
    log = Log(Pacer(1.0, 10))
    start = time.monotonic()
    await asyncio.gather(*(log.request("wiki", takes=0.05, own=True) for _ in range(4)))
    assert (log.most, time.monotonic() - start < 0.5) == (4, True)
    await asyncio.gather(*(log.request("nas", crawl_delay=0.1, own=True) for _ in range(2)))
    assert log.gaps()[-1] >= 0.09


async def test_a_request_that_takes_longer_than_the_delay_ends_before_the_next() -> None:
    log = Log(Pacer(0.02, 10))
    await asyncio.gather(*(log.request("a", takes=0.05) for _ in range(3)))
    assert log.most == 1


async def test_many_hosts_are_asked_side_by_side() -> None:
    log = Log(Pacer(1.0, 20))
    start = time.monotonic()
    await asyncio.gather(*(log.request(f"host-{place}", takes=0.05) for place in range(20)))
    assert time.monotonic() - start < 0.5
    assert log.most == 20


async def test_no_more_are_in_flight_than_allowed() -> None:
    log = Log(Pacer(0, 3))
    await asyncio.gather(*(log.request(f"host-{place}", takes=0.01) for place in range(12)))
    assert log.most == 3


async def test_a_slow_host_never_holds_up_the_others() -> None:
    log = Log(Pacer(0.01, 2))
    slow = [asyncio.create_task(log.request("slow", takes=0.3)) for _ in range(10)]
    await asyncio.sleep(0.02)
    start = time.monotonic()
    await asyncio.gather(*(log.request(f"host-{place}") for place in range(10)))
    assert time.monotonic() - start < 0.25
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    await log.request("slow")  # cancelled turns are given back


async def test_without_a_delay_one_host_has_several_in_flight_but_not_all() -> None:
    log = Log(Pacer(0, 100))
    await asyncio.gather(*(log.request("a", takes=0.02) for _ in range(30)))
    assert log.most == pacing.UNPACED


async def test_the_longer_of_both_delays_counts() -> None:
    log = Log(Pacer(0, 10))
    await asyncio.gather(*(log.request("a", crawl_delay=0.05) for _ in range(3)))
    assert all(gap >= 0.045 for gap in log.gaps())


async def test_a_pause_is_of_one_host_and_ends() -> None:
    pacer = Pacer(0, 10)
    pacer.pause("a", timedelta(seconds=0.1))
    with pytest.raises(Transient, match="a has asked for a pause") as paused:
        await Log(pacer).request("a")
    assert paused.value.retry_after is not None
    assert timedelta() < paused.value.retry_after <= timedelta(seconds=0.1)
    await Log(pacer).request("b")
    await asyncio.sleep(0.11)
    await Log(pacer).request("a")


async def test_hosts_are_forgotten_but_not_their_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "LANES", 10)
    log = Log(Pacer(0, 10))
    log.pacer.pause("paused", timedelta(minutes=1))
    for place in range(100):
        await log.request(f"host-{place}")
    assert len(log.pacer._lanes) <= 11
    with pytest.raises(Transient):
        log.pacer.check_pause("paused")


async def test_a_host_that_asks_for_a_pause_is_left_alone(site: Any, door: Any) -> None:
    site.routes = {"/busy": (503, b"", {"retry-after": "120"}), "/a": (200, HTML, {})}
    with pytest.raises(Transient, match="not available"):
        await door.fetch(site.url("/busy"), Wanted.PAGE)
    with pytest.raises(Transient, match=f"{site.pair} has asked for a pause") as paused:
        await door.fetch(site.url("/a"), Wanted.PAGE)
    assert paused.value.retry_after is not None
    assert timedelta(seconds=115) < paused.value.retry_after <= timedelta(seconds=120)
    assert site.paths == ["/busy"]


async def test_a_crawl_delay_paces_the_pages(site: Any, open_door: Any) -> None:
    site.routes = {"/robots.txt": (200, b"User-agent: *\nCrawl-delay: 0.2", {}), "/a": (200, HTML, {})}
    door = open_door(site.pair)
    start = time.monotonic()
    await asyncio.gather(*(door.fetch(site.url("/a"), Wanted.PAGE) for _ in range(3)))
    assert time.monotonic() - start >= 0.4


async def test_waiting_for_a_turn_costs_nothing_of_the_deadline(site: Any, open_door: Any) -> None:
    site.routes = {"/a": (200, HTML, {})}
    door = open_door(site.pair, host_delay=0.2, timeout=0.3)
    fetched = await asyncio.gather(*(door.fetch(site.url("/a"), Wanted.FEED) for _ in range(4)))
    assert len(fetched) == 4
