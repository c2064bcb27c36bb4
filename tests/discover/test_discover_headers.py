"""The owner's headers: said at polls of their source and at reads on its server, and nowhere else."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tasks.discover.add import NewSource, add_source
from tasks.discover.wishes import NewSource as Wish
from tasks.read import read_documents

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FEED = "https://tide.example/feed"
SECRET = {"authorization": "Bearer tok_TESTONLY_9f3a"}
Rss = Callable[..., str]


async def test_polls_say_them_and_so_do_reads_on_the_same_server_only(desk: Any, web: Any, rss: Rss) -> None:
    away, less_secure = "https://other.example/a", "http://tide.example/2"
    source = desk.add(headers=SECRET)
    web.put(FEED, rss(1, *(f"<link>{url}</link><title>x</title>" for url in (away, less_secure))))
    for number, url in enumerate(("https://tide.example/1", away, less_secure)):
        web.put(url, f"<title>x</title><p>High water {number}</p>", media_type="text/html")
    await desk.poll(source)
    await read_documents(desk.db, web, desk.parsers, "desk", 10, NOW)
    assert (web.told[FEED], web.told["https://tide.example/1"]) == (SECRET, SECRET)
    assert (web.told[away], web.told[less_secure]) == ({}, {})


async def test_a_page_that_is_a_source_is_read_with_them(desk: Any, web: Any) -> None:
    page = "https://tide.example/now"
    web.put(page, "<title>Tides</title><p>High water at nine.</p>", media_type="text/html")
    await desk.poll(desk.add(page, kind="page", headers=SECRET))
    assert web.told[page] == SECRET


async def test_a_feed_that_is_found_on_another_server_does_not_get_them(
    desk: Any, web: Any, parsers: Any, rss: Rss
) -> None:
    home, elsewhere = "https://tide.example/", "https://feeds.example/tides"
    link = f'<link rel="alternate" type="application/rss+xml" href="{elsewhere}">'
    web.put(home, f"<head>{link}</head><p>Tides</p>")
    web.put(elsewhere, rss(1))
    added = await add_source(desk.db, web, parsers, NewSource(home, headers=SECRET), NOW)
    await desk.poll(added.id)
    assert (desk.source(added.id).headers, web.told[elsewhere]) == ({}, {})


def test_a_wish_does_not_show_them_when_it_is_printed() -> None:
    assert "tok_TESTONLY" not in repr(Wish(FEED, headers=SECRET))


async def test_a_fault_of_ours_in_the_middle_of_a_poll_tells_none_of_them(
    desk: Any, web: Any, caplog: pytest.LogCaptureFixture
) -> None:
    source = desk.add(headers=SECRET)
    web.fail(FEED, RuntimeError("a fault"))
    await desk.poll(source)
    [poll] = desk.polls()
    assert "a fault" in caplog.text
    assert "tok_TESTONLY" not in caplog.text + poll.reason + desk.source(source).health
