"""A sitemap as a source: what a look costs, which files of an index it reads, what a bad one may not do."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from models.states import PollOutcome, SourceKind
from models.tables import Source
from tasks.discover.add import NewSource, add_source
from tasks.discover.kinds import sitemap
from tasks.discover.sitemap_files import Site
from tasks.errors import Permanent, Postponed, Transient
from tasks.ports import Validators, Wanted

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOME = "https://mole.example"
MAP = f"{HOME}/sitemap.xml"


def urlset(*pages: str | tuple[str, str]) -> str:
    """Pages as paths or whole addresses, with a lastmod or without."""
    told = [(page, "") if isinstance(page, str) else page for page in pages]
    return "<urlset>" + "".join(
        f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>" for loc, lastmod in told) + "</urlset>"


def index(*files: str | tuple[str, str]) -> str:
    told = [(file, "") if isinstance(file, str) else file for file in files]
    return "<sitemapindex>" + "".join(
        f"<sitemap><loc>{loc}</loc><lastmod>{lastmod}</lastmod></sitemap>" for loc, lastmod in told
    ) + "</sitemapindex>"


@pytest.fixture
def source(desk: Any) -> Any:
    """The id of a new sitemap source."""
    return desk.add(MAP, SourceKind.SITEMAP)


def paths(desk: Any) -> set[str]:
    return {url.removeprefix(HOME) for url in desk.documents()}


def asked(desk: Any) -> list[str]:
    told = [url.removeprefix(HOME) for url, _ in desk.web.asked]
    desk.web.asked.clear()
    return told


# One file


async def test_its_pages_become_documents_with_what_the_news_extension_says(desk: Any, source: Any) -> None:
    news = "<n:news><n:title>Quay</n:title><n:publication_date>2026-01-02</n:publication_date></n:news>"
    desk.web.put(MAP, f"<urlset><url><loc>/a</loc>{news}</url><url><loc>/b</loc></url></urlset>")
    result = await desk.poll(source)
    assert (result.outcome, result.reason) == (PollOutcome.NEW, "2 new, of 2 offered")
    a, b = desk.documents()[f"{HOME}/a"], desk.documents()[f"{HOME}/b"]
    assert (a.title, a.published_at) == ("Quay", datetime(2026, 1, 2, tzinfo=UTC))
    assert (b.title, b.published_at) == (None, None)
    assert desk.due() == {f"{HOME}/a", f"{HOME}/b"}


async def test_a_feed_that_is_offered_as_one_gives_what_it_says_of_its_items(
    desk: Any, source: Any, rss: Any
) -> None:
    desk.web.put(MAP, rss(f"<title>Quay</title><link>{HOME}/a</link><description>Long</description>", 1))
    result = await desk.poll(source)
    assert result.reason == "1 new, 1 on other sites, of 2 offered"
    document = desk.documents()[f"{HOME}/a"]
    assert (document.title, document.summary) == ("Quay", "Long")


@pytest.mark.parametrize("etag", ['"a"', None], ids=["by 304", "by the same bytes"])
async def test_an_unchanged_one_costs_one_request_no_parse_and_three_statements(
    desk: Any, source: Any, etag: str | None
) -> None:
    desk.web.put(MAP, urlset("/a", "/b"), etag=etag)
    await desk.poll(source)
    desk.read_all()
    desk.web.asked.clear()
    desk.parsers.calls.clear()
    with desk.statements() as statements:
        result = await desk.poll(source, NOW + HOUR)
    assert result.outcome is PollOutcome.UNCHANGED
    assert desk.web.asked == [(MAP, Validators(etag))]
    assert (desk.parsers.calls, len(statements) <= 3, desk.due()) == ([], True, set())


async def test_a_page_is_read_again_when_its_date_changes_and_only_then(desk: Any, source: Any) -> None:
    def dated(same: str, other: str, year: str, bad: str, gone: str) -> str:
        return urlset(("/same", same), ("/other", other), ("/year", year), ("/bad", bad), ("/gone", gone),
                      "/none")

    desk.web.put(MAP, dated("2026-03-01", "2026-03-01", "2026", "a day ago", "2026-02-01"))
    await desk.poll(source)
    desk.read_all()
    desk.web.put(MAP, dated("2026-03-01T00:00:00Z", "2026-03-02", "2026", "2 days ago", "soon"))
    result = await desk.poll(source)
    assert (result.items_new, result.items_changed) == (0, 1)
    assert desk.due() == {f"{HOME}/other"}


@pytest.mark.parametrize("dated", ["%Y-%m-%d", "%Y-%m-%dT%H:%M:59Z"], ids=["today", "just now"])
async def test_a_sitemap_that_dates_all_its_pages_by_being_asked_says_nothing_of_changes(
    desk: Any, source: Any, dated: str
) -> None:
    changed = []
    for days in range(3):
        today = NOW + days * DAY
        old = ("/old", "2026-01-01") if days == 2 else ("/old", today.strftime(dated))
        pages = (("/a", today.strftime(dated)), ("/b", today.strftime(dated)), old)
        desk.web.put(MAP, urlset(*pages))
        changed.append((await desk.poll(source, today)).items_changed)
        desk.read_all()
    assert changed == [0, 0, 3]  # at the end the dates of two may be true, and the third is known at last


async def test_pages_of_other_sites_are_left_unless_their_host_is_named(desk: Any, source: Any) -> None:
    desk.web.put(MAP, urlset(
        "/a", "https://www.mole.example/b", "https://log.mole.example/c", "https://evil.example/z",
        "https://notmole.example/z", "https://cdn.example/d"))
    result = await desk.poll(source)
    assert result.reason == "3 new, 3 on other sites, of 6 offered"
    assert paths(desk) == {"/a", "https://www.mole.example/b", "https://log.mole.example/c"}
    with desk.db.begin() as session:
        session.execute(update(Source).values(
            body_hash=None, include=[f"{HOME}/*", "https://*", "https://cdn.example/*"]))
    await desk.poll(source)
    assert "https://cdn.example/d" in paths(desk)
    assert not any("evil" in path or "notmole" in path for path in paths(desk))


@pytest.mark.parametrize(
    ("home", "page", "own"),
    [
        ("https://www.mole.example/s", "https://mole.example/", True),
        ("https://www.mole.example/s", "http://log.mole.example:8080/", True),
        ("https://log.mole.example/s", "https://mole.example/", False),
        ("https://www.example/s", "https://evil.example/", False),
        ("https://10.0.0.1/s", "https://10.0.0.1/x", True),
    ],
)
def test_a_site_is_its_host_and_what_is_under_it(home: str, page: str, own: bool) -> None:
    assert Site([home], []).has(page) is own


async def test_patterns_and_the_limit_hold_and_what_is_left_comes_with_the_next_polls(
    desk: Any, source: Any
) -> None:
    with desk.db.begin() as session:
        session.execute(update(Source).values(limit_per_poll=2, include=["*/log/*"], exclude=["*/log/3"]))
    desk.web.put(MAP, urlset(*(f"/log/{n}" for n in range(6)), "/shop/1"), etag='"a"')
    reasons = [(await desk.poll(source, NOW + n * HOUR)).reason for n in range(4)]
    assert reasons[0] == "2 new, 3 left for the next poll, 2 excluded, of 7 offered"
    assert paths(desk) == {f"/log/{n}" for n in (0, 1, 2, 4, 5)}
    assert reasons[3].startswith("not modified since")


@pytest.mark.parametrize("body", ["", "<html><body>Gone fishing</body></html>", urlset()])
async def test_a_suspicious_answer_changes_nothing(desk: Any, source: Any, body: str) -> None:
    desk.web.put(MAP, urlset("/a", "/b"), etag='"good"')
    await desk.poll(source)
    desk.web.put(MAP, body, etag='"bad"')
    result = await desk.poll(source, NOW + HOUR)
    assert (result.outcome, desk.source(source).etag) == (PollOutcome.SUSPECT, '"good"')
    assert paths(desk) == {"/a", "/b"}


async def test_one_that_was_cut_off_is_asked_for_whole_the_next_time(desk: Any, source: Any) -> None:
    desk.web.put(MAP, urlset("/a", "/b").replace("</urlset>", "<url><loc>/c"), etag='"a"')
    result = await desk.poll(source)
    assert result.reason == "2 new, of 2 offered; it is cut off in the middle"
    desk.web.put(MAP, urlset("/a", "/b", "/c"), etag='"a"')
    await desk.poll(source, NOW + HOUR)
    assert paths(desk) == {"/a", "/b", "/c"}


# An index


async def test_the_files_of_an_index_are_read_where_robots_has_a_say(desk: Any, source: Any) -> None:
    desk.web.put(MAP, index("/1.xml", "/2.txt"))
    desk.web.put(f"{HOME}/1.xml", urlset("/a", "/b"))
    desk.web.put(f"{HOME}/2.txt", f"{HOME}/b\n{HOME}/c")
    result = await desk.poll(source)
    assert result.reason == "3 new, 1 repeated, of 4 offered"
    assert paths(desk) == {"/a", "/b", "/c"}
    assert desk.web.wanted == {
        MAP: Wanted.FEED, f"{HOME}/1.xml": Wanted.SITEMAP, f"{HOME}/2.txt": Wanted.SITEMAP}


async def test_files_that_did_not_change_cost_a_conditional_request_or_none(desk: Any, source: Any) -> None:
    """None where the index says that they have not, for a day."""
    desk.web.put(MAP, index(("/dated.xml", "2026-03-01"), "/undated.xml"), etag='"i"')
    desk.web.put(f"{HOME}/dated.xml", urlset("/a"), etag='"d"')
    desk.web.put(f"{HOME}/undated.xml", urlset("/b"), etag='"u"')
    await desk.poll(source)
    desk.read_all()
    desk.web.asked.clear()
    desk.parsers.calls.clear()
    with desk.statements() as statements:
        result = await desk.poll(source, NOW + HOUR)
    assert (result.outcome, result.reason) == (PollOutcome.UNCHANGED, "nothing new in its 2 sitemaps")
    assert desk.web.asked == [(MAP, Validators('"i"')), (f"{HOME}/undated.xml", Validators('"u"'))]
    assert (desk.parsers.calls, len(statements) <= 3, desk.due()) == ([], True, set())
    desk.web.asked.clear()
    await desk.poll(source, NOW + DAY + HOUR)
    assert (f"{HOME}/dated.xml", Validators('"d"')) in desk.web.asked


async def test_a_file_that_changed_is_found_though_its_index_did_not(desk: Any, source: Any) -> None:
    desk.web.put(MAP, index("/1.xml", "/2.xml"), etag='"i"')
    desk.web.put(f"{HOME}/1.xml", urlset(*(f"/old/{n}" for n in range(20))), etag='"1"')
    desk.web.put(f"{HOME}/2.xml", urlset("/b"), etag='"2"')
    await desk.poll(source)
    desk.web.put(f"{HOME}/2.xml", urlset("/b", "/c"), etag='"3"')
    result = await desk.poll(source, NOW + HOUR)
    assert (result.outcome, result.reason) == (PollOutcome.NEW, "1 new, 1 as before, of 2 offered")
    assert f"{HOME}/c" in desk.documents()


async def test_one_bad_file_is_told_and_tried_again_while_the_rest_goes_on(desk: Any, source: Any) -> None:
    desk.web.put(MAP, index("/1.xml", "/2.xml", "/3.xml"), etag='"i"')
    desk.web.put(f"{HOME}/1.xml", urlset("/a"), etag='"1"')
    desk.web.put(f"{HOME}/2.xml", urlset("/b"), etag='"2"')
    desk.web.put(f"{HOME}/3.xml", urlset("/c"), etag='"3"')
    await desk.poll(source)
    before = {url: (it.state, it.due_at) for url, it in desk.documents().items()}
    desk.web.fail(f"{HOME}/2.xml", Transient("HTTP 500", retry_after=2 * HOUR))
    result = await desk.poll(source, NOW + HOUR)
    told = f"1 of 3 sitemaps failed and will be tried again ({HOME}/2.xml: HTTP 500)"
    assert (result.outcome, told in result.reason) == (PollOutcome.UNCHANGED, True)
    assert told in desk.source(source).health
    assert {url: (it.state, it.due_at) for url, it in desk.documents().items()} == before
    asked(desk)
    result = await desk.poll(source, NOW + 2 * HOUR)
    assert (asked(desk), told in result.reason) == (["/sitemap.xml", "/1.xml", "/3.xml"], True)
    desk.web.put(f"{HOME}/2.xml", urlset("/b", "/d"), etag='"4"')
    result = await desk.poll(source, NOW + 4 * HOUR)
    assert (result.reason, paths(desk)) == ("1 new, 1 as before, of 2 offered", {"/a", "/b", "/c", "/d"})


async def test_when_every_file_fails_so_does_the_poll(desk: Any, source: Any) -> None:
    desk.web.put(MAP, index("/1.xml", "/2.xml"))
    desk.web.fail(f"{HOME}/1.xml", Permanent("HTTP 404 Not Found"))
    desk.web.put(f"{HOME}/2.xml", "<html>Sign in</html>")
    result = await desk.poll(source)
    assert (result.outcome, desk.source(source).failures) == (PollOutcome.FAILED, 1)
    assert "HTTP 404" in result.reason
    assert "an HTML page" in result.reason


async def test_no_loop_is_walked_twice_and_no_robots_txt_is_read_as_a_sitemap(desk: Any, source: Any) -> None:
    """A file that redirects to the index, one that lists it, itself and robots.txt, two names of one file."""
    desk.web.put(MAP, index(
        "/sitemap.xml#again", "/to-index.xml", "/lists-index.xml", "/robots.txt", "/1.xml", "/alias.xml",
        "/to-robots.xml"))
    desk.web.put(f"{HOME}/to-index.xml", desk.web.pages[MAP].body, final_url=MAP)
    desk.web.put(f"{HOME}/lists-index.xml", index(
        "/sitemap.xml", "/lists-index.xml", "/robots.txt", "/2.xml"))
    desk.web.put(f"{HOME}/1.xml", urlset("/a"))
    desk.web.put(f"{HOME}/alias.xml", urlset("/wrong"), final_url=f"{HOME}/1.xml")
    desk.web.put(f"{HOME}/2.xml", urlset("/b"))
    desk.web.put(f"{HOME}/robots.txt", f"{HOME}/wrong")
    desk.web.put(f"{HOME}/to-robots.xml", f"{HOME}/wrong", final_url=f"{HOME}/robots.txt")
    for hours in range(3):
        await desk.poll(source, NOW + hours * HOUR)
        assert sorted(asked(desk)) == ["/1.xml", "/2.xml", "/alias.xml", "/lists-index.xml", "/sitemap.xml",
                                       "/to-index.xml", "/to-robots.xml"]
    assert paths(desk) == {"/a", "/b"}


async def test_an_index_is_followed_five_levels_down(desk: Any, source: Any) -> None:
    desk.web.put(MAP, index("/2.xml"))
    for level in range(2, 12):
        page, below = f"<url><loc>/page-{level}</loc></url>", index(f"/{level + 1}.xml")
        desk.web.put(f"{HOME}/{level}.xml", below.replace("</sitemapindex>", f"{page}</sitemapindex>"))
    result = await desk.poll(source)
    assert asked(desk) == ["/sitemap.xml", "/2.xml", "/3.xml", "/4.xml", "/5.xml"]
    assert paths(desk) == {f"/page-{level}" for level in range(2, 6)}
    assert "sitemaps not read: 1 nested deeper than 5 levels" in result.reason


async def test_many_files_are_read_over_several_polls_the_newest_first(
    desk: Any, source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemap, "MOST_ASKED", 2)
    desk.web.put(MAP, index(*((f"/{n}.xml", f"2026-01-0{n}") for n in range(1, 6))), etag='"i"')
    for n in range(1, 6):
        desk.web.put(f"{HOME}/{n}.xml", urlset(f"/page-{n}"))
    results = [await desk.poll(source, NOW + n * HOUR) for n in range(4)]
    assert asked(desk) == ["/sitemap.xml", "/5.xml", "/4.xml", "/sitemap.xml", "/3.xml", "/2.xml",
                           "/sitemap.xml", "/1.xml", "/sitemap.xml"]
    assert "sitemaps not read: 3 left for the next poll" in results[0].reason
    assert len(paths(desk)) == 5


async def test_no_more_files_are_read_than_one_poll_has_room_for(desk: Any, source: Any) -> None:
    """Each page is found in the end, and none is asked for in vain meanwhile."""
    with desk.db.begin() as session:
        session.execute(update(Source).values(limit_per_poll=3))
    desk.web.put(MAP, index("/1.xml", "/2.xml"), etag='"i"')
    desk.web.put(f"{HOME}/1.xml", urlset(*(f"/a-{n}" for n in range(4))), etag='"1"')
    desk.web.put(f"{HOME}/2.xml", urlset(*(f"/b-{n}" for n in range(4))), etag='"2"')
    walks = []
    for hours in range(4):
        await desk.poll(source, NOW + hours * HOUR)
        walks.append(asked(desk)[1:])
    assert walks == [["/1.xml"], ["/1.xml"], ["/2.xml", "/1.xml"], ["/2.xml", "/1.xml"]]
    assert len(paths(desk)) == 8


async def test_files_on_other_sites_are_not_asked_for_and_one_in_a_pause_waits_its_turn(
    desk: Any, source: Any
) -> None:
    desk.web.put(MAP, index("https://evil.example/1.xml", "/1.xml", "/2.xml"))
    desk.web.put(f"{HOME}/1.xml", urlset("/a"))
    desk.web.fail(f"{HOME}/2.xml", Postponed("its host wants to be left alone", HOUR))
    result = await desk.poll(source)
    assert "sitemaps not read: 1 on other sites, 1 postponed" in result.reason
    assert not any("evil" in url for url, _ in desk.web.asked)
    desk.web.put(f"{HOME}/2.xml", urlset("/b"))
    await desk.poll(source, NOW + HOUR)
    assert paths(desk) == {"/a", "/b"}


async def test_an_index_that_moves_for_good_takes_its_files_along(desk: Any, source: Any) -> None:
    new = f"{HOME}/sitemap_index.xml"
    desk.web.put(MAP, index("/1.xml"), etag='"i"', moved_to=new, final_url=new)
    desk.web.put(f"{HOME}/1.xml", urlset("/a"))
    for hours in range(3):
        await desk.poll(source, NOW + hours * HOUR)
    assert desk.source(source).url == new
    desk.web.put(new, index("/1.xml"), etag='"i"')
    desk.web.put(f"{HOME}/1.xml", urlset("/a", "/b"))
    await desk.poll(source, NOW + 3 * HOUR)
    assert paths(desk) == {"/a", "/b"}


# Adding one


@pytest.mark.parametrize("kind", ["auto", "sitemap"])
async def test_a_sitemap_is_added_with_its_first_pages(desk: Any, kind: str) -> None:
    desk.web.put(MAP, index("/1.xml"))
    desk.web.put(f"{HOME}/1.xml", urlset("/a", "/b"))
    added = await add_source(desk.db, desk.web, desk.parsers, NewSource(MAP, kind), NOW)
    assert (added.kind, added.name, added.poll.items_new) == (SourceKind.SITEMAP, "mole.example", 2)
    asked(desk)
    await desk.poll(added.id, NOW + HOUR)
    assert paths(desk) == {"/a", "/b"}


@pytest.mark.parametrize(
    ("url", "body", "why"),
    [
        (MAP, "<html><body>Not here</body></html>", "cannot be a sitemap: an HTML page"),
        (f"{HOME}/robots.txt", "Sitemap: https://mole.example/sitemap.xml", "names after “Sitemap:”"),
        (MAP, index("/gone.xml"), "1 of 1 sitemaps failed"),
        (MAP, index("https://evil.example/1.xml"), "not read: 1 on other sites"),
    ],
)
async def test_what_is_no_sitemap_is_not_added_as_one(desk: Any, url: str, body: str, why: str) -> None:
    desk.web.put(url, body)
    with pytest.raises(Permanent, match=why):
        await add_source(desk.db, desk.web, desk.parsers, NewSource(url, "sitemap"), NOW)
