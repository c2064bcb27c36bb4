"""What a feed links to: one document however it is spelled, fetched and cited as the feed writes it."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.database
Rss = Callable[..., str]


def link(url: str) -> str:
    return f"<title>Tide</title><link>{url.replace('&', '&amp;')}</link>"


async def test_an_address_is_kept_as_its_feed_writes_it_and_only_its_identity_is_without_tracking(
    desk: Any, web: Any, rss: Rss
) -> None:
    written = "https://tide.example/a?q=a+b%20c&Z=1&utm_source=rss&z=2"
    web.put("https://tide.example/feed", rss(link(written)))
    await desk.poll(desk.add())
    [document] = desk.documents().values()
    assert (document.url, document.key) == (written, "https://tide.example/a?q=a+b%20c&Z=1&z=2")


async def test_parameters_that_choose_a_page_make_documents_and_those_that_track_do_not(
    desk: Any, web: Any, rss: Rss
) -> None:
    pages = ["view?id=7", "view?id=8", "?p=41", "list?page=2&ref=nav", "a?ref=v2.1", "a?source=x"]
    twins = ["view?id=7&utm_source=rss", "view?fbclid=1&id=8", "?p=41&gclid=2#top"]
    web.put("https://tide.example/feed", rss(*(link(f"https://tide.example/{it}") for it in pages + twins)))
    await desk.poll(desk.add())
    assert set(desk.documents()) == {f"https://tide.example/{it}" for it in pages}


async def test_anchors_and_routes_behind_a_number_sign_are_one_page_which_is_cited_as_it_was_written(
    desk: Any, web: Any, rss: Rss
) -> None:
    guide, app = "https://doc.example/guide", "https://app.example/"
    anchors = [f"{guide}#install", f"{guide}#usage", f"{guide}#:~:text=x"]
    written = [*anchors, f"{app}#!/post/1", f"{app}#/post/2"]
    web.put("https://tide.example/feed", rss(*map(link, written)))
    await desk.poll(desk.add())
    assert set(desk.documents()) == {f"{guide}#install", f"{app}#!/post/1"}
