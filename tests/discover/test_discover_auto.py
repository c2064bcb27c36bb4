"""Given a home page: the feeds that it offers, each of which was read before it is believed."""

from collections.abc import Callable
from typing import Any

import pytest

from tasks.discover.auto import in_header
from tasks.discover.offers import Look
from tasks.discover.probe import probe
from tasks.errors import Permanent
from tasks.ports import Wanted

HOME = "https://tide.example/"
FEED, COMMENTS = f"{HOME}posts.xml", f"{HOME}comments.xml"
SECRET = {"x-key": "tok_TESTONLY"}
Rss = Callable[..., str]


def page(head: str = "", body: str = "<p>High water at nine.</p>") -> str:
    return f"<html><head><title>Tides</title>{head}</head><body>{body}</body></html>"


def announced(url: str) -> str:
    return f'<link rel="alternate" type="application/rss+xml" href="{url}">'


@pytest.fixture
def find(web: Any, parsers: Any) -> Callable[..., Any]:
    async def finding(url: str = HOME, **more: Any) -> list[tuple[str, str]]:
        return [(it.kind.value, it.url) for it in await probe(web, parsers, Look(url, **more), "auto")]

    return finding


async def test_all_announced_feeds_are_found_and_that_of_comments_comes_last(
    web: Any, find: Any, rss: Rss
) -> None:
    web.put(HOME, page(announced("/comments.xml") + announced("posts.xml") + announced("gone.xml")))
    web.put(FEED, rss(1))
    web.put(COMMENTS, rss(2))
    assert await find() == [("feed", FEED), ("feed", COMMENTS)]


async def test_a_feed_without_items_comes_after_one_with_some(web: Any, find: Any, rss: Rss) -> None:
    web.put(HOME, page(announced("empty.xml") + announced("posts.xml")))
    web.put(f"{HOME}empty.xml", rss())
    web.put(FEED, rss(1))
    assert await find() == [("feed", FEED), ("feed", f"{HOME}empty.xml")]


async def test_a_link_header_announces_a_feed(web: Any, find: Any, rss: Rss) -> None:
    link = ('<https://tide.example/style.css>; rel=preload, </posts.xml>; rel="alternate home"; '
            'title="Posts, and more"; type="application/rss+xml"')
    web.put(HOME, page(), headers={"link": link})
    web.put(FEED, rss(1))
    assert await find() == [("feed", FEED)]


@pytest.mark.parametrize("link", [
    "</a>; rel=alternate; type=text/html", "</a>; type=application/rss+xml", "<javascript:x>; rel=alternate; "
    "type=application/rss+xml", "", "<" * 50, "</a" + ";" * 9000, "</a>" + "; a " * 9000,
])
def test_other_link_headers_announce_none(web: Any, link: str) -> None:
    class Answer:
        headers, final_url = {"link": link}, HOME

    assert list(in_header(Answer)) == []  # type: ignore[arg-type]  # a stand-in


@pytest.mark.parametrize("path", ["feed", "rss.xml", "atom.xml", "feed.xml", "index.xml"])
async def test_a_front_page_that_announces_none_has_its_feed_where_others_have_theirs(
    web: Any, find: Any, rss: Rss, path: str
) -> None:
    web.put(HOME, page())
    web.put(f"{HOME}{path}", rss(1))
    assert await find() == [("feed", f"{HOME}{path}")]


async def test_a_page_inside_a_site_is_not_its_front_page(web: Any, find: Any, rss: Rss) -> None:
    web.put(f"{HOME}news/pier", page())
    web.put(f"{HOME}feed", rss(1))
    assert await find(f"{HOME}news/pier") == [("page", f"{HOME}news/pier")]


async def test_a_front_page_that_is_nothing_to_read_still_has_its_feeds(
    web: Any, find: Any, rss: Rss
) -> None:
    web.put(HOME, page(announced("posts.xml"), "<div id=root></div>"))
    web.put(FEED, rss(1))
    assert await find() == [("feed", FEED)]


async def test_what_only_looks_like_a_feed_by_its_address_is_none(web: Any, find: Any) -> None:
    web.put(HOME, page(announced("posts.xml")))
    web.put(FEED, page())
    web.put(f"{HOME}feed", page())
    web.fail(f"{HOME}rss.xml", Permanent("HTTP 403 Forbidden"))
    assert await find() == [("page", HOME)]


async def test_robots_are_obeyed_where_an_address_is_only_guessed(
    web: Any, find: Any, rss: Rss, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: dict[str, Wanted] = {}
    fetch = web.fetch

    async def noting(url: str, what: Wanted, *more: Any) -> Any:
        wanted[url] = what
        return await fetch(url, what, *more)

    monkeypatch.setattr(web, "fetch", noting)
    web.put(HOME, page(announced("posts.xml")))
    web.put(f"{HOME}feed", rss(1))
    await find()
    assert (wanted[FEED], wanted[f"{HOME}feed"]) == (Wanted.FEED, Wanted.ANY)


async def test_headers_go_to_the_server_that_they_were_set_for_only(web: Any, find: Any, rss: Rss) -> None:
    elsewhere = "https://feeds.example/tides"
    web.put(HOME, page(announced("posts.xml") + announced(elsewhere)))
    web.put(FEED, rss(1))
    web.put(elsewhere, rss(2))
    await find(headers=SECRET)
    assert (web.told[HOME], web.told[FEED], web.told[elsewhere]) == (SECRET, SECRET, {})


def urlset(*paths: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{HOME}{path}</loc></url>" for path in paths) + "</urlset>"


async def test_a_site_without_a_feed_has_the_sitemap_that_its_robots_txt_names(web: Any, find: Any) -> None:
    web.put(HOME, page())
    named = f"SITEMAP: {HOME}gone.xml\nsitemap: /maps/all.xml\n"
    web.put(f"{HOME}robots.txt", f"User-agent: *\nDisallow: /x\n{named}")
    web.put(f"{HOME}maps/all.xml", urlset("a", "b"))
    assert await find() == [("sitemap", f"{HOME}maps/all.xml")]


async def test_a_sitemap_is_looked_for_at_its_usual_place_too(web: Any, find: Any) -> None:
    web.put(HOME, page())
    web.put(f"{HOME}sitemap.xml", urlset("a"))
    assert await find() == [("sitemap", f"{HOME}sitemap.xml")]


async def test_a_feed_goes_before_a_sitemap(web: Any, find: Any, rss: Rss) -> None:
    web.put(HOME, page())
    web.put(f"{HOME}sitemap.xml", urlset("a"))
    web.put(f"{HOME}atom.xml", rss(1))
    assert await find() == [("feed", f"{HOME}atom.xml")]


RSS = '<?xml version="1.0"?><rss version="2.0"><channel><title>Tides</title><item><title>One</title></item>'
JSON_FEED = '{"version": "https://jsonfeed.org/version/1.1", "title": "Tides", "items": ['
SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://tide.example/1</loc>'


@pytest.mark.parametrize(("body", "why"), [
    (RSS[:40], "cannot be a feed: it breaks off"),
    (RSS[:60], "cannot be a feed: it breaks off before its first item"),
    ('<feed xmlns="http://www.w3.org/2005/At', "cannot be a feed: it breaks off"),
    (JSON_FEED, "cannot be a feed: it breaks off: its JSON is not whole"),
    (SITEMAP, "cannot be a sitemap: it is cut off before its first entry ends"),
])
@pytest.mark.parametrize("media_type", ["application/rss+xml", "text/html", "text/plain"])
async def test_a_feed_or_a_sitemap_that_breaks_off_is_told_as_what_it_is(
    web: Any, find: Any, body: str, why: str, media_type: str
) -> None:
    web.put(FEED, body, media_type=media_type)
    with pytest.raises(Permanent) as refused:
        await find(FEED)
    assert refused.value.reason.startswith(f"{FEED} {why}")
    assert refused.value.reason.count("feed") <= 2
