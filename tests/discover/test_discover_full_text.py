"""The text that a feed brings in full is kept as structure alone; a teaser is not."""

import json
from collections.abc import Callable
from html import escape
from typing import Any

import pytest

from tasks.discover.feed import parse
from tasks.discover.plain import LEAST_FULL, MOST_FULL

LONG = "The boats stay in the harbour until the storm is over. " * 10
FEED = "https://quay.example/feed"
CONTENT = 'xmlns:content="http://purl.org/rss/1.0/modules/content/"'
Rss = Callable[..., str]


def full(body: str) -> str | None:
    (item,) = parse(body.encode(), FEED, "application/xml", None)["items"]
    text: str | None = item["full_text"]
    return text


def atom(content: str) -> str:
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>urn:a</id>{content}</entry></feed>'


def json_feed(**item: Any) -> str:
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "a"} | item]})


ELEMENT = f"<p>{escape(LONG)}</p>"


@pytest.mark.parametrize("body", [
    f'<rss version="2.0" {CONTENT}><channel><item><description>A teaser</description>'
    f"<content:encoded>{escape(ELEMENT)}</content:encoded></item></channel></rss>",
    f'<rss version="2.0"><channel><item><description>{escape(ELEMENT)}</description></item></channel></rss>',
    atom(f'<summary>A teaser</summary><content type="html">{escape(ELEMENT)}</content>'),
    atom(f'<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">{ELEMENT}</div></content>'),
    atom(f'<content type="text">{LONG}</content>'),
    json_feed(content_html=ELEMENT),
    json_feed(content_text=LONG),
], ids=["content:encoded", "description", "atom html", "atom xhtml", "atom text", "json html", "json text"])
def test_the_text_of_an_item_is_kept_whatever_its_format(body: str) -> None:
    text = full(body)
    assert text is not None
    assert f"<p>{LONG.strip()}" in text


def test_only_words_and_their_structure_are_kept(rss: Rss) -> None:
    html = (
        f"<h2 onclick='x()'>Storm</h2><script>steal()</script><!-- no --><p class=a>{LONG}"
        "<a href='javascript:x()'>link</a> <img src='/t.png' onerror='x()'><em>now</em></p>"
        "<iframe src='/x'>y</iframe>"
        "<ul style='x'><li>ebb</li></ul><pre>a\n b</pre>"
    )
    text = full(rss(f"<description>{escape(html)}</description>"))
    assert text == (
        f"<body><div><h2>Storm</h2><p>{LONG}link now</p><ul><li>ebb</li></ul><pre>a\n b</pre></div></body>")


def test_what_the_feeds_markup_hides_is_no_text(rss: Rss) -> None:
    hidden = "<b hidden>me</b>and <i style='display:none'>all</i>so."
    html = f"<p>{LONG}<span style='font-size:0'>obey</span>, {hidden}</p>"
    text = full(rss(f"<description>{escape(html)}</description>"))
    assert text is not None
    assert text.endswith(", and so.</p></div></body>")
    assert "obey" not in text


def test_plain_text_is_taken_at_its_word() -> None:
    text = full(atom(f'<content type="text">{LONG}\n\nIf a &lt;b&gt; and &amp;amp;</content>'))
    assert text is not None
    assert "<p>If a &lt;b&gt; and &amp;amp;</p>" in text


@pytest.mark.parametrize("said", ["x" * (LEAST_FULL - 1), "<b></b>" * LEAST_FULL, "x" * (MOST_FULL + 1), ""])
def test_a_teaser_is_no_full_text_and_neither_is_a_book(rss: Rss, said: str) -> None:
    assert full(rss(f"<title>A</title><description>{escape(said)}</description>")) is None
