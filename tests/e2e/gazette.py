"""A web site of ours, on loopback: about forty pages in every state that a document can be in.

``PAGES`` is the specification: an address, how it answers, and the state and reason it must end in.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOPICS = [
    ("The lighthouse at Cape Verren", "lighthouse keeper", "the lamp was electrified", 1931, "lens"),
    ("Sourdough from rye and spelt", "baker", "the starter doubled overnight", 2019, "flour"),
    ("A census of barn owls", "ornithologist", "forty nests were counted", 2022, "owl"),
    ("Repairing a mechanical clock", "watchmaker", "the escapement was replaced", 1974, "pendulum"),
    ("The drought in the Halden valley", "farmer", "the reservoir fell to a fifth", 2018, "irrigation"),
    ("Trams return to the harbour", "engineer", "the first line reopened", 2024, "tramway"),
    ("Fermenting tea at home", "brewer", "the culture needed ten days", 2021, "kombucha"),
    ("A comet over the observatory", "astronomer", "the tail spanned six degrees", 1997, "comet"),
    ("Restoring a peat bog", "ecologist", "the drains were blocked", 2016, "sphagnum"),
    ("The chess final in Ostmark", "grandmaster", "the last game was drawn", 1988, "chess"),
    ("Glass blowing on the island", "glassmaker", "the furnace burned for a month", 1902, "glass"),
    ("Wolves cross the border", "ranger", "a pack of seven was tracked", 2023, "wolf"),
    ("Printing with wooden type", "typographer", "the press was rebuilt", 1956, "letterpress"),
    ("Earthquake sensors in schools", "seismologist", "ninety devices were installed", 2020, "seismograph"),
    ("A choir of deaf singers", "conductor", "the concert was signed", 2017, "choir"),
    ("Oysters and clean water", "biologist", "the reef filtered the bay", 2015, "oyster"),
    ("The last typewriter factory", "mechanic", "the line closed in spring", 2011, "typewriter"),
    ("Insulating old farmhouses", "carpenter", "heating costs were halved", 2022, "insulation"),
]


def article(number: int, extra: str = "", head: str = "") -> str:
    """An article of several paragraphs about the topic of that number."""
    title, person, event, year, thing = TOPICS[number % len(TOPICS)]
    return page(title, f"""
        <p>{title} is the subject of this report, number {number}, written after a week of visits and of
        conversations with the people who know the matter best.</p>
        <p>In {year} {event}, and the {person} who was there remembers it well. "Nobody had planned for it",
        the {person} says, "but from that day on everything about the {thing} was different."</p>
        <h2>What was found</h2>
        <p>The records of {year} name the {thing} more than a hundred times. They show that the work took
        {number + 3} months, that it cost less than had been feared, and that {event} only because three
        neighbours had lent their tools.</p>
        <ul><li>The first visit dealt with the {thing} itself.</li>
        <li>The second visit was to the {person} and the archive.</li></ul>
        <p>Those who want to see the {thing} today can do so on the first Sunday of each month. {extra}</p>""", head)


def page(title: str, body: str, head: str = "") -> str:
    return f"""<!doctype html><html lang="en"><head><title>{title}</title>{head}</head><body>
        <nav><a href="/">Home</a> <a href="/about">About</a></nav>
        <article><h1>{title}</h1>{body}</article>
        <footer>Harbour Gazette, all rights reserved</footer></body></html>"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says: a body of bytes or text, or a way of sending one."""

    body: str | bytes | Callable[[BaseHTTPRequestHandler], None] = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """An address, its answer, and what must become of it."""

    path: str
    answer: Answer
    state: str
    reason: str = ""  # part of the reason


def html(body: str | bytes, **headers: str) -> Answer:
    return Answer(body, headers={"Content-Type": "text/html; charset=utf-8"} | headers)


def moved(to: str, status: int = 301) -> Answer:
    return Answer(status=status, headers={"Location": to})


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then, for longer than anybody waits."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.end_headers()
    for _ in range(60):
        handler.wfile.write(b"<p>")
        handler.wfile.flush()
        time.sleep(1)


def flood(handler: BaseHTTPRequestHandler) -> None:
    """80 MB that were declared as a page."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.send_header("Content-Length", str(80_000_000))
    handler.end_headers()
    for _ in range(80):
        handler.wfile.write(b"<p>" + b"x" * 999_997)


SHELL = ('<!doctype html><html><head><title>App</title><script src="/app.js"></script></head><body>'
         '<div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript></body></html>')
APP = SHELL.replace('<script src="/app.js"></script>', "").replace("</body>", """<script>
root.innerHTML = `<article><h1>The lamp that scripts lit</h1>${"<p>The keeper of the lamp at the harbour mouth wrote \
down each evening when it was lit, and each morning when the sun put it out again.</p>".repeat(3)}</article>`
</script></body>""")
SIGN_IN = page("Sign in", '<form action="/login" method="post"><label>Name <input name="user"></label>'
               '<label>Password <input type="password" name="password"></label>'
               '<button>Sign in</button></form><p>Please sign in to continue.</p>')
LATIN = page("Café Müller", "<p>The café on the Königstraße serves crème brûlée, and it has done so since 1921. "
             "Its owner, Françoise, came from Besançon with nothing but a recipe and a señor's hat. Each evening "
             "the regulars gather under the façade to argue about the naïve painters of the région.</p>")
WINDOWS = page("Das Wirtshaus", "<p>The inn “Zum Bären” has a sign of 1744: the bear wears a crown. "
               "The wife of the innkeeper says that guests from Málaga and São Paulo have slept there.</p>"
               "<p>Its bread is baked in the yard. Nobody remembers who laid the stones of the oven.</p>")
CODE = page("Tides by hand", "<p>The table below and the small program were used for forty years to foretell the "
            "height of the water at the old quay, and they are still right to within a hand.</p>"
            "<pre><code>def height(hour):\n    # rule of twelfths\n    return TWELFTHS[hour] / 12\n</code></pre>"
            "<table><tr><th>Hour</th><th>Twelfths</th></tr><tr><td>1</td><td>1</td></tr><tr><td>2</td><td>3</td>"
            "</tr></table><ol><li>Read the tide of the morning.</li><li>Add the twelfths.</li></ol>"
            "<p>Whoever reads the table should begin with the morning tide and never with the evening one.</p>")

CANONICAL = '<link rel="canonical" href="/articles/3">'

PAGES: list[Page] = [
    *(Page(f"/articles/{n}", html(article(n)), "indexed") for n in range(18)),
    Page("/moved", moved("/articles/new-home"), "indexed"),
    Page("/moved-home", moved("/articles/0"), "duplicate", "it moved to"),
    Page("/copy", html(article(2)), "duplicate", "exactly the same"),
    Page("/amp/3", html(article(3, "For small screens.", CANONICAL)), "duplicate", "canonical"),
    Page("/short/3", html(page("The clock, short", "<p>A short form of the report about the mechanical clock, for "
                               "small screens, in which the escapement was replaced in 1974.</p>", CANONICAL)), "indexed"),
    Page("/gone", Answer(status=410), "rejected", "410"),
    Page("/missing", Answer("not here", 404), "rejected", "404"),
    Page("/private/notes", html(article(4)), "rejected", "robots.txt"),
    Page("/app", html(APP), "indexed"),
    Page("/shell", html(SHELL), "rejected", "even after its scripts have run"),
    Page("/huge", Answer(flood), "rejected", "large"),
    Page("/slow", Answer(drip), "waiting"),
    Page("/error", Answer("oops", 500), "waiting", "500"),
    Page("/busy", Answer("later", 429), "waiting", "429"),
    Page("/login-wall", html(SIGN_IN), "rejected", "sign"),
    Page("/empty", html(""), "rejected", "nothing to read"),
    Page("/report.pdf", Answer(b"%PDF-1.7\n" + b"\0" * 2000, headers={"Content-Type": "application/pdf"}),
         "rejected", "pdf"),
    Page("/inside", moved("http://169.254.169.254/latest/meta-data/", 302), "rejected", "cloud metadata"),
    Page("/loop", moved("/loop", 302), "rejected", "redirect"),
    Page("/latin-declared-utf8", html(LATIN.encode("latin-1")), "indexed"),
    Page("/meta-cp1252", Answer(WINDOWS.replace("<title>", '<meta charset="windows-1252"><title>')
                                .encode("cp1252"),
                                headers={"Content-Type": "text/html"}), "indexed"),
    Page("/code", html(CODE), "indexed"),
    Page("/changing", html(article(40, "The price is 12 crowns.")), "indexed"),
]
UNLISTED = {
    "/articles/new-home": html(article(41)),
    "/robots.txt": Answer("User-agent: *\nDisallow: /private/\n", headers={"Content-Type": "text/plain"}),
    "/huge-single": Answer(flood),
    "/sign-in.xml": Answer(SIGN_IN, headers={"Content-Type": "application/rss+xml"}),
    "/board": html(page("Notice board", "<p>The harbour council meets on Tuesday at seven in the old customs "
                        "house, and everybody who lives on the quay is invited to speak.</p>")),
}


class Site:
    """The running server: what was asked for, and pages that may be changed while it runs."""

    def __init__(self) -> None:
        self.pages = {page.path: page.answer for page in PAGES} | UNLISTED
        self.requests: Counter[str] = Counter()
        self.edition = 1
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def publish(self, path: str, body: str) -> None:
        """A new text at an address, and a new edition of the feed that says so."""
        self.pages[path] = html(body)
        self.edition += 1

    def feed(self) -> Answer:
        items = "".join(
            f"<item><title>Item {page.path}</title><link>{self.url}{page.path}</link>"
            f"<guid>{self.url}{page.path}</guid>"
            f"<description>{'edition ' + str(self.edition) if page.path == '/changing' else 'news'}</description>"
            "<pubDate>Sun, 01 Nov 2026 09:00:00 GMT</pubDate></item>"
            for page in PAGES
        )
        inside = "<item><title>Router</title><link>http://127.0.0.1:1/admin</link></item>"
        return Answer(f'<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour Gazette</title>'
                      f"{items}{inside}</channel></rss>", headers={"Content-Type": "application/rss+xml"})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.requests[self.path] += 1
                answer = site.feed() if self.path == "/feed.xml" else site.pages.get(self.path, Answer(status=404))
                if callable(answer.body):
                    self.close_connection = True
                    return answer.body(self)
                body = answer.body.encode() if isinstance(answer.body, str) else answer.body
                etag = f'"{hash(body)}"'
                fresh = answer.status == 200 and self.headers.get("If-None-Match") == etag
                self.send_response(304 if fresh else answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("ETag", etag)
                if not fresh:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                return None if fresh else self.wfile.write(body) and None

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        return Handler


@contextmanager
def serve() -> Iterator[Site]:
    site = Site()
    threading.Thread(target=site.server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        site.server.shutdown()
        site.server.server_close()
