"""The dashboard over a library of about 300 documents, in a real Chromium: every screen, every path."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import recording
from command import Almanac
from newsstand import SCRIPT, open_newsstand
from playwright.sync_api import Browser, Page, expect
from stocked import SETTINGS, Stocked
from visits import Visit, browser

PICTURES = Path(__file__).parents[1] / "artifacts"
WIDTHS, THEMES = (1280, 390), ("light", "dark")
TALLEST = 1800  # pixels of a picture
SOON = 30_000  # milliseconds, on a slow machine
QUESTION = "what did the repair of the viaduct cost?"

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stocked]:
    with open_newsstand() as stand:
        almanac = Almanac(tmp_path_factory.mktemp("drive") / "home",
                          ALMANAC_ALLOWED_NETWORKS=stand.url.removeprefix("http://"), **SETTINGS)
        started = almanac.run("up", "--detach", timeout=240)
        assert started.returncode == 0, started.stderr + started.stdout
        library = Stocked(almanac, stand)
        library.stock()
        yield library
        almanac.run("down")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture
def visit(chromium: Browser, stocked: Stocked) -> Iterator[Visit]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, timezone_id="Europe/Berlin",
                                   accept_downloads=True)
    context.set_default_timeout(SOON)
    expect.set_options(timeout=SOON)
    visiting = Visit(context.new_page(), stocked.dashboard)
    yield visiting
    visiting.check()
    context.close()


def opened(visit: Visit, path: str) -> Page:
    """The view at this address, once it has been drawn."""
    visit.page.goto(f"{visit.url}{path}")
    drawn(visit.page)
    return visit.page


def drawn(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("[data-test-script-state=notRunning]")).to_be_visible()
    expect(page.locator("[data-stale=true], [data-testid=stSpinner], [data-testid=stSkeleton]")).to_have_count(0)


def pictures(visit: Visit, name: str) -> None:
    """The whole view at both widths and in both themes; nothing of it may be wider than its window."""
    page = visit.page
    PICTURES.mkdir(exist_ok=True)
    for width in WIDTHS:
        for theme in THEMES:
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            page.set_viewport_size({"width": width, "height": 900})
            height = page.evaluate("document.querySelector('.stMain').scrollHeight")
            page.set_viewport_size({"width": width, "height": max(600, min(height, TALLEST))})
            page.screenshot(path=PICTURES / f"{name}-{width}-{theme}.png")
            visit.check()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")


def test_the_recording_that_the_screens_are_tested_with_says_what_the_api_says(stocked: Stocked) -> None:
    if os.environ.get("RECORD_SCREENS"):
        recording.write(stocked)
    assert recording.named(recording.read()) == recording.named(json.loads(json.dumps(recording.record(stocked))))


def views(stocked: Stocked) -> dict[str, str]:
    changed, refused = stocked.document("/harbour/0"), stocked.document("/odd/orders")
    hostile, long = stocked.document("/odd/picture"), stocked.document("/odd/long")
    return {
        "today": "/",
        "search": f"/search?q={QUESTION}",
        "freshness": "/freshness",
        "freshness-one": f"/freshness?document={changed}",
        "sources": "/sources",
        "source": f"/sources?id={stocked.source('Harbour Gazette')}",
        "source-edit": f"/sources?id={stocked.source('Harbour Gazette')}&view=edit",
        "source-add": "/sources?add=1",
        "documents": "/documents",
        "document": f"/documents?id={changed}",
        "document-hostile": f"/documents?id={hostile}",
        "document-long": f"/documents?id={long}",
        "document-versions": f"/documents?id={changed}&view=changes",
        "document-analysis": f"/documents?id={changed}&view=analysis",
        "document-chunks": f"/documents?id={changed}&view=chunks",
        "document-gates": f"/documents?id={refused}&view=gates",
        "quality": "/quality",
        "system": "/system",
        "system-work": "/system?view=work",
        "system-access": "/system?view=access",
        "system-tools": "/system?view=tools",
        "system-interests": "/system?view=interests",
        "system-settings": "/system?view=settings",
    }


def test_every_view_is_drawn_at_both_widths_and_in_both_themes(visit: Visit, stocked: Stocked) -> None:
    for name, path in views(stocked).items():
        opened(visit, path)
        expect(visit.page.get_by_text("This screen failed")).to_have_count(0)
        pictures(visit, name)


def test_today_is_told_over_a_day_and_a_week(visit: Visit) -> None:
    page = opened(visit, "/")
    expect(page.get_by_text("By source")).to_be_visible()
    page.get_by_role("radio", name="7 days").click()
    expect(page).to_have_url(re.compile("period=7"))
    drawn(page)
    expect(page.get_by_text("Harbour Gazette").first).to_be_visible()


def test_an_answer_is_looked_into_judged_and_weighed_anew(visit: Visit) -> None:
    page = opened(visit, "/search")
    page.get_by_label("Question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").first).to_be_visible()
    page.get_by_text("Score").first.click()
    expect(page.get_by_role("rowheader", name="similarity").first).to_be_visible()
    page.get_by_role("button", name="Show the record").first.click()
    expect(page.get_by_role("dialog").locator("mark").first).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="It answers").first.click()
    expect(page.get_by_text("K1 is noted: it answers.")).to_be_visible()
    page.get_by_text("Try other weights").click()
    page.get_by_role("slider").first.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    drawn(page)
    page.get_by_role("button", name="Replay the judged questions").click()
    expect(page.get_by_text(re.compile("nDCG"))).to_be_visible()
    page.get_by_role("button", name="Save these weights").click()
    expect(page.get_by_text("The weights are saved")).to_be_visible()


def test_half_lives_are_tried_and_saved(visit: Visit) -> None:
    page = opened(visit, "/freshness")
    page.get_by_role("spinbutton").first.fill("5")
    page.keyboard.press("Enter")
    drawn(page)
    page.get_by_role("button", name="Save these half-lives").click()
    expect(page.get_by_text("The half-lives are saved")).to_be_visible()



def removed(page: Page) -> None:
    """Remove what the page is of, and say so once more, when nothing goes on that draws it anew meanwhile."""
    expect(page.locator("ul.runs li").filter(has_not_text="completed")).to_have_count(0)
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()


def test_a_source_is_looked_at_added_edited_polled_paused_and_removed(visit: Visit, stocked: Stocked) -> None:
    page = opened(visit, "/sources")
    page.get_by_role("button", name="Add a source").click()
    page.get_by_label("Address", exact=True).fill(f"{stocked.stand.url}/api/minutes?since=1")
    page.get_by_role("button", name="Look at it").click()
    page.get_by_role("button", name="Make its map").click()
    expect(page.get_by_role("rowheader", name="by.name")).to_be_visible()
    page.get_by_role("button", name="Read the first items").click()
    expect(page.get_by_role("rowheader", name="Minutes of the council, 1").first).to_be_visible()
    pictures(visit, "source-add-api")
    page.get_by_text("How it is read").click()
    page.get_by_label("Name", exact=True).fill("Minutes again")
    page.get_by_role("button", name="Add this source").click()
    expect(page.get_by_role("heading", name="Minutes again")).to_be_visible()
    expect(page.get_by_text("Reading Minutes again")).to_be_visible()
    drawn(page)

    page.get_by_role("radio", name="Edit").click()
    page.get_by_label("Look every").fill("3")
    page.get_by_role("button", name="See what it would offer").click()
    expect(page.get_by_text("Its first items")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved: 1 change")).to_be_visible()
    expect(page.get_by_text("every 3 h")).to_be_visible()

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Poll now").click()
    expect(page.get_by_text("Polling Minutes again")).to_be_visible()
    expect(page.get_by_role("link", name="Prefect").first).to_have_attribute("href", re.compile("/runs/flow-run/"))

    removed(page)
    expect(page.get_by_text("Minutes again was removed")).to_be_visible()


def test_a_preview_shows_what_was_found_and_saves_nothing(visit: Visit, stocked: Stocked) -> None:
    before = stocked.get("/v1/sources/names")
    page = opened(visit, f"/sources?add=1&url={stocked.stand.url}/sky.xml%3Fagain&kind=feed")
    expect(page.get_by_text("32 items offered")).to_be_visible()
    pictures(visit, "source-add-feed")
    opened(visit, f"/sources?add=1&url={stocked.stand.url}/nowhere")
    expect(page.get_by_text("404")).to_be_visible()
    assert stocked.get("/v1/sources/names") == before


def test_opml_goes_out_and_in(visit: Visit, tmp_path: Path) -> None:
    page = opened(visit, "/sources?text=harbour")
    page.get_by_text("Subscriptions from and for").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save these sources").click()
    saved = tmp_path / "almanac.opml"
    download.value.save_as(saved)
    assert "Harbour Gazette" in saved.read_text()
    page.locator("input[type=file]").set_input_files(saved)
    page.get_by_role("button", name="Add what it names").click()
    expect(page.get_by_text("0 sources added")).to_be_visible()


def test_documents_are_found_by_filters_that_stand_in_the_address(visit: Visit) -> None:
    page = opened(visit, "/documents")
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("button", name="First page")).to_be_visible()
    page.get_by_label("Title or address").fill("draw")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"text=draw$"))
    drawn(page)
    chosen(page, "State", "quarantined")
    expect(page).to_have_url(re.compile("state=quarantined"))
    expect(page.get_by_text("it gives orders to a model").first).to_be_visible()
    chosen(page, "Source", f"Curiosities {SCRIPT}")
    expect(page).to_have_url(re.compile("source="))
    chosen(page, "Kind", "opinion")
    expect(page.get_by_text("No document is like this")).to_be_visible()


def chosen(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).fill(option)
    page.get_by_role("option", name=option, exact=True).click()
    drawn(page)


def test_a_document_is_read_compared_and_looked_into(visit: Visit, stocked: Stocked) -> None:
    page = opened(visit, f"/documents?id={stocked.document('/harbour/0')}")
    expect(page.get_by_text("The council has withdrawn its plan")).to_be_visible()
    page.get_by_role("radio", name="Versions").click()
    expect(page.locator(".changes .added")).to_contain_text(["Later", "withdrawn its plan"])
    page.get_by_role("radio", name="Analysis").click()
    expect(page.get_by_text("Keywords")).to_be_visible()
    page.get_by_role("radio", name="Chunks").click()
    expect(page.get_by_text(re.compile(r"tokens in all, cut for"))).to_be_visible()
    page.get_by_role("radio", name="Gates").click()
    expect(page.get_by_role("rowheader", name="enough text")).to_be_visible()
    expect(page).to_have_url(re.compile("view=gates"))
    page.get_by_role("button", name="Read it again").click()
    expect(page.get_by_text(re.compile("^.*Reading Pier"))).to_be_visible()
    removed(page)
    expect(page.get_by_text("was removed.")).to_be_visible()


def test_one_and_many_are_released_and_rejected(visit: Visit, stocked: Stocked) -> None:
    page = opened(visit, "/quality")
    page.locator("[data-testid=stCheckbox] label").nth(0).click()
    page.locator("[data-testid=stCheckbox] label").nth(1).click()
    page.get_by_role("button", name="Reject 2 versions").click()
    expect(page.get_by_text("2 versions rejected.")).to_be_visible()
    page.get_by_role("link", name="Tombola").first.click()
    page.get_by_role("button", name="Release").click()
    expect(page.get_by_text(re.compile("Indexing Tombola"))).to_be_visible()
    waiting = stocked.get("/v1/quality/refusals")["counts"]["quarantined"]
    page = opened(visit, "/quality")
    page.get_by_role("button", name="Pick all of this page").click()
    page.get_by_role("button", name=f"Release {waiting} versions").click()
    expect(page.get_by_text(f"{waiting} versions released.")).to_be_visible()
    expect(page.get_by_text("Nothing waits here")).to_be_visible()


def test_the_system_is_verified_and_who_may_ask_is_decided(visit: Visit) -> None:
    page = opened(visit, "/system")
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.get_by_text("The index holds what answers")).to_be_visible()
    page.get_by_role("radio", name="Work").click()
    expect(page.get_by_role("link", name="open").first).to_have_attribute("href", re.compile("/runs/flow-run/"))

    page.get_by_role("radio", name="Access").click()
    page.get_by_label("For whom or what").fill("a reader")
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_text("alm_")).to_be_visible()
    page.locator(".stVerticalBlock, .stHorizontalBlock", has_text="a reader").last.get_by_role(
        "button", name="Revoke").click()
    page.get_by_role("button", name="Revoke").last.click()
    expect(page.get_by_text("The token is revoked.")).to_be_visible()

    page.get_by_role("radio", name="Interests").click()
    page.get_by_label("What interests you").fill("peat bogs")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator(".interest", has_text="peat bogs")).to_be_visible()
    page.get_by_role("button", name="Forget", exact=True).first.click()
    expect(page.locator(".interest", has_text="peat bogs")).to_have_count(0)


def test_every_link_of_a_screen_leads_to_a_view_or_away_in_another_tab(visit: Visit) -> None:
    for path in ("/sources", "/documents?state=quarantined", "/quality"):
        page = opened(visit, path)
        links: list[dict[str, Any]] = page.evaluate(
            "[...document.querySelectorAll('.stHtml a')].map(a => ({href: a.href, rel: a.rel, target: a.target}))")
        for link in links:
            inside = link["href"].startswith(visit.url)
            assert inside or (link["target"], link["rel"]) == ("_blank", "noopener noreferrer"), link
