"""Each path that fetches, driven over sites that name a service which may not be reached.

That the list of paths is whole is shown in test_web_one_door.py.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from vacancy import free_port

from almanac.wiring import PARSERS
from models.session import Database
from tasks.discover.add import add_single, add_source
from tasks.discover.documentation import Shelf
from tasks.discover.poll import poll_source
from tasks.discover.wishes import NewSource
from tasks.errors import StageError, Unsafe
from tasks.extract.jail import Jail
from tasks.keep.files import Doors
from tasks.keep.given import Given, Limits
from tasks.keep.keep import keep
from tasks.keep.rows import Kept
from tasks.keep.store import ObjectStore
from tasks.read import read_document, read_documents

SAID = ("In the harbour of the old town {place} ferries were counted, more than ever before, and the council "
        "promised to rebuild the northern quay before the winter comes.")
TEXT = "".join(f"<p>{SAID.format(place=place)}</p>" for place in range(9))
JSON_FEED = {"content-type": "application/feed+json"}


def page(head: str = "", body: str = "") -> bytes:
    return (f"<!doctype html><html lang=en><head><title>Ferries</title>{head}</head><body><article>"
            f"<h1>Ferries</h1>{TEXT}{body}</article></body></html>").encode()


def rss(items: str, top: str = "", channel: str = "", attributes: str = "") -> bytes:
    return (f'<?xml version="1.0"?>{top}<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" '
            f"{attributes}><channel><title>Harbour</title>{channel}{items}</channel></rss>").encode()


def json_feed(more: str, link: str, of_item: str = "") -> tuple[int, bytes, dict[str, str]]:
    body = (f'{{"version": "https://jsonfeed.org/version/1.1", "title": "Harbour", {more} '
            f'"items": [{{"id": "1", "title": "Ferries", "url": "{link}"{of_item}}}]}}')
    return 200, body.encode(), JSON_FEED


def urlset(*locs: str, more: str = "") -> bytes:
    return ("<urlset>" + "".join(f"<url><loc>{loc}</loc>{more}</url>" for loc in locs) + "</urlset>").encode()


def index(*locs: str) -> bytes:
    return ("<sitemapindex>" + "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
            + "</sitemapindex>").encode()


def item(link: str, more: str = "") -> str:
    return f"<item><title>Ferries</title><link>{link}</link>{more}</item>"


def moved(to: str) -> tuple[int, bytes, dict[str, str]]:
    return 302, b"", {"location": to}


def html(body: bytes) -> tuple[int, bytes, dict[str, str]]:
    return 200, body, {}


def xml(body: bytes) -> tuple[int, bytes, dict[str, str]]:
    return 200, body, {"content-type": "application/rss+xml"}


def leading(away: str, here: str) -> dict[str, dict[str, Any]]:
    """Sites whose source at /start leads to a forbidden service, when nothing forbids it."""
    good = {"/page": html(page())}
    return {
        "a feed that redirects": {"/start": moved(f"{away}/feed")},
        "a feed that leads to an item": {"/start": xml(rss(item(f"{away}/page")))},
        "an item that redirects": {"/start": xml(rss(item(f"{here}/page"))), "/page": moved(f"{away}/page")},
        "an item whose robots.txt redirects": {
            "/start": xml(rss(item(f"{here}/page"))), "/robots.txt": moved(f"{away}/robots.txt"), **good},
        "an item under another base": {
            "/start": xml(rss(item("/page"), attributes=f'xml:base="{away}/"'))},
        "an item of a JSON feed": {"/start": json_feed("", f"{away}/page")},
        "a sitemap that redirects": {"/start": moved(f"{away}/feed")},
        "a file of a sitemap that redirects": {
            "/start": xml(index("/part", "/more")), "/part": moved(f"{away}/feed"),
            "/more": xml(urlset("/page")), **good},
        "a page of a sitemap that redirects": {
            "/start": xml(urlset("/page")), "/page": moved(f"{away}/page")},
        "a page that redirects": {"/start": moved(f"{away}/page")},
        "a page that announces a feed": {"/start": html(page(
            f'<link rel="alternate" type="application/rss+xml" href="{away}/feed">'))},
        "a page whose header announces a feed": {"/start": (200, page(), {
            "link": f'<{away}/feed>; rel="alternate"; type="application/rss+xml"'})},
        "a page that announces one under its base": {"/start": html(page(
            f'<base href="{away}/"><link rel="alternate" type="application/rss+xml" href="/feed">'))},
    }


def luring(away: str, here: str) -> dict[str, dict[str, Any]]:
    """Sites that name a forbidden service where nobody follows."""
    good = {"/page": html(page())}
    mine = item(f"{here}/page")
    entity = f'<!DOCTYPE rss [<!ENTITY x SYSTEM "{away}/page">]>'
    heads = "".join(f'<link rel="{rel}" href="{away}/page">' for rel in (
        "canonical", "icon", "apple-touch-icon", "stylesheet", "preload", "next", "amphtml", "manifest",
        "pingback", "dns-prefetch", "search", "hub"))
    metas = "".join(f'<meta property="{name}" content="{away}/page">' for name in (
        "og:image", "og:url", "og:video", "al:web:url", "twitter:image"))
    bodies = f'<img src="{away}/page"><iframe src="{away}/page"></iframe>' \
             f'<script src="{away}/page"></script>' \
             f'<a href="{away}/page">more</a><object data="{away}/page"></object>'
    return {
        "a style sheet of a feed": {
            "/start": xml(rss(mine, f'<?xml-stylesheet href="{away}/page"?>')), **good},
        "a document type": {"/start": xml(rss(mine, f'<!DOCTYPE rss SYSTEM "{away}/page">')), **good},
        "an external entity": {
            "/start": xml(rss(item(f"{here}/page", "<description>&x;</description>"), entity)), **good},
        "a parameter entity": {"/start": xml(rss(
            mine, f'<!DOCTYPE rss [<!ENTITY % x SYSTEM "{away}/page"> %x;]>')), **good},
        "an inclusion": {"/start": xml(rss(
            f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{away}/page"/>{mine}')), **good},
        "a schema": {"/start": xml(rss(mine, attributes=(
            'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
            f'xsi:noNamespaceSchemaLocation="{away}/page"'))), **good},
        "what belongs to a feed": {"/start": xml(rss(
            item(f"{here}/page", f'<enclosure url="{away}/page" type="text/html" length="9"/>'
                                 f'<comments>{away}/page</comments><source url="{away}/feed">x</source>'),
            channel=f'<image><url>{away}/page</url></image><docs>{away}/page</docs><link>{away}/</link>'
                    f'<atom:link rel="self" href="{away}/feed"/><atom:link rel="next" href="{away}/feed"/>'
                    f'<atom:link rel="hub" href="{away}/page"/><cloud domain="127.0.0.2" path="/page"/>')),
            **good},
        "what belongs to a JSON feed": {"/start": json_feed(
            f'"next_url": "{away}/feed", "icon": "{away}/page", "favicon": "{away}/page", '
            f'"feed_url": "{away}/feed", "hubs": [{{"type": "rssCloud", "url": "{away}/page"}}],',
            f"{here}/page", f', "image": "{away}/page", "banner_image": "{away}/page"'), **good},
        "files of a sitemap on another site": {
            "/start": xml(index(f"{away}/feed", "/part")), "/part": xml(urlset("/page")), **good},
        "what a sitemap lists on another site": {
            "/start": xml(urlset("/page", f"{away}/page", more=f'<image><loc>{away}/page</loc></image>'
                                 f'<link rel="alternate" href="{away}/page"/>')), **good},
        "an external entity of a sitemap": {
            "/start": xml(f'<!DOCTYPE urlset SYSTEM "{away}/page">'.encode() + urlset("/page")), **good},
        "what belongs to a page": {"/start": html(page(
            f'{metas}{heads}<meta http-equiv="refresh" content="0;url={away}/page">', bodies))},
        "what belongs to an item": {"/start": xml(rss(mine)), "/page": html(page(metas + heads, bodies))},
    }


class Library:
    """What wiring puts together, around one door."""

    def __init__(self, db: Database, door: Any, jail: Jail) -> None:
        self.db, self.parser = db, jail
        self.fetcher = Shelf(files("almanac") / "documentation", beyond=door)

    async def live(self, url: str) -> None:
        """Add a source, or what it says stands in the way; poll it again, and read what it offers."""
        now = datetime.now(UTC)
        one = partial(read_document, self.db, self.fetcher, self.parser, "test")
        try:
            added = await add_source(self.db, self.fetcher, self.parser, NewSource(url), now)
        except StageError:
            add_single(self.db, url, now)
        else:
            await poll_source(self.db, self.fetcher, self.parser, added.id, now, one)
        await read_documents(self.db, self.fetcher, self.parser, "test", 100, now)


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    jail = Jail(PARSERS, workers=1)
    yield jail
    jail.close()


@pytest.fixture
async def places(open_site: Any) -> tuple[Any, Any]:
    """A site that may be read and, at the same port of another address, a service that may not."""
    port = free_port("127.0.0.1", "127.0.0.2")
    site, secret = await open_site(port=port), await open_site("127.0.0.2", port)
    secret.routes = {path: html(page()) for path in ("/", "/page", "/start")}
    secret.routes["/feed"] = xml(rss(item(site.url("/elsewhere"))))
    return site, secret


@pytest.fixture
def connections() -> Iterator[list[Any]]:
    """Where this process connects to, whoever has it do so, as Python itself tells (PEP 578)."""
    made: list[Any] = []
    listening = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "socket.connect" and isinstance(arguments[1], tuple):
            made.append(arguments[1][0])

    sys.addaudithook(hook)  # for ever: there is no way to take it away
    yield made
    listening = False


@pytest.mark.database
async def test_nothing_that_a_source_says_leads_to_a_forbidden_service(
    places: Any, open_door: Any, db: Database, jail: Jail, connections: list[Any]
) -> None:
    site, secret = places
    away, here = secret.url(""), site.url("")
    for name, routes in leading(away, here).items():
        site.routes = routes
        await Library(db, open_door(site.pair), jail).live(site.url("/start"))
        assert secret.connections == 0, name
        clean(db)
    await Library(db, open_door(site.pair), jail).live(secret.url("/start"))
    assert secret.connections == 0
    assert set(connections) == {"127.0.0.1"}


@pytest.mark.database
async def test_an_address_that_is_handed_in_goes_through_the_same_door(
    places: Any, open_door: Any, db: Database, jail: Jail, connections: list[Any], tmp_path: Path
) -> None:
    site, secret = places
    site.routes = {"/away": (302, b"", {"location": secret.url("/page")}), "/page": html(page())}
    doors = Doors(db, jail, ObjectStore(tmp_path.as_uri()), None, tmp_path, Limits(http=True))
    for url in (secret.url("/page"), site.url("/away")):
        with pytest.raises(Unsafe):
            await keep(doors, open_door(site.pair), Given(("library",), uri=url), datetime.now(UTC))
    assert secret.connections == 0
    kept = await keep(
        doors, open_door(site.pair), Given(("library",), uri=site.url("/page")), datetime.now(UTC))
    assert isinstance(kept, Kept)
    assert kept.created
    assert set(connections) == {"127.0.0.1"}


@pytest.mark.database
async def test_all_that_leads_there_would_have_been_read_were_it_allowed(
    places: Any, open_door: Any, db: Database, jail: Jail
) -> None:
    """The control run."""
    site, secret = places
    for name, routes in leading(secret.url(""), site.url("")).items():
        site.routes = routes
        secret.requests.clear()
        await Library(db, open_door("0.0.0.0/0"), jail).live(site.url("/start"))
        assert secret.requests, name
        clean(db)


@pytest.mark.database
async def test_a_place_that_nobody_follows_is_not_followed_though_it_is_allowed(
    places: Any, open_door: Any, db: Database, jail: Jail, connections: list[Any]
) -> None:
    site, secret = places
    for name, routes in luring(secret.url(""), site.url("")).items():
        site.routes = routes
        await Library(db, open_door("0.0.0.0/0"), jail).live(site.url("/start"))
        assert secret.connections == 0, name
        clean(db)
    assert set(connections) == {"127.0.0.1"}


@pytest.mark.database
async def test_robots_txt_has_a_say_in_the_files_of_a_sitemap_and_none_in_the_one_that_is_named(
    site: Any, door: Any, db: Database, jail: Jail
) -> None:
    site.routes = {
        "/robots.txt": (200, b"User-agent: *\nDisallow: /start\nDisallow: /secret", {}),
        "/start": xml(index("/part", "/secret")), "/part": xml(urlset("/page")), "/secret": xml(urlset("/x")),
        "/page": html(page()),
    }
    wish = NewSource(site.url("/start"), "sitemap")
    added = await add_source(db, door, jail, wish, datetime.now(UTC))
    assert "1 of 2 sitemaps failed" in added.poll.reason
    assert "robots.txt" in added.poll.reason
    assert set(site.paths) == {"/start", "/part"}


def clean(db: Database) -> None:
    with db.begin() as session:
        session.connection().exec_driver_sql("TRUNCATE source, document, poll CASCADE")
