"""One page of a JSON API: only what the map names is read, and what is odd about it costs no other item."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tasks.discover.json_rows import parse
from tasks.errors import Permanent

API = "https://pier.example/api/posts?since=2"
MAP = {"items": "data.posts", "url": "u", "title": "t",
       "summary": "body.html", "date": "when", "next": "next"}


def read(answer: Any, mapping: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return parse(body, API, "application/json", more.get("charset"), mapping or MAP)


def posts(*rows: Any, **more: Any) -> dict[str, Any]:
    return {"data": {"posts": list(rows)}} | more


def only(answer: Any, mapping: dict[str, str] | None = None) -> Any:
    (item,) = read(answer, mapping)["items"]
    return item


def test_an_item_is_what_its_map_says() -> None:
    row = {"u": "/ferry/3", "t": "The <b>ferry</b> &amp; the fog", "when": "2026-02-01T08:00:00+02:00",
           "body": {"html": "<p>It waits.</p><p>For light.</p>"}, "who": [{"name": "Ada"}], "tags": None}
    item = only(posts(row), MAP | {"author": "who[0].name"})
    assert (item["url"], item["title"], item["summary"], item["author"], item["published_at"]) == (
        "https://pier.example/ferry/3", "The ferry & the fog", "It waits. For light.", "Ada",
        "2026-02-01T06:00:00+00:00")


def test_what_the_map_does_not_name_makes_no_difference() -> None:
    plain = posts({"u": "/a", "t": "A"})
    assert read(plain) == read(posts({"u": "/a", "t": "A", "views": 9, "html": "<script>"}))
    assert only(plain)["item_hash"] != only(posts({"u": "/a", "t": "B"}))["item_hash"]


@pytest.mark.parametrize("row", [
    {"t": "none"}, {"u": None}, {"u": ""}, {"u": 7}, {"u": ["/a"]}, {"u": "javascript:alert(1)"}, {"u": "#"},
    {"u": "file:///etc/passwd"}, {"u": "mailto:a@pier.example"}, None, "text", [],
], ids=str)
def test_an_item_without_an_address_is_left_out_by_its_field_and_the_others_are_kept(row: Any) -> None:
    told = read(posts({"u": "/a"}, row, {"u": "/b"}))
    assert [item["url"] for item in told["items"]] == ["https://pier.example/a", "https://pier.example/b"]
    assert told["rejected"] == {"without a web address at “u”": 1}


@pytest.mark.parametrize(
    ("when", "published"),
    [
        (1767225600, "2026-01-01T00:00:00"),
        (1767225600.0, "2026-01-01T00:00:00"),
        ("1767225600", "2026-01-01T00:00:00"),
        (1767225600000, "2026-01-01T00:00:00"),
        ("1767225600000", "2026-01-01T00:00:00"),
        (1767225600000000, "2026-01-01T00:00:00"),
        (-157766400, "1965-01-01T00:00:00"),
        ("2026-01-01", "2026-01-01T00:00:00"),
        ("20260101", "2026-01-01T00:00:00"),
        (20260101, "2026-01-01T00:00:00"),
        ("2026-01-01T01:00:00.123Z", "2026-01-01T01:00:00.123000"),
        ("2026-01-01 01:00:00 UTC", "2026-01-01T01:00:00"),
        ("Thu, 01 Jan 2026 02:00:00 +0200", "2026-01-01T00:00:00"),
    ],
)
def test_a_date_is_unix_time_of_any_unit_or_written_out(when: Any, published: str) -> None:
    expected = datetime.fromisoformat(published).replace(tzinfo=UTC).isoformat()
    assert only(posts({"u": "/a", "when": when}))["published_at"] == expected


@pytest.mark.parametrize("when", [
    "", None, 0, 2026, True, "soon", [], {}, 1e300, 10**30, "9" * 400, "0001-01-01",
])
def test_a_date_that_says_nothing_is_missing_and_the_item_stays(when: Any) -> None:
    assert only(posts({"u": "/a", "when": when}))["published_at"] is None


@pytest.mark.parametrize("value", [
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"true", b"null", b'""', b"{}",
])
def test_what_is_no_text_and_no_number_is_missing(value: bytes) -> None:
    item = only(b'{"data": {"posts": [{"u": "/a", "when": %b, "body": {"html": %b}}]}}' % (value, value))
    assert item["published_at"] is None
    assert item["summary"] in {None, "inf"}


def test_the_whole_answer_may_be_the_list() -> None:
    answer = [{"link": "/a", "title": {"rendered": "A &#38; B"}}]
    item = only(answer, {"url": "link", "title": "title.rendered"})
    assert (item["url"], item["title"]) == ("https://pier.example/a", "A & B")


@pytest.mark.parametrize(("said", "leads_to"), [
    ("c2", "c2"), (3, "3"), ("/p?page=2", "/p?page=2"), ("  ", None), (None, None), (False, None), ({}, None),
    (["c"], None), ("a\u0000\ud800b", "ab"),
])
def test_what_leads_to_the_next_page_is_a_text_or_a_number(said: Any, leads_to: str | None) -> None:
    assert read(posts(next=said))["next"] == leads_to


def test_a_null_list_is_an_empty_last_page() -> None:
    assert read({"data": {"posts": None}, "next": "c9"}) == {"items": [], "rejected": {}, "next": None}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"error": "quota"}, "there is nothing at “data.posts”: it holds error"),
        ({"data": None, "errors": [{}]}, "there is nothing at “data.posts”: it holds data, errors"),
        ({}, "it holds nothing"),
        ([], "it is a list"),
        ({"data": {"posts": {"a": 1}}}, "there is no list at “data.posts”: it holds a"),
        ({"data": {"posts": "x"}}, "there is no list at “data.posts”"),
        (b"<html>Sign in</html>", "no JSON"),
        (b"", "empty"),
        (b"  ", "empty"),
        (b'{"data": {"posts": [', "no JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 150 + b"]" * 150, "nested too deeply"),
        (b'{"n": ' + b"9" * 5000 + b"}", "no JSON"),
        (b" " * 20_000_001, "larger than 20 MB"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_not_as_the_map_says_is_refused_with_what_is_there(answer: Any, told: str) -> None:
    with pytest.raises(Permanent, match=told):
        read(answer)


def test_an_error_is_told_by_the_names_of_its_keys_alone() -> None:
    with pytest.raises(Permanent) as refused:
        read({"error": "the key sk-very-secret is wrong"})
    assert "secret" not in refused.value.reason


@pytest.mark.parametrize(("encoding", "charset"), [
    ("utf-8", None), ("utf-8-sig", None), ("utf-16", None), ("latin-1", "iso-8859-1"), ("cp1252", None),
    ("latin-1", "no-such-charset"),
])
def test_any_encoding_that_apis_use_is_read(encoding: str, charset: str | None) -> None:
    body = json.dumps(posts({"u": "/a", "t": "Möwe"}), ensure_ascii=False).encode(encoding)
    assert read(body, charset=charset)["items"][0]["title"] == "Möwe"


def test_an_own_id_identifies_where_each_item_has_another() -> None:
    mapping = MAP | {"id": "id"}
    told = read(posts({"u": "/a", "id": 7}, {"u": "/b", "id": 8}, {"u": "/c", "id": 8}), mapping)
    assert [item["item_key"] for item in told["items"]] == [
        "guid:7", "link:https://pier.example/b", "link:https://pier.example/c"]


def test_the_content_is_kept_for_when_the_page_cannot_be_read() -> None:
    html = f"<p class='lead'>{'The pier was closed. ' * 30}</p><script>alert(1)</script>"
    item = only([{"u": "/a", "html": html}], {"url": "u", "content": "html"})
    assert "<p>The pier was closed." in item["full_text"]
    assert "script" not in item["full_text"]
    assert item["summary"].startswith("The pier was closed.")
