"""What is read of a sitemap's bytes: whatever is whole, whatever its dress, and never more than its pages."""

import gzip
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tasks.discover.lastmod import canonical, moment
from tasks.discover.sitemap import MOST_PAGES, parse
from tasks.errors import Permanent

gzipped = partial(gzip.compress, mtime=0)  # the same bytes every time

HOME = "https://harbour.example/maps/sitemap.xml"
PROTOCOL = "http://www.sitemaps.org/schemas/sitemap/0.9"


def told(body: str | bytes, url: str = HOME) -> dict[str, Any]:
    return parse(body.encode() if isinstance(body, str) else body, url, "text/html", None)


def pages(body: str | bytes, url: str = HOME) -> list[str]:
    return [item["url"] for item in told(body, url)["items"]]


def urlset(*locs: str, root: str = f'urlset xmlns="{PROTOCOL}"') -> str:
    inside = "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>{inside}</{root.split()[0]}>'


TWO = ["https://harbour.example/quay", "https://harbour.example/mole"]


@pytest.mark.parametrize(
    "body",
    [
        urlset(*TWO),
        urlset(*TWO, root="urlset"),
        urlset(*TWO, root='urlset xmlns="http://www.google.com/schemas/sitemap/0.84"'),
        urlset(*TWO).replace("<url>", "<url xmlns=''>"),
        urlset(*TWO).upper().replace("HTTPS://HARBOUR.EXAMPLE/QUAY", TWO[0]).replace(
            "HTTPS://HARBOUR.EXAMPLE/MOLE", TWO[1]),
        f"<urlset>{urlset(*TWO)}</urlset>",
        "".join(f"<url><loc>{loc}</loc></url>" for loc in TWO),
        urlset(TWO[0]) + urlset(TWO[1]),
        "\ufeff \n" + urlset(*TWO),
        urlset(f"\n\t{TWO[0]} \n", f"<![CDATA[ {TWO[1]} ]]>"),
        urlset("/quay", "../mole"),
        urlset("harbour.example/quay", "//harbour.example/mole"),
        f"<!-- made by hand --><!DOCTYPE urlset>{urlset(*TWO)}",
        "".join(f"<s:url><s:loc>{loc}</s:loc></s:url>" for loc in TWO).join(
            (f'<s:urlset xmlns:s="{PROTOCOL}">', "</s:urlset>")),
        "".join(f"<s:url><s:loc>{loc}</s:loc></s:url>" for loc in TWO).join(("<s:urlset>", "</s:urlset>")),
        "\n".join(TWO),
        f"# all our pages\r\n\r\n{TWO[0]}\r\n  {TWO[1]}",
        urlset(*TWO).encode("utf-16"),
        gzipped(urlset(*TWO).encode()),
        gzipped(gzipped("\n".join(TWO).encode())),
    ],
    ids=lambda body: repr(body)[:60],
)
def test_the_same_two_pages_are_found_in_every_dress(body: str | bytes) -> None:
    assert pages(body) == TWO


@pytest.mark.parametrize(
    ("loc", "page"),
    [
        ("https://harbour.example/?a=1&amp;b=2", "https://harbour.example/?a=1&b=2"),
        ("https://harbour.example/?a=1&b=2", "https://harbour.example/?a=1&b=2"),
        ("https://harbour.example/?a=1&copy=2&", "https://harbour.example/?a=1&copy=2&"),
        ("https://harbour.example/?a=1&amp;amp;b=2", "https://harbour.example/?a=1&b=2"),
        ("<![CDATA[https://harbour.example/?a=1&b=2]]>", "https://harbour.example/?a=1&b=2"),
        ("https://harbour.example/caf&eacute;", "https://harbour.example/caf%C3%A9"),
        ("https://harbour.example/caf&#233;", "https://harbour.example/caf%C3%A9"),
        ("https://harbour.example/café", "https://harbour.example/caf%C3%A9"),
    ],
)
def test_ampersands_and_letters_come_out_as_they_were_meant(loc: str, page: str) -> None:
    assert pages(urlset(loc)) == [page]


def test_what_is_no_address_of_a_page_is_counted_and_costs_no_other() -> None:
    found = told(urlset("javascript:void(0)", "file:///etc/hosts", "mailto:a@b.example", "", TWO[0], "#"))
    assert ([item["url"] for item in found["items"]], found["dropped"]) == ([TWO[0]], 5)


def test_pictures_films_and_languages_are_no_pages() -> None:
    image, video = 'xmlns:image="http://images.example/sitemap-image"', 'xmlns:v="http://x.example/sitemap-video"'
    body = f"""<urlset xmlns="{PROTOCOL}" {image} {video} xmlns:xhtml="http://www.w3.org/1999/xhtml"><url>
      <image:loc>https://harbour.example/0.jpg</image:loc>
      <image:image><image:loc>https://harbour.example/1.jpg</image:loc></image:image>
      <loc>{TWO[0]}</loc>
      <v:video><v:title>Ships</v:title><v:content_loc>https://harbour.example/1.mp4</v:content_loc></v:video>
      <xhtml:link rel="alternate" hreflang="fr" href="https://harbour.example/fr"/></url></urlset>"""
    assert told(body)["items"] == [{"url": TWO[0], "lastmod": "", "title": None, "published_at": None}]
    assert pages(body.replace(image, "")) == [TWO[0]]


def test_the_news_extension_gives_titles_and_dates() -> None:
    news = "http://www.google.com/schemas/sitemap-news/0.9"
    (item,) = told(f"""<urlset xmlns="{PROTOCOL}" xmlns:n="{news}"><url><loc>{TWO[0]}</loc><n:news>
      <n:publication><n:name>The Mole</n:name><n:language>en</n:language></n:publication>
      <n:title>Ships &amp; &lt;b&gt;sheds&lt;/b&gt;</n:title>
      <n:publication_date>2026-02-03T04:05+01:00</n:publication_date></n:news></url></urlset>""")["items"]
    assert (item["title"], item["published_at"]) == ("Ships & sheds", "2026-02-03T03:05:00+00:00")
    assert item["lastmod"] == item["published_at"]


def test_an_index_lists_its_files_with_their_dates() -> None:
    body = f"""<sitemapindex xmlns="{PROTOCOL}"><sitemap><loc>/maps/a.xml.gz</loc>
      <lastmod>2026-02-03</lastmod></sitemap><sitemap><loc>b.txt</loc></sitemap></sitemapindex>"""
    found = told(body)
    assert (found["items"], found["sitemaps"]) == ([], [
        ["https://harbour.example/maps/a.xml.gz", "2026-02-03T00:00:00+00:00"],
        ["https://harbour.example/maps/b.txt", ""]])


@pytest.mark.parametrize(
    "feed",
    [
        "<rss version='2.0'><channel><title>Quays</title><item><link>{}</link></item></channel></rss>",
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Quays</title><entry><link href='{}'/>"
        "</entry></feed>",
        '{{"version": "1.1", "title": "Quays", "items": [{{"id": "1", "url": "{}"}}]}}',
    ],
    ids=["RSS", "Atom", "JSON Feed"],
)
def test_a_feed_offered_as_a_sitemap_is_read_as_the_feed_it_is(feed: str) -> None:
    found = told(feed.format(TWO[0]))
    assert (found["title"], [item["url"] for item in found["items"]]) == ("Quays", [TWO[0]])


@pytest.mark.parametrize("cut", ["https://harbour.example/hal", "https://harbour.example/half</loc>"])
def test_an_entry_that_is_cut_off_is_none_and_the_cut_is_told(cut: str) -> None:
    whole = urlset(*TWO).removesuffix("</urlset>")
    found = told(f"{whole}<url><loc>{cut}")
    assert ([item["url"] for item in found["items"]], found["cut_off"]) == (TWO, True)
    assert not told(urlset(*TWO))["cut_off"]


def test_a_sitemap_may_be_empty_but_not_cut_off_before_it_says_anything() -> None:
    assert told("<urlset/>")["items"] == told(urlset())["items"] == []
    with pytest.raises(Permanent, match="cut off before its first entry"):
        told("<urlset><url><loc>https://harbour.example/ha")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("<!doctype html><html><head><title>Sign in</title></head></html>", "an HTML page"),
        ("<Error><Code>AccessDenied</Code></Error>", "neither a list of addresses nor a feed"),
        ("Service unavailable", "no list of addresses"),
        ('{"error": "no such map"}', "no JSON Feed"),
        ("User-agent: *\nDisallow: /\nSitemap: https://harbour.example/robots.txt", "a robots.txt"),
        (f"{TWO[0]}\nis a fine quay.\nDo visit it.", "no list of addresses"),
        (b"\x1f\x8bnot gzip at all", "gzip data is broken"),
        (gzipped(b" " * 10_000_000), "larger than"),
        (gzipped(gzipped(b" " * 10_000_000)), "larger than"),
        (f"<!DOCTYPE u [<!ENTITY x SYSTEM 'file:///etc/hosts'>]>{urlset('https://harbour.example/&x;')}",
         "declares entities"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_sitemap_says_why(body: str | bytes, why: str) -> None:
    with pytest.raises(Permanent, match=why):
        told(body)


def test_a_file_of_more_pages_than_the_protocol_allows_is_read_up_to_there() -> None:
    found = told("\n".join(f"https://harbour.example/{n}" for n in range(MOST_PAGES + 3)))
    assert (len(found["items"]), found["past"]) == (MOST_PAGES, 3)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2025-11-03", "2025-11-03T00:00:00+00:00"),
        ("20251103", "2025-11-03T00:00:00+00:00"),
        ("2025/11/3", "2025-11-03T00:00:00+00:00"),
        ("3.11.2025", "2025-11-03T00:00:00+00:00"),
        ("Nov 3, 2025", "2025-11-03T00:00:00+00:00"),
        ("3 November 2025", "2025-11-03T00:00:00+00:00"),
        (" 2025-11-03T08:15:42+01:00\n", "2025-11-03T07:15:42+00:00"),
        ("2025-11-03T07:15Z", "2025-11-03T07:15:00+00:00"),
        ("2025-11-03T07:15:42.1234567Z", "2025-11-03T07:15:42.123456+00:00"),
        ("2025-11-03 07:15:42", "2025-11-03T07:15:42+00:00"),
        ("2025-11-03 07:15:42 UTC", "2025-11-03T07:15:42+00:00"),
        ("2025-11-03 08:15:42 +0100", "2025-11-03T07:15:42+00:00"),
        ("2025-11-03 07:15:42 PM", "2025-11-03T19:15:42+00:00"),
        ("2025-11-03 12:15:42 AM", "2025-11-03T00:15:42+00:00"),
        ("2025-11-03 19:15:42 PM", "2025-11-03T19:15:42+00:00"),
        ("Mon, 03 Nov 2025 07:15:42 GMT", "2025-11-03T07:15:42+00:00"),
        ("Mon Nov 03 2025 08:15:42 GMT+0100 (CET)", "2025-11-03T07:15:42+00:00"),
        ("1762154142", "2025-11-03T07:15:42+00:00"),
        ("1762154142000", "2025-11-03T07:15:42+00:00"),
        ("2026", "2026"),
        ("2026-03", "2026-03"),
        *((unknown, "") for unknown in (
            "", "yesterday", "3/11/2025", "0000-00-00", "2025-13-45", "2025-02-30", "1970-01-01", "99999",
            "2025-11-03T25:00:00Z", "0001-01-01T00:00:00Z", "-", "2025-11-03" * 9, "٢٠٢٦")),
    ],
)
def test_a_date_means_the_same_however_it_is_written_or_is_unknown(said: str, meant: str) -> None:
    assert canonical(said) == meant


def test_a_year_alone_is_no_day() -> None:
    assert moment("2026") is moment("2026-03") is None
    assert moment("2026-03-01") == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_bad_date_costs_neither_its_page_nor_the_file() -> None:
    """A root inside the root, an address without its host, a bare ampersand, and three odd dates."""
    body = """<urlset><urlset>
      <url><loc> https://harbour.example/a </loc><lastmod>2025-11-03 07:15:42 PM</lastmod></url>
      <url><loc>/b</loc><lastmod>2026</lastmod></url>
      <url><loc>https://harbour.example/c?x=1&y=2</loc><lastmod>0000-00-00</lastmod></url></urlset></urlset>"""
    assert {item["url"]: item["lastmod"] for item in told(body)["items"]} == {
        "https://harbour.example/a": "2025-11-03T19:15:42+00:00",
        "https://harbour.example/b": "2026",
        "https://harbour.example/c?x=1&y=2": ""}


def test_the_benchmark_scores_a_corpus_and_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(urlset(*TWO))
    facts = '[{"file": "own/a.xml", "expect_pages": %s}, {"file": "own/gone.xml", "expect_pages": null}]'
    script = [sys.executable, "-m", "benchmarks.sitemaps", str(tmp_path)]
    root = Path(__file__).parents[2]
    for expected, status, score in ((TWO, 0, "1 of 1"), (TWO[::-1], 1, "0 of 1")):
        (tmp_path / "facts.json").write_text(facts % str(expected).replace("'", '"'))
        (tmp_path / "gone.xml").write_text("<html>")
        run = subprocess.run(script, cwd=root, capture_output=True, text=True, check=False)
        assert (run.returncode, score in run.stdout) == (status, True), run.stdout + run.stderr
