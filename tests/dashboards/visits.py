"""A page of the dashboard in a real Chromium, and what it must not do."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]
PROBES = ("/_stcore/health", "/_stcore/host-config")  # Streamlit looks for its server beside a screen first


class Visit:
    """A page, what its browser asked for, and what its console complained of."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda channel: self.requests.append(channel.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        page.on("console", lambda message: self.hear(message.type, message.text, message.location["url"]))

    def hear(self, kind: str, said: str, place: str) -> None:
        if kind == "error" and not place.endswith(PROBES):
            self.complaints.append(f"{said} ({place})")

    def check(self) -> None:
        assert {urlsplit(url).netloc for url in self.requests if not url.startswith(("data:", "blob:"))} == {
            urlsplit(self.url).netloc}
        assert self.complaints == []
        assert self.page.evaluate("window.harmed") is None
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@contextmanager
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        sentence = "no chromium on this machine: install it (Debian: apt-get install chromium)"
        pytest.fail(sentence) if os.environ.get("CI") else pytest.skip(sentence)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield running
        running.close()
