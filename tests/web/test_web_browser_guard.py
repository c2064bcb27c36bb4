"""A browser reaches nothing that the door would not reach, whatever the page in it tries."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.async_api import async_playwright
from trespass import AROUND, DEPARTURES, FORBIDDEN, HINTED, HINTS, UNKNOWN_BARE, WAYS, Ground

from models.addresses import Address
from tasks.errors import Unsafe
from tasks.web import chromium
from tasks.web.browser import Browser, network_for
from tasks.web.chromium import SIDE_DOORS
from tasks.web.dialling import GuardedBackend
from tasks.web.guard_proxy import GuardProxy
from tasks.web.policy import Policy

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
EVERYTHING = "0.0.0.0/0 ::/0"


async def resolver(host: str, port: int) -> Sequence[str]:
    return [FORBIDDEN]


def visited(paths: list[str], allowed: str | None = None) -> tuple[Ground, list[str]]:
    """What was reached by visits to pages of the hostile site, and what each visit came to.

    Without ``allowed`` the site may be read and nothing else of this machine.
    """

    async def visit() -> tuple[Ground, list[str]]:
        async with Ground().open() as ground:
            browser = Browser(Policy(allowed or ground.pair), chromium.found() or "", resolver=resolver)
            try:
                ends = await asyncio.gather(*(browser.render(ground.url(path)) for path in paths),
                                            return_exceptions=True)
                await asyncio.sleep(0.5)
            finally:
                await asyncio.to_thread(browser.close)
            return ground, [end.reason if isinstance(end, Unsafe) else type(end).__name__ for end in ends]

    return asyncio.run(visit())


@pytest.fixture(scope="module")
def wide_open() -> Iterator[None]:
    """Images are not loaded, and pages lose their side doors, which alone would close some ways: not here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chromium, "SWITCHES", [each for each in chromium.SWITCHES if "images" not in each])
        patch.setattr(chromium, "SIDE_DOORS", "")
        yield


@pytest.fixture(scope="module")
def guarded(wide_open: None) -> Ground:
    ground, ends = visited(["/page"])
    assert ends == ["Fetched"]
    return ground


@pytest.fixture(scope="module")
def unguarded(wide_open: None) -> Ground:
    """The control run: the same page in the same browser, its proxy's policy letting everything through."""
    return visited(["/page"], EVERYTHING)[0]


@pytest.fixture(scope="module")
def bare(wide_open: None) -> Ground:
    """The control run for what goes around a proxy: none of our switches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chromium, "switches", no_switches)
        return visited(["/page"], EVERYTHING)[0]


def no_switches(proxy: str, mark: str) -> Sequence[str]:
    return [f"--user-agent={mark}"]


def test_a_hostile_page_reaches_no_forbidden_service(guarded: Ground) -> None:
    assert guarded.reached == set()


@pytest.mark.parametrize("way", sorted(WAYS.keys() - HINTS))
def test_each_way_would_have_reached_it(way: str, unguarded: Ground, bare: Ground) -> None:
    assert way in unguarded.reached | bare.reached
    assert way in bare.reached or way in UNKNOWN_BARE


def test_a_page_gets_no_service_worker_and_no_window(guarded: Ground) -> None:
    assert not {"/worker.js", "/popup"} & set(guarded.asked)


def test_a_browser_that_knows_none_of_our_switches_has_no_side_doors_either() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chromium, "switches", no_switches)
        patch.setattr(chromium, "SIDE_DOORS", SIDE_DOORS)
        ground, _ = visited(["/page"], EVERYTHING)
    assert "fetch" in ground.reached
    assert not ground.reached & AROUND.keys()


async def hinted(folder: Path, *, guarded: bool) -> tuple[set[str], bool]:
    """Which hints a browser with a profile that lasts has followed, and whether it heard of the name.

    Icons, preconnects, looked-up names and speculation are a profile's work, and visits of ours have none:
    there is no control without one. A name that is looked up connects to nothing: the browser's own log of
    its network, with every name that it resolves or asks a proxy for, is its proof.
    """
    log = folder / "network.json"
    async with Ground().open() as ground, async_playwright() as playwright:
        proxy = GuardProxy(GuardedBackend(Policy(ground.pair), resolver))
        async with proxy.open() as way_out:
            own = chromium.switches(way_out, "hinted") if guarded else ()
            context = await playwright.chromium.launch_persistent_context(
                folder / "profile", executable_path=chromium.found(), args=[*own, f"--log-net-log={log}"],
                chromium_sandbox=chromium.may_be_sandboxed())
            await (await context.new_page()).goto(ground.url("/hints"))
            await asyncio.sleep(2)
            await context.close()
    return ground.reached, HINTED in log.read_text()


async def test_a_page_reaches_nothing_by_hints_although_each_would_be_followed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    assert await hinted(tmp_path / "open", guarded=False) == (HINTS - {"name prefetch"}, True)
    assert await hinted(tmp_path, guarded=True) == (set(), False)


DEPART = [f"/depart/{number}" for number in range(len(DEPARTURES))]


def test_a_page_that_leads_to_a_forbidden_address_is_refused() -> None:
    ground, ends = visited(DEPART)
    assert ground.reached == set()
    assert set(ends) == {"its scripts led to an address that is refused: the address is refused: loopback "
                         "(RFC 1122) is not public; ALMANAC_ALLOWED_NETWORKS can allow it, "
                         "from the next start of Almanac on"}


def test_each_departure_would_have_arrived() -> None:
    assert visited(DEPART, EVERYTHING)[0].reached == set(DEPARTURES)


async def test_scripts_of_a_public_page_get_no_way_into_the_owners_networks() -> None:
    async def names(host: str, port: int) -> list[str]:
        return {"wiki.lan": ["10.1.2.3"], "public.example": ["93.184.215.14"]}[host]

    policy = Policy("10.0.0.0/8")
    public = await network_for(Address.parse("http://public.example/"), policy, names)
    with pytest.raises(Unsafe):
        await public.addresses("wiki.lan", 80)
    owners = await network_for(Address.parse("http://wiki.lan/"), policy, names)
    assert await owners.addresses("wiki.lan", 80) == ["10.1.2.3"]


async def test_a_name_cannot_lead_elsewhere_in_the_middle_of_a_visit() -> None:
    answers = iter([["10.1.2.3"], ["93.184.215.14"]])

    async def names(host: str, port: int) -> list[str]:
        return next(answers)

    network = await network_for(Address.parse("http://wiki.lan/"), Policy("10.0.0.0/8"), names)
    assert await network.addresses("wiki.lan", 80) == ["10.1.2.3"]
