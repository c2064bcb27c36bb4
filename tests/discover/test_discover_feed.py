"""What the parser of feeds makes of bytes: items with an address, an identity and plain text."""

import gzip
import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from tasks.discover import feed
from tasks.errors import Permanent

XHTML = "http://www.w3.org/1999/xhtml"
HERE = "https://quay.example/log/feed.xml"
Rss = Callable[..., str]


def parse(body: str | bytes, media_type: str = "", charset: str | None = None) -> dict[str, Any]:
    return feed.parse(body.encode() if isinstance(body, str) else body, HERE, media_type, charset)


def items(body: str | bytes, **more: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = parse(body, **more)["items"]
    return listed


def atom(*entries: str, base: str = "") -> str:
    listed = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return f'<feed xmlns="http://www.w3.org/2005/Atom" {base}><title>Log</title>{listed}</feed>'


# Addresses


def test_a_relative_link_is_resolved_against_every_xml_base_around_it() -> None:
    body = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://quay.example/diary/"><title>Diary</title>'
        '<entry xml:base="2025/11/"><id>urn:a</id><link href="gulls"/></entry>'
        '<entry><id>urn:b</id><link href="/about/terns"/></entry></feed>'
    )
    assert [item["url"] for item in items(body)] == [
        "https://quay.example/diary/2025/11/gulls", "https://quay.example/about/terns",
    ]


def test_without_xml_base_a_link_is_resolved_against_the_final_address_of_the_feed() -> None:
    (item,) = items(atom("<id>urn:a</id><link href='../gulls?a=1&amp;b=2'/>"))
    assert item["url"] == "https://quay.example/gulls?a=1&b=2"


@pytest.mark.parametrize("link", ["N/A", "#", "", " ", "javascript:alert(1)", "mailto:a@b.example", "file:///etc/x"])
def test_what_leads_to_no_page_is_no_link(rss: Rss, link: str) -> None:
    (item,) = items(rss(f"<title>A</title><link>{link}</link>"))
    assert item["url"] is None


def test_an_xml_base_that_is_no_web_address_spoils_relative_links_only() -> None:
    body = atom("<link href='x'/>", "<link href='https://quay.example/y'/>", base='xml:base="file:///etc/"')
    assert [item["url"] for item in items(body)] == [None, "https://quay.example/y"]


@pytest.mark.parametrize(
    ("guid", "url"),
    [
        ("<guid>7731</guid>", None),
        ("<guid>/p/7731</guid>", None),
        ("<guid isPermaLink='true'>post-7731</guid>", None),
        ("<guid>https://quay.example/p/7731</guid>", "https://quay.example/p/7731"),
        ("<guid isPermaLink='false'>https://quay.example/?p=7731</guid>", None),
        ("<link>N/A</link><guid>https://quay.example/p/7731</guid>", "https://quay.example/p/7731"),
        ("<guid>https://quay.example/g</guid><link>https://quay.example/l</link>", "https://quay.example/l"),
    ],
)
def test_a_guid_is_an_address_only_where_it_is_a_whole_one_and_nothing_denies_it(
    rss: Rss, guid: str, url: str | None
) -> None:
    (item,) = items(rss(f"<title>A</title>{guid}"))
    assert item["url"] == url


def test_an_enclosure_is_not_the_page_of_its_item() -> None:
    links = {"enclosure": "/a.mp3", "self": "/self", "alternate": "/a", "replies": "/a#comments"}
    (item,) = items(atom("".join(f"<link rel='{rel}' href='{href}'/>" for rel, href in links.items())))
    assert item["url"] == "https://quay.example/a"


# Identity


def keys(body: str) -> list[str]:
    return [item["item_key"] for item in items(body)]


def test_a_guid_identifies_its_item_whatever_else_changes(rss: Rss) -> None:
    before = rss("<guid>g1</guid><title>Old</title><link>https://quay.example/a</link>")
    after = rss("<guid>g1</guid><title>New</title><link>https://quay.example/b</link>")
    assert keys(before) == keys(after)


def test_a_guid_that_several_items_have_identifies_none_of_them(rss: Rss) -> None:
    addresses = ["https://quay.example/a", "https://quay.example/b"]
    body = rss(*(f"<guid>9</guid><link>{address}</link>" for address in addresses))
    assert keys(body) == [f"link:{address}" for address in addresses]


def test_an_item_that_is_listed_twice_keeps_its_guid(rss: Rss) -> None:
    assert keys(rss(1, 1)) == ["guid:tide-1", "guid:tide-1"]


@pytest.mark.parametrize("guid", ["N/A", "none", "#", "", "0"])
def test_a_placeholder_is_no_guid_even_when_only_one_item_has_it(rss: Rss, guid: str) -> None:
    assert keys(rss(f"<guid isPermaLink='false'>{guid}</guid><link>https://quay.example/a</link>")) == [
        "link:https://quay.example/a"
    ]


def test_items_without_guid_and_link_are_told_apart_by_what_they_say(rss: Rss) -> None:
    first, second, again = keys(rss("<title>A</title>", "<title>B</title>", "<title>A</title>"))
    assert first != second
    assert first == again


def test_a_very_long_guid_makes_a_short_key(rss: Rss) -> None:
    (key,) = keys(rss(f"<guid>{'g' * 9000}</guid>"))
    assert len(key) < 100


@pytest.mark.parametrize(
    "change", [("Gulls", "Terns"), ("Many words", "More words"), ("09:00:00", "11:00:00")],
    ids=["title", "text", "updated"],
)
def test_the_item_hash_follows_what_the_source_says(change: tuple[str, str]) -> None:
    entry = ("<id>urn:a</id><title>Gulls</title><link href='/a'/><updated>2026-01-02T09:00:00Z</updated>"
             "<content>Many words</content>")
    assert items(atom(entry))[0]["item_hash"] != items(atom(entry.replace(*change)))[0]["item_hash"]


def test_a_feed_that_only_renews_its_own_date_changes_no_item(rss: Rss) -> None:
    dated = rss(1).replace("<item>", "<lastBuildDate>Mon, 02 Mar 2026 09:00:00 GMT</lastBuildDate><item>")
    assert items(dated) == items(rss(1))


# Text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Boat &amp;#39;Puffin&amp;#39; &amp;amp; crew", "Boat 'Puffin' & crew"),
        ("<![CDATA[What is &lt;details&gt; for?]]>", "What is <details> for?"),
        ("<![CDATA[What is <details> for?]]>", "What is <details> for?"),
        ("A &lt;em&gt;loud&lt;/em&gt; horn", "A loud horn"),
        ("A &lt;a href=&quot;/x&quot; class=y&gt;linked&lt;/a&gt; horn", "A linked horn"),
        ("\n  <![CDATA[ Low tide ]]>\n", "Low tide"),
        ("Low<![CDATA[<br/>]]>tide", "Low tide"),
        ("When a&lt;b and c&gt;d", "When a<b and c>d"),
        ("When to use &lt;b&gt;", "When to use <b>"),
        ("&lt;script&gt;steal()&lt;/script&gt;Fog", "Fog"),
        ("Caf\u00e9 &#128031; &#55357;&#56357;", "Caf\u00e9 \U0001f41f"),
        ("/search?a=1&amp;copy=2 &amp;copy; c", "/search?a=1&copy=2 © c"),
    ],
)
def test_a_title_is_plain_text(rss: Rss, written: str, read: str) -> None:
    (item,) = items(rss(f"<title>{written}</title>"))
    assert item["title"] == read


@pytest.mark.parametrize(
    ("title", "read"),
    [
        ('<title type="text">2 &lt; 3 &amp;amp; 4</title>', "2 < 3 &amp; 4"),
        ("<title>&lt;b&gt; is bold</title>", "<b> is bold"),
        ('<title type="html">&lt;i&gt;Two&lt;/i&gt; &amp;lt; 3</title>', "Two < 3"),
        (f'<title type="xhtml"><div xmlns="{XHTML}">Two <i>boats</i> &lt; 3</div></title>', "Two boats < 3"),
    ],
)
def test_atom_says_how_its_title_is_written(title: str, read: str) -> None:
    (item,) = items(atom(title))
    assert item["title"] == read


def test_a_summary_holds_no_html(rss: Rss) -> None:
    html = (
        "<style>p{}</style><p>One</p><p>t<b>w</b>o &amp; "
        "<img src='x.png' alt='a > b' onerror='steal()'>three</p><!-- no -->"
    )
    (item,) = items(rss(f"<description>{escape(html)}</description>"))
    assert item["summary"] == "One two & three"


def test_texts_that_no_database_stores_are_cleaned(rss: Rss) -> None:
    (item,) = items(rss("<title>a\x00b\x0bc</title><link>https://quay.example/a</link>"))
    assert item["title"] == "abc"


def test_authors_are_names_and_atom_entries_inherit_the_feeds() -> None:
    body = atom("<author><name>Ada</name></author><author><name>Bo</name></author>", "<id>urn:b</id>")
    inherited = body.replace("<entry>", "<author><name>Crew</name></author><entry>", 1)
    assert [item["author"] for item in items(inherited)] == ["Ada, Bo", "Crew"]


# Dates


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Fri, 02 Jan 2026 09:30:00 +0200", "2026-01-02T07:30:00+00:00"),
        ("Fri, 02 Jan 2026 09:30:00 EST", "2026-01-02T14:30:00+00:00"),
        ("Fri, 02 Jan 2026 09:30:00", "2026-01-02T09:30:00+00:00"),
        ("2026-01-02T09:30:00-05:00", "2026-01-02T14:30:00+00:00"),
        ("1767346200", "2026-01-02T09:30:00+00:00"),
        ("1767346200000", "2026-01-02T09:30:00+00:00"),
        ("2026-01-02", "2026-01-02T00:00:00+00:00"),
        ("Sat, 01 Mar 2042 09:00:00 GMT", "2042-03-01T09:00:00+00:00"),  # the ranking judges the future
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 +0500", None),
        ("0001-01-01T00:00:00Z", None),
        ("0000-00-00 00:00:00", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_publication_date_is_utc_or_missing(rss: Rss, written: str, read: str | None) -> None:
    (item,) = items(rss(f"<pubDate>{written}</pubDate>"))
    assert item["published_at"] == read


def test_a_date_that_says_nothing_leaves_room_for_the_next_one() -> None:
    (item,) = items(atom("<published>soon</published><updated>2026-01-02T09:30:00Z</updated>"))
    assert item["published_at"] == "2026-01-02T09:30:00+00:00"


# Encodings and wrappers


def test_bytes_go_before_the_declared_charset() -> None:
    undeclared = "<rss version='2.0'><channel><item><title>Séance £</title></item></channel></rss>"
    latin = f'<?xml version="1.0" encoding="ISO-8859-1"?>{undeclared}'.encode("latin-1")
    for body, media_type, charset in [
        (latin, "application/rss+xml", "utf-8"),
        (undeclared.encode(), "text/xml", None),
        (undeclared.encode(), "text/xml", "windows-1252"),
    ]:
        assert items(body, media_type=media_type, charset=charset)[0]["title"] == "Séance £"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_wide_characters_and_byte_order_marks_are_read(rss: Rss, encoding: str) -> None:
    body = rss(1).removeprefix('<?xml version="1.0"?>').encode(encoding)
    assert items(body)[0]["title"] == "Tide 1"


@pytest.mark.parametrize("media_type", ["text/plain", "text/html", "application/octet-stream", ""])
def test_a_feed_is_recognised_by_its_bytes_whatever_it_is_declared_as(rss: Rss, media_type: str) -> None:
    assert len(items(rss(1, 2), media_type=media_type)) == 2
    assert len(items(gzip.compress(rss(1, 2).encode()), media_type=media_type)) == 2


def test_what_stands_before_a_feed_does_not_hide_it(rss: Rss) -> None:
    assert len(items(f"\n\n<!-- made by <html> hand -->\n<br />Notice: old engine {rss(1)}")) == 1


def test_rss_1_is_read() -> None:
    body = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
        '<channel rdf:about="https://quay.example/"><title>Quay</title></channel>'
        '<item rdf:about="https://quay.example/a"><title>A</title><link>https://quay.example/a</link></item></rdf:RDF>'
    )
    told = parse(body)
    assert told["title"] == "Quay"
    assert [item["url"] for item in told["items"]] == ["https://quay.example/a"]


@pytest.mark.parametrize("version", ["https://jsonfeed.org/version/1", "https://jsonfeed.org/version/1.1"])
def test_a_json_feed_is_read(version: str) -> None:
    body = json.dumps({
        "version": version, "title": "Quay", "author": {"name": "Ada"},
        "items": [
            {"id": 7, "url": "/p/7", "title": "Seven", "content_html": "<p>One</p><p>two</p>",
             "date_published": "2026-01-02T09:30:00+02:00", "authors": [{"name": "Bo"}]},
            {"id": "8", "external_url": "https://elsewhere.example/8", "content_text": "a \ud800 b"},
            "no item", {"id": None, "url": None},
        ],
    })
    seven, eight, empty = items(body, media_type="application/json")
    assert seven == seven | {
        "item_key": "guid:7", "url": "https://quay.example/p/7", "title": "Seven", "summary": "One two",
        "author": "Bo", "published_at": "2026-01-02T07:30:00+00:00",
    }
    assert (eight["url"], eight["summary"], eight["author"]) == ("https://elsewhere.example/8", "a b", "Ada")
    assert (empty["url"], empty["title"]) == (None, None)


# What is no feed


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"<!DOCTYPE html><html><head><title>Sign in</title></head><body></body></html>", "HTML page"),
        (b"<!-- x --><html><body>&lt;rss version='2.0'&gt; <rss></rss></body></html>", "HTML page"),
        (b"Service unavailable", "neither RSS, Atom nor JSON Feed"),
        (b'<?xml version="1.0"?><urlset><url><loc>https://quay.example/</loc></url></urlset>', "neither RSS"),
        (b'{"error": "quota"}', "no JSON Feed"),
        (b'{"version": "https://jsonfeed.org/version/1.1", "items": null}', "no JSON Feed"),
        (b'{"version": ', "nor valid JSON"),
        (b'{"version": "https://jsonfeed.org/version/1.1", "items": ' + b"[" * 100_000, "nested too deeply"),
        (b'<?xml version="1.0" encoding="UTF-7"?><rss><channel/></rss>', "UTF-7"),
        (b'<?xml version="1.0"?><rss version="2.0"><channel><title>x', "breaks off before its first item"),
        ('<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title>'.encode("utf-16"), "breaks off"),
        (b"\x1f\x8b\x08broken", "gzip"),
        (gzip.compress(b"<rss>" + b" " * 30_000_000), "larger than 20 MB"),
    ],
)
def test_what_is_no_feed_is_refused_with_the_reason(body: bytes, why: str) -> None:
    with pytest.raises(Permanent, match=why):
        parse(body, media_type="application/rss+xml")


@pytest.mark.parametrize("body", [
    b'<rss version="2.0"><channel><title>x</title></channel></rss>',
    b'<rss version="2.0"><channel/></rss>',
    b'<feed xmlns="http://www.w3.org/2005/Atom"/>',
    '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>x</a:title></a:feed>\n'.encode("utf-16"),
])
def test_a_feed_without_items_that_is_whole_is_an_empty_feed(body: bytes) -> None:
    assert parse(body, media_type="application/rss+xml")["items"] == []


def test_an_external_entity_reads_no_file(tmp_path: Path, rss: Rss) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keys")
    address = secret.as_uri()
    for declared in (f'<!ENTITY x SYSTEM "{address}">', f'<!ENTITY % d SYSTEM "{address}"> %d;'):
        body = rss("<title>a &x; b</title>").replace("<rss", f"<!DOCTYPE rss [{declared}]><rss", 1)
        for encoded in (body.encode(), body.encode("utf-16")):
            assert "keys" not in json.dumps(parse(encoded))


@pytest.mark.parametrize("doctype", [
    '<!DOCTYPE rss [<!ENTITY x "EXPANDED">]>', '<!doctype\n\nrss\n[\n<!ENTITY\tx\n"EXPANDED">\n]\n>',
    '<!-- by hand --><!DOCTYPE rss SYSTEM "a.dtd" [ <!ENTITY x "EXPANDED"> ] >',
])
def test_an_entity_that_the_feed_itself_declares_is_not_expanded(doctype: str, rss: Rss) -> None:
    (item,) = items(rss("<title>a &x; b</title>").replace("<rss", f"{doctype}<rss", 1))
    assert "EXPANDED" not in item["title"]


def test_bytes_that_name_a_file_are_not_opened(tmp_path: Path, rss: Rss) -> None:
    target = tmp_path / "feed.xml"
    target.write_text(rss(1))
    with pytest.raises(Permanent, match="not a feed"):
        parse(str(target))


def test_entities_that_multiply_end_at_once(rss: Rss) -> None:
    laughs = '<!ENTITY l0 "ha">' + "".join(f'\n<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    body = rss("<title>&l9;</title>").replace("<rss", f"<!DOCTYPE rss [\n{laughs}\n]>\n<rss", 1)
    started = process_time()
    (item,) = items(body)
    assert len(item["title"]) < 100
    assert process_time() - started < 1


def test_an_old_doctype_does_no_harm(rss: Rss) -> None:
    doctype = '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://site.invalid/rss.dtd">'
    assert len(items(rss(1).replace("<rss", f"{doctype}<rss", 1))) == 1


def test_no_more_than_five_thousand_items_are_read(rss: Rss) -> None:
    assert len(items(rss(*["<title>x</title>"] * 5_100))) == 5_000
