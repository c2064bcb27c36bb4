"""Subscriptions in and out: what feed readers write, what nobody should have written, and our own."""

from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import pytest
from lxml import etree
from sqlalchemy import select

from models.session import Database
from models.tables import LIBRARY_SCOPE, Source
from tasks.discover import opml
from tasks.discover.poll import due_sources
from tasks.discover.subscriptions import Imported, export_sources, import_sources
from tasks.errors import Permanent

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def parse(inside: str, before: str = "") -> dict[str, Any]:
    return opml.parse(f'{before}<opml version="2.0"><body>{inside}</body></opml>'.encode(), "", "", None)


def feed(name: str, url: str = "", more: str = "") -> str:
    return f'<outline type="rss" text="{name}" xmlUrl="{url or f"https://{name}.example/feed"}" {more}/>'


def load(db: Database, inside: str) -> Imported:
    return import_sources(db, parse(inside), NOW)


def sources(db: Database) -> list[Source]:
    with db.begin() as session:
        return list(session.scalars(select(Source).where(Source.removed_at.is_(None)).order_by(Source.name)))


def test_the_folders_around_a_feed_are_its_tags_outermost_first() -> None:
    sea = f'<outline title="Sea">{feed("tide")}</outline>'
    told = parse(f'<outline text="News">{sea}</outline>{feed("pier")}')
    assert [(it["name"], it["tags"]) for it in told["entries"]] == [("tide", ["News", "Sea"]), ("pier", [])]


def test_a_category_is_tags_too() -> None:
    [entry] = parse(feed("tide", more='category="/News/Sea,Weather"'))["entries"]
    assert entry["tags"] == ["News", "Sea", "Weather"]


@pytest.mark.parametrize("written", [
    '<outline text="T" xmlurl="https://t.example/?a=1&b=2&copy=3"/>',
    '<OUTLINE TEXT="T" XMLURL="https://t.example/?a=1&amp;b=2&amp;copy=3"/>',
    '<outline text="T" xmlUrl=" https://t.example/?a=1&#38;b=2&#x26;copy=3 "></outline>',
])
def test_what_readers_write_wrong_is_mended(written: str) -> None:
    assert [it["url"] for it in parse(written)["entries"]] == ["https://t.example/?a=1&b=2&copy=3"]


def test_entities_of_html_become_their_characters_and_unknown_ones_stay_as_they_are_written() -> None:
    [entry] = parse(feed("caf&eacute; &bull; &nonsense; &lt;b&gt;", "https://t.example/"))["entries"]
    assert entry["name"] == "café • &nonsense; <b>"


def test_encodings_are_found_out() -> None:
    text = f'<?xml version="1.0" encoding="{{}}"?><opml><body>{feed("Zürich", "https://z.example/")}</body></opml>'
    for name in ("utf-8", "iso-8859-1", "utf-16"):
        [entry] = opml.parse(text.format(name).encode(name), "", "", None)["entries"]
        assert entry["name"] == "Zürich"


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"<html><body>Sign in</body></html>", b"\x00\x01", b"<rss/>", b"<"])
def test_what_is_no_opml_is_refused(body: bytes) -> None:
    with pytest.raises(Permanent, match="not an OPML file"):
        opml.parse(body, "", "", None)


def test_entities_of_a_document_type_are_never_expanded() -> None:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    types = f'<!DOCTYPE opml [<!ENTITY l0 "lol">{lol}<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    started = monotonic()
    inside = feed("&l11;", "https://t.example/") + feed("&x;", "https://u.example/")
    [one, two] = parse(inside, types)["entries"]
    assert (one["name"], two["name"]) == ("&l11;", "&x;")
    assert monotonic() - started < 1


def test_depth_and_number_are_bounded() -> None:
    deep = parse("<outline text='x'>" * 100_000 + feed("tide"))
    assert len(deep["entries"]) <= 1
    many = parse(feed("t", "https://t.example/") * 10_001)
    assert len(many["entries"]) == 10_000
    assert many["refused"] == [["the rest", "a file may hold 10,000 entries"]]


def test_an_entry_without_a_feed_is_told_and_an_empty_folder_is_not() -> None:
    told = parse('<outline text="Broken" type="rss"/><outline text="Empty"/>'
                 '<outline text="Others" type="include" url="https://t.example/more.opml"/>')
    assert told == {"entries": [], "refused": [["Broken", "it names no feed (xmlUrl)"],
                                               ["Others", "it names no feed (xmlUrl)"]]}


@pytest.mark.database
def test_sources_are_saved_without_a_request_each_and_are_due_one_after_the_other(db: Database) -> None:
    done = load(db, "".join(feed(f"t{n}") for n in range(5)))
    assert [it["name"] for it in done.added] == ["t0", "t1", "t2", "t3", "t4"]
    assert [it.next_poll_at for it in sources(db)] == [NOW + timedelta(seconds=2 * n) for n in range(5)]
    assert len(due_sources(db, NOW)) == 1
    assert len(due_sources(db, NOW + timedelta(minutes=1))) == 5


@pytest.mark.database
def test_what_is_wrong_is_told_in_a_line_each_and_the_rest_goes_on(db: Database) -> None:
    ours = 'xmlns:a="urn:almanac:source"'
    done = load(db, "".join([
        feed("one"), feed("bad", "ftp://tide.example/"), feed("none", "not an address"),
        feed("me", "https://me:secret@tide.example/"), feed("wrong", more=f'{ours} a:priority="9000"'),
        feed("word", more=f'{ours} a:priority="high"'), feed("zone", more=f'{ours} a:zone="Mars/North"'),
        feed("mapped", more=f'{ours} a:kind="json" a:map="{"[" * 3000}"'),
        feed("own", more=f'{ours} a:kind="documentation"'), feed("two"),
    ]))
    assert [it["name"] for it in done.added] == ["one", "two"]
    assert [line.partition(":")[0] for line in done.refused] == [
        "bad", "none", "me", "wrong", "word", "zone", "mapped", "own"]
    assert all("\n" not in line and "secret" not in line for line in done.refused)


@pytest.mark.database
def test_what_is_there_already_is_told_and_stays_as_it_is(db: Database) -> None:
    load(db, feed("tide"))
    done = load(db, f'<outline text="Sea">{feed("tide")}</outline>{feed("pier")}')
    assert (done.known, len(done.added)) == (["tide: https://tide.example/feed is a source already"], 1)
    assert [it.tags for it in sources(db)] == [[], []]


@pytest.mark.database
def test_an_entry_in_two_folders_is_one_source_with_both_tags(db: Database) -> None:
    other = feed("tide", "https://TIDE.example:443/feed?utm_source=opml")
    done = load(db, f'<outline text="Sea">{feed("tide")}</outline><outline text="News">{other}</outline>')
    assert [it.tags for it in sources(db)] == [["Sea", "News"]]
    assert len(done.known) == 1
    assert "is in the file twice" in done.known[0]


@pytest.mark.database
def test_what_is_exported_is_imported_as_it_was(db: Database) -> None:
    ours = 'xmlns:a="urn:almanac:source"'
    inner = f'<outline text="Tides &amp; &quot;moons&quot;">{feed("tide")}</outline>'
    rarely = 'a:cron="0 7 * * 1" a:zone="Europe/Berlin" a:priority="80" a:weight="0.25"'
    pier = feed("pier", more=f"{ours} {rarely}")
    load(db, "".join([
        feed("plain"), f'<outline text="Sea">{inner}{pier}</outline>',
        '<outline type="link" text="A page" url="https://page.example/"/>',
        feed("api", more=f"""{ours} a:kind="json" a:map='{{"items": "data", "url": "link"}}' a:limit="7" """),
        feed("globs", more=f'{ours} a:include="*/news/*&#10;*/sea/*" a:exclude="*?page=*" a:paused="true"'),
        feed("often", more=f'{ours} a:every_seconds="30m" a:mode="interesting"'),
    ]))
    own = {"id", "created_at", "next_poll_at", "parts"}
    columns = [it.name for it in Source.__table__.columns if it.name not in own]

    def told() -> list[dict[str, Any]]:
        return [{name: getattr(it, name) for name in columns} for it in sources(db)]

    before, text = told(), export_sources(db.caller([LIBRARY_SCOPE]))
    with db.begin() as session:
        session.query(Source).delete()
    done = import_sources(db, opml.parse(text.encode(), "", "", None), NOW)
    assert (done.known, done.refused, len(done.added)) == ([], [], 7)
    assert told() == before
    assert {it["url"]: it["kind"] for it in before}["https://page.example/"] == "page"
    assert export_sources(db.caller([LIBRARY_SCOPE])) == text


@pytest.mark.database
def test_other_readers_understand_the_export_and_find_no_secret_in_it(db: Database) -> None:
    load(db, f'<outline text="Sea">{feed("tide")}</outline>')
    with db.begin() as session:
        session.query(Source).update({"headers": {"x-key": "tok_TESTONLY_9f3a"}})
    text = export_sources(db.caller([LIBRARY_SCOPE]))
    assert "tok_TESTONLY" not in text
    root = etree.fromstring(text.encode())
    assert root.get("version") == "2.0"
    [tide] = root.findall("./body/outline[@text='Sea']/outline")
    assert (tide.get("type"), tide.get("text"), tide.get("xmlUrl")) == ("rss", "tide", "https://tide.example/feed")
    assert export_sources(db.caller(["somebody else's"])).count("outline") == 0
