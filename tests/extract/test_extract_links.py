"""Of a page that lists others: where its headlines lead, in its order, each once."""

from typing import Any

import pytest

from tasks.errors import NeedsBrowser, Permanent
from tasks.extract import links

HOME = "https://pier.example/news/"


def told(body: str) -> dict[str, Any]:
    html = f"<html><head><title>The Pier Post</title></head><body>{body}</body></html>"
    return links.parse(html.encode(), HOME, "text/html", "utf-8")


def three(card: str) -> str:
    return "".join(card.replace("{n}", number) for number in ("one", "two", "three"))


@pytest.mark.parametrize("card", [
    "<div class='card'><a href='/topics/sea'>At sea</a><h3><a href='{n}'>Story {n} of the pier</a></h3>"
    "<p>The gauge was read twice.</p><a href='{n}#comments'>3 comments</a></div>",
    "<article><a href='{n}'><h2>Story {n} of the pier</h2><p>The gauge was read twice.</p></a></article>",
    "<div><h3>Story {n} of the pier</h3><p>The gauge was read twice.</p><a href='{n}'>Read more</a></div>",
    "<li><a href='{n}'>Story {n} of the pier</a> (today)</li>",
    "<a href='{n}'>Story {n} of the pier</a>",
    "<tr><td>1.</td><td><a href='{n}'>Story {n} of the pier</a></td></tr>",
    "<h2><a href='https://pier.example/news/{n}'>Story {n} of the pier</a></h2>",
])
def test_each_teaser_leads_to_the_page_of_its_headline(card: str) -> None:
    frame = ("<table>", "</table>") if card.startswith("<tr>") else ("<main>", "</main>")
    menu = "<nav><a href='/about'>All about us</a> <a href='/jobs'>Work with us</a></nav>"
    assert told(menu + three(card).join(frame)) == {"title": "The Pier Post", "items": [
        {"url": f"{HOME}{n}", "title": f"Story {n} of the pier"} for n in ("one", "two", "three")]}


@pytest.mark.parametrize("body", [
    "<p>The gauge at the pier is read twice a day by the harbour master himself.</p>",
    three("<div><h3><a href='javascript:show()'>Story {n} of the pier</a></h3></div>"),
    three("<a href='/tags/{n}'>Harbour {n}</a>"),
    f"<nav>{three('<div><h3><a href=/{n}>Story {n} of the pier</a></h3></div>')}</nav>",
])
def test_a_page_that_lists_nothing_says_so(body: str) -> None:
    with pytest.raises(Permanent, match="the page lists no others"):
        told(body)


def test_an_error_page_lists_nothing_whatever_it_recommends() -> None:
    recommended = three("<div><h3><a href='{n}'>Story {n} of the pier</a></h3></div>")
    with pytest.raises(Permanent, match="an error page that was sent as a good one"):
        told(f"<h1>Page not found</h1>{recommended}")


def test_a_list_that_scripts_would_make_needs_a_browser() -> None:
    with pytest.raises(NeedsBrowser):
        told("<div id='root'></div><script src='a.js'></script>")
