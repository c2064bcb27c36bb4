"""Pacing: one host in turn, many side by side, and a slow one holds up only itself."""

import asyncio
import time
from itertools import pairwise
from typing import Any

import pytest

from tasks.errors import Postponed
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


async def test_hosts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "LANES", 10)
    log = Log(Pacer(0, 10))
    for place in range(100):
        await log.request(f"host-{place}")
    assert len(log.pacer._lanes) <= 11


async def test_a_turn_that_does_not_come_in_time_is_left_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a host that asks for a minute between requests would hold up the batch for half an hour."""
    monkeypatch.setattr(pacing, "LONGEST_TURN", 0.1)
    log = Log(Pacer(0, 2))
    slow = [asyncio.create_task(log.request("slow", crawl_delay=0.15)) for _ in range(5)]
    ends = await asyncio.gather(*slow, return_exceptions=True)
    assert [type(end) for end in ends] == [type(None)] + [Postponed] * 4
    assert str(ends[-1]) == "others are in front of it at slow"
    await asyncio.sleep(0.1)
    await asyncio.gather(log.request("slow"), log.request("slow"), log.request("a"))  # all places given back


async def test_whoever_waits_for_a_host_that_may_not_be_asked_any_more_is_sent_away() -> None:
    refused: set[str] = set()

    def check(host: str) -> None:
        if host in refused:
            raise Postponed("not now")

    log = Log(Pacer(0.1, 10, check))
    waiting = [asyncio.create_task(log.request("a")) for _ in range(5)]
    await asyncio.sleep(0.01)
    refused.add("a")
    start = time.monotonic()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert (ends.count(None), len(log.starts)) == (1, 1)
    assert time.monotonic() - start < 0.15


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
