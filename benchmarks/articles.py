"""A site of articles for the benchmarks, made from a seed: ``python benchmarks/articles.py PORT``."""

import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = ["harbour", "tide", "council", "ledger", "owl", "engine", "valley", "glass", "winter", "bridge", "market", "signal", "forest", "archive", "kiln", "river", "school", "lantern", "orchard", "railway", "comet", "choir", "oyster", "quarry", "windmill", "ferry", "compass", "beacon", "granary", "people", "water", "report", "measured", "found", "described", "rebuilt", "opened", "counted", "carried", "promised", "watched", "repaired", "slowly", "again", "because", "although", "every", "several", "narrow", "old", "northern", "quiet", "late", "early", "public", "small", "heavy"]
ARTICLES = 200
PARAGRAPHS = 9


def sentence(chance: random.Random) -> str:
    words = [chance.choice(WORDS) for _ in range(chance.randint(9, 18))]
    return " ".join(words).capitalize() + "."


def page(edition: int, number: int) -> str:
    """About 900 words under three headings: five chunks, in a page with the usual furniture."""
    chance = random.Random(f"{edition}/{number}")
    parts = []
    for paragraph in range(PARAGRAPHS):
        if paragraph % 3 == 0:
            parts.append(f"<h2>{' '.join(chance.choices(WORDS, k=4)).capitalize()}</h2>")
        parts.append(f"<p>{' '.join(sentence(chance) for _ in range(8))}</p>")
    menu = "".join(f'<li><a href="/section/{i}">Section {i}</a></li>' for i in range(60))
    title = f"Edition {edition}, report {number}: {' '.join(chance.choices(WORDS, k=5))}"
    return (f"<!doctype html><html lang=en><head><title>{title}</title><style>{'.a{color:red}' * 300}</style></head>"
            f"<body><nav><ul>{menu}</ul></nav><article><h1>{title}</h1>{''.join(parts)}</article>"
            f"<aside><ul>{menu}</ul></aside><footer>All rights reserved</footer></body></html>")


def feed(edition: int, base: str) -> str:
    items = "".join(f"<item><title>Report {n}</title><link>{base}/{edition}/{n}</link>"
                    f"<guid>{base}/{edition}/{n}</guid></item>" for n in range(ARTICLES))
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>Edition {edition}</title>{items}</channel></rss>'


class Handler(BaseHTTPRequestHandler):
    """``/EDITION/feed.xml`` and ``/EDITION/NUMBER``."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/robots.txt":
            return self.send_error(404)
        edition, name = self.path.strip("/").split("/")
        wanted = feed(int(edition), f"http://{self.headers['Host']}") if name == "feed.xml" else page(
            int(edition), int(name))
        body = wanted.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml" if name == "feed.xml" else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
