"""A page that answers 200 and is no article never becomes a version: it says why, and an article never is."""

import pytest

from models.extracted import Extracted
from tasks.errors import NeedsBrowser, Permanent
from tasks.extract import page

SENTENCE = "The gauge at the pier is read by the harbour master twice a day, and at the old mill too. "
MENU = "<nav>" + "".join(f"<a href='/{n}'>Section number {n}</a> " for n in range(40)) + "</nav>"


def read(html: str) -> Extracted:
    return Extracted.from_json(page.parse(html.encode(), "https://a.example/", "text/html", "utf-8"))


@pytest.mark.parametrize("html", [
    "<head><script src='app.js'></script></head><body><div id='root'></div>"
    "<noscript>You need to enable JavaScript to run this app.</noscript></body>",
    "<body><div id='app'><div class='spinner'>Loading...</div></div><script>start()</script></body>",
    "<body><app-root></app-root><script type='module' src='main.js'></script></body>",
    "<body><p>Please enable JavaScript to view this site.</p><script src='x.js'></script></body>",
    "<head><title>Shop</title></head><body><script>document.write(everything)</script></body>",
    "<body><div id='__next'></div><script type='application/json'>{\"text\": \"hidden\"}</script></body>",
])
def test_a_shell_that_scripts_would_fill_waits_for_a_browser(html: str) -> None:
    with pytest.raises(NeedsBrowser) as needed:
        read(f"<html>{html}</html>")
    assert needed.value.reason == "the page has no text until a browser renders it"


@pytest.mark.parametrize("html", [
    "", " \n\t", "\0\0", "<!-- nothing -->", "<html></html>",
    "<html><head><title>Only a title</title></head></html>",
    "<html><body><img src='a.png'><script type='application/ld+json'>{}</script></body></html>",
])
def test_an_empty_page_has_nothing_to_read(html: str) -> None:
    with pytest.raises(Permanent) as refused:
        read(html)
    assert refused.value.reason == "there is nothing to read on the page"


@pytest.mark.parametrize("media_type", ["text/html", "text/plain"])
@pytest.mark.parametrize(("body", "reason"), [
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\6\0\0\0" + bytes(range(256)) * 4,
     "the bytes are neither HTML nor any other text"),
    (b"<?xml version='1.0'?>\n<!-- by hand --><rss version='2.0'><channel><title>Tides</title></channel>",
     "the address holds a feed, not a page: add it as a source"),
])
def test_what_is_no_page_is_refused_under_any_media_type(body: bytes, reason: str, media_type: str) -> None:
    with pytest.raises(Permanent) as refused:
        page.parse(body, "https://a.example/", media_type, None)
    assert refused.value.reason == reason


@pytest.mark.parametrize(("title", "body"), [
    ("503 Service Unavailable", "<h1>Service Unavailable</h1><p>The server is busy. Try again later.</p>"),
    ("The Harbour Post", f"{MENU}<h1>Service unavailable</h1><p>We will be back soon.</p>"),
    ("404 Not Found | The Harbour Post", f"{MENU}<p>{SENTENCE}</p>"),
    ("The Harbour Post &ndash; Page not found", f"{MENU}<p>Try the search, or one of the stories below.</p>"),
    ("", "<p>Service unavailable</p>"),
    ("", "<h1>Sorry, this page doesn&rsquo;t exist.</h1><p>It may have moved.</p>"),
    ("Error", "<p>An error occurred.</p>"),
    ("Site under maintenance", f"<p>{SENTENCE}</p>"),
    ("Access Denied", "<p>You don't have permission to access this server.</p><p>Reference #18.2f</p>"),
    ("Seite nicht gefunden", "<p>Zur Startseite</p>"),
])
def test_an_error_page_sent_as_a_good_one_is_named(title: str, body: str) -> None:
    with pytest.raises(Permanent, match="the page is an error page that was sent as a good one: "):
        read(f"<html><head><title>{title}</title></head><body>{body}</body></html>")


LOGIN = "<form action='/login'><input name='user'><input type='Password'><button>Go</button></form>"


@pytest.mark.parametrize(("html", "what"), [
    (f"<head><title>Sign in - Harbour</title></head><body><h1>Welcome</h1>{LOGIN}</body>", "sign-in form"),
    (f"<body><p>Members only.</p>{LOGIN}<p>Forgot your password?</p></body>", "sign-in form"),
    ("<body><h1>Log in to Harbour</h1><form>Your mail<input type='email'></form></body>", "sign-in form"),
    ("<head><title>Before you continue</title></head><body><p>We and our partners use cookies to show"
     " you advertising.</p><p>You can change your consent at any time in the privacy settings.</p>"
     "<form><button>Reject</button><button>Accept all</button></form></body>", "wall that asks for consent"),
    ("<body><div><p>Wir verwenden Cookies. Mit Ihrer Einwilligung messen wir, was Sie lesen.</p>"
     "<a href='#'>Alle akzeptieren</a></div></body>", "wall that asks for consent"),
    ("<head><title>Just a moment...</title></head><body><p>Enable JavaScript and cookies to continue</p>"
     "<script src='challenge.js'></script></body>", "check for robots"),
])
def test_a_wall_before_the_article_is_not_the_article(html: str, what: str) -> None:
    with pytest.raises(Permanent) as refused:
        read(f"<html>{html}</html>")
    assert refused.value.reason == f"the page is a {what}, not an article"


START = f"<h1>The gauge</h1><p>{SENTENCE * 2}</p>"


@pytest.mark.parametrize("html", [
    f"<article>{START}</article><div><p>Subscribe to continue reading.</p><a href='/s'>Offers</a></div>",
    f"<article>{START}</article><div><h3>This article is for subscribers only</h3></div>",
    f"<article>{START}<p>To continue reading this article, please sign in.</p></article>",
    f"<article>{START}</article><div>You have reached your limit of free articles this month.</div>",
    f"<article>{START}</article><div>Cet article est r\u00e9serv\u00e9 aux abonn\u00e9s.</div>",
    f"<article>{START}</article><div>Weiterlesen mit unserem Digital-Abo</div>",
])
def test_the_beginning_of_an_article_that_must_be_paid_for_is_not_the_article(html: str) -> None:
    with pytest.raises(Permanent) as refused:
        read(f"<html><body>{html}</body></html>")
    assert refused.value.reason == "the page shows only the beginning of an article to those who do not pay"


TABLE = ("<table>", "</table>")


def cards(card: str, number: int = 3) -> str:
    return "".join(card.replace("{n}", str(n)).replace("{text}", f"{SENTENCE}{n}.") for n in range(number))


@pytest.mark.parametrize("html", [
    cards("<div class='card'><h3><a href='/{n}'>Story number {n}</a></h3><p>{text}</p></div>"),
    cards("<article><a href='/{n}'><h2>Story number {n}</h2><p>{text}</p></a></article>"),
    cards("<div class='card'><h3>Story number {n}</h3><p>{text}</p><a href='/{n}'>Read more</a></div>", 9),
    cards("<li><h2><a href='/{n}'>Story number {n}</a></h2><p>{text}</p></li>", 40),
    cards("<div><a href='/{n}'>Story number {n} of many</a><p>{text}</p></div>", 5),
    cards("<tr><td>{n}.</td><td><a href='/{n}'>Story number {n} of many</a></td></tr>", 30).join(TABLE),
    f"<ul>{cards('<li><a href=/{n}>Story number {n} of many others</a> (2026)</li>', 30)}</ul>",
    "<h1>News</h1><p>All the news of the harbour.</p>"
    + cards("<div><h3><a href='/{n}'>Story number {n}</a></h3><p>{text}</p></div>", 12),
])
@pytest.mark.parametrize("around", ["{}", "<main>{}</main>", "<div id='content'>{}</div>"])
def test_a_page_that_lists_others_is_no_article(html: str, around: str) -> None:
    with pytest.raises(Permanent) as refused:
        read(f"<html><head><title>News</title></head><body>{MENU}{around.format(html)}</body></html>")
    assert refused.value.reason == (
        "the page lists others and is no article itself: add it as a source of kind listing")


MORE = cards("<div class='card'><h3><a href='/{n}'>Story number {n}</a></h3><p>{text}</p></div>", 12)


@pytest.mark.parametrize("html", [
    f"<article><h1>The gauge</h1><p>{SENTENCE * 9}</p></article><aside>{MORE}</aside>",
    f"<article><h1>The gauge</h1><p>{SENTENCE * 9}</p></article><section><h2>More</h2>{MORE}</section>",
    f"<article><h1>Ten links</h1>{cards('<p>{text} <a href=/{n}>There is more</a>.</p>', 10)}</article>",
    f"<article><h1>Steps</h1>{cards('<h2>Step {n}</h2><p>{text}</p>', 6)}</article>",
    f"<h1>Notes</h1><p>{SENTENCE * 3}</p><ul>{cards('<li><a href=/{n}>Note number {n}</a></li>', 4)}</ul>",
    f"<article><h1>The paywall</h1><p>They say: subscribe to continue reading. {SENTENCE * 20}</p>",
])
def test_an_article_with_links_to_others_is_read(html: str) -> None:
    assert read(f"<html><body>{MENU}{html}</body></html>").blocks


@pytest.mark.parametrize("html", [
    f"<head><title>Service unavailable</title></head><body><article><p>{SENTENCE * 20}</p></article></body>",
    f"<head><title>404 Media raises money</title></head><body><article><p>{SENTENCE}</p></article></body>",
    f"<head><title>What we found at the pier</title></head><body><p>{SENTENCE}</p></body>",
    f"<head><title>The pier was closed for an hour</title></head><body><p>{SENTENCE * 3}</p></body>",
    f"<body>{MENU}{LOGIN}<article><h1>The gauge</h1><p>{SENTENCE}</p></article></body>",
    "<body><article><h1>How to bake cookies</h1><p>Mix butter and sugar, and add the flour last of all.</p>"
    "<p>Put the cookies in the oven for ten minutes.</p></article></body>",
    f"<body><article><h1>The gauge</h1><p>{SENTENCE}</p></article>"
    "<div><p>We use cookies.</p><button>Accept</button></div></body>",
    f"<body><div id='root'><h1>The gauge</h1><p>{SENTENCE * 3}</p></div><script src='a.js'></script></body>",
    "<body><p>Closed today.</p></body>",
    f"<head><title>Gone - The Film Post</title></head><body><h1>Gone</h1><p>{SENTENCE}</p></body>",
])
def test_an_article_is_read_whatever_it_is_about_and_whatever_stands_around_it(html: str) -> None:
    assert read(f"<html>{html}</html>").blocks
