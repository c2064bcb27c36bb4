"""The dashboard in a real Chromium: hostile pages harm nothing, and nothing leaves this machine."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect
from stand_in import Api, came, citation, excerpt, placed, rising, source, told_of
from visits import Visit, browser

from almanac.stack.probe import answers

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SCRIPT = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"
PICTURE = "![a picture](http://pictures.example/p.png) <img src='http://pictures.example/q.png'>"
TURNED = "report\u202egnp.exe \u2067\N{HEBREW LETTER ALEF}"
LONG = "Donaudampfschifffahrt" * 200
HOSTILE = (SCRIPT, PICTURE, TURNED, LONG)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture
def dashboard(api: Api, home: Path) -> Iterator[str]:
    """The address of a dashboard that is served as `almanac up` serves it, over the stand-in."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = os.environ | {"ALMANAC_DASHBOARD_PORT": str(port), "ALMANAC_API_PORT": str(api.port)}
    command = [sys.executable, "-P", "-m", "almanac.stack.dashboard"]
    with subprocess.Popen(command, env=environment, cwd=home) as server:
        url = f"http://127.0.0.1:{port}"
        while not answers(f"{url}/_stcore/health"):
            assert server.poll() is None
            time.sleep(0.1)
        yield url
        server.terminate()


@pytest.fixture
def visit(chromium: Browser, dashboard: str) -> Iterator[Visit]:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, timezone_id="Asia/Tokyo")
    yield Visit(context.new_page(), dashboard)
    context.close()


def test_hostile_pages_are_read_without_harm(api: Api, visit: Visit) -> None:
    api.finds(*(excerpt(f"K{n}", said, (said,), title=said, source=said, author=said, url=f"https://a.example/{n}")
                for n, said in enumerate(HOSTILE, 1)))
    api.cites(citation(before=SCRIPT, text=PICTURE, after=LONG, title=SCRIPT, source=TURNED))
    api.lists(*(source(said, url=f"https://a.example/{n}") for n, said in enumerate(HOSTILE)))
    page = visit.page

    page.goto(f"{visit.url}/search?q=lifts&k=4")
    expect(page.get_by_role("article")).to_have_count(len(HOSTILE))
    expect(page.get_by_role("link", name=SCRIPT)).to_have_attribute("rel", "noopener noreferrer")
    expect(page.get_by_role("link", name="reportgnp.exe")).to_be_visible()
    page.get_by_text("Score").first.click()
    expect(page.get_by_role("rowheader", name="similarity")).to_be_visible()
    visit.check()

    page.get_by_role("button", name="Show the record").first.click()
    expect(page.get_by_role("dialog").locator("mark")).to_have_text(PICTURE)
    expect(page.get_by_role("dialog").get_by_text("14 Mar")).to_contain_text("18:30")  # in Tokyo
    page.keyboard.press("Escape")
    visit.check()

    page.goto(f"{visit.url}/sources")
    expect(page.get_by_role("rowheader", name=PICTURE)).to_be_visible()
    visit.check()

    api.tells(came(PICTURE, SCRIPT, TURNED), told_of(LONG, PICTURE), rising(*HOSTILE))
    page.goto(visit.url)
    expect(page.get_by_role("link", name=PICTURE).first).to_be_visible()
    expect(page.get_by_role("rowheader", name=SCRIPT).first).to_be_visible()
    visit.check()

    api.ages(*(placed(said, said, age=20.0 * n) for n, said in enumerate(HOSTILE)))
    page.goto(f"{visit.url}/freshness")
    for n, said in enumerate((SCRIPT, PICTURE, "reportgnp.exe")):
        page.locator(".mark-symbol path").nth(n).hover()
        expect(page.locator("#vg-tooltip-element")).to_contain_text(said[:60])
    visit.check()


def test_the_box_and_the_address_say_the_same(api: Api, visit: Visit) -> None:
    api.finds(excerpt())
    api.lists()
    page = visit.page
    page.goto(f"{visit.url}/search")
    page.get_by_label("Question").fill("lifts & stairs?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_have_count(1)
    assert page.url == f"{visit.url}/search?q=lifts+%26+stairs%3F"

    page.get_by_role("link", name="Sources").click()
    expect(page.get_by_text("almanac source add URL")).to_be_visible()
    page.get_by_role("link", name="Search").click()
    expect(page.get_by_label("Question")).to_have_value("lifts & stairs?")
    visit.check()


def test_a_name_that_is_not_ours_is_not_answered(dashboard: str) -> None:
    """A stranger's page whose name resolves to this machine (DNS rebinding) reads nothing."""
    with httpx.Client(trust_env=False) as stranger:
        assert stranger.get(dashboard, headers={"Host": "rebound.example"}).status_code == 421
        assert "default-src 'self'" in stranger.get(dashboard).headers["content-security-policy"]
