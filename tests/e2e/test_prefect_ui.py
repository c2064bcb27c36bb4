"""The owner's window: a rerun, a cancellation and a paused schedule, by clicks in Prefect's own UI."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from command import Almanac
from playwright.sync_api import Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium")
PICTURES = Path(__file__).parents[1] / "artifacts"
SECONDS = 40

pytestmark = [
    pytest.mark.stack, pytest.mark.browser, pytest.mark.timeout(400),
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


class Dawdler(BaseHTTPRequestHandler):
    """Robots at once, everything else after a long while."""

    def do_GET(self) -> None:
        if self.path != "/robots.txt":
            time.sleep(SECONDS)
        self.send_error(404)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def slow() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Dawdler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


@pytest.fixture(scope="module")
def watched(slow: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Almanac]:
    """An Almanac that waits for slow pages."""
    running = Almanac(tmp_path_factory.mktemp("ui") / "home", ALMANAC_ALLOWED_NETWORKS=f"127.0.0.1:{slow}",
                      ALMANAC_FETCH_TIMEOUT="60")
    started = running.run("up", "--detach", "--no-dashboard", timeout=240)
    assert started.returncode == 0, started.stderr
    yield running
    running.run("down")


@pytest.fixture
def prefect(watched: Almanac) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{watched.ports['PREFECT']}/api", trust_env=False) as client:
        yield client


@pytest.fixture
def page(watched: Almanac) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page(base_url=f"http://127.0.0.1:{watched.ports['PREFECT']}",
                               viewport={"width": 1400, "height": 900})
        browser.close()


def deployment(prefect: httpx.Client, name: str) -> dict[str, Any]:
    found: dict[str, Any] = prefect.get(f"/deployments/name/{name}").json()
    return found


def start(prefect: httpx.Client, name: str, **parameters: Any) -> str:
    wanted = deployment(prefect, name)["id"]
    run = prefect.post(f"/deployments/{wanted}/create_flow_run", json={"parameters": parameters}).json()
    return str(run["id"])


def run(prefect: httpx.Client, run_id: str) -> dict[str, Any]:
    found: dict[str, Any] = prefect.get(f"/flow_runs/{run_id}").json()
    return found


def eventually(true: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.2)
    return true()


def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"prefect-{name}.png")


def test_a_finished_run_is_run_again_by_a_click(page: Page, prefect: httpx.Client) -> None:
    again = start(prefect, "poll/library")
    assert eventually(lambda: run(prefect, again)["state_type"] == "COMPLETED")
    page.goto(f"/runs/flow-run/{again}")
    page.get_by_role("button", name="Retry").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    assert eventually(lambda: run(prefect, again)["run_count"] == 2)
    assert eventually(lambda: run(prefect, again)["state_type"] == "COMPLETED")
    expect(page.get_by_text("Completed").first).to_be_visible(timeout=20_000)
    picture(page, "rerun")


def test_a_run_is_cancelled_by_a_click(
    watched: Almanac, page: Page, prefect: httpx.Client, slow: int
) -> None:
    with watched.http as api:
        document = api.post("/v1/documents", json={"url": f"http://127.0.0.1:{slow}/page"}).json()
    mine = document["flow_run_id"]
    assert eventually(lambda: run(prefect, mine)["state_type"] == "RUNNING")
    page.goto(f"/runs/flow-run/{mine}")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
    assert eventually(lambda: run(prefect, mine)["state_type"] == "CANCELLED")
    expect(page.get_by_text("Cancelled").first).to_be_visible(timeout=20_000)
    picture(page, "cancelled")


def test_a_schedule_is_paused_and_resumed_by_a_click(page: Page, prefect: httpx.Client) -> None:
    def active() -> bool:
        [schedule] = deployment(prefect, "poll/library")["schedules"]
        return bool(schedule["active"])

    page.goto(f"/deployments/deployment/{deployment(prefect, 'poll/library')['id']}")
    switch = page.get_by_role("switch").first
    switch.click()
    assert eventually(lambda: not active())
    picture(page, "paused")
    switch.click()
    assert eventually(active)
