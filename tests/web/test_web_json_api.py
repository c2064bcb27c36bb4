"""A JSON API through the real door and the real jail: what it says leads nowhere but to its own pages."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from vacancy import free_port

from almanac.wiring import PARSERS
from models.states import PollOutcome
from tasks.discover.kinds import json_api
from tasks.discover.offers import Look, Offer
from tasks.errors import Permanent, Unsafe
from tasks.extract.jail import Jail
from tasks.web.door import Door

MAP = {"items": "found", "url": "at", "title": "t", "date": "when", "next": "next"}
Answer = tuple[int, bytes, dict[str, str]]


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    jail = Jail({"json": PARSERS["json"]}, workers=1)
    yield jail
    jail.close()


def answer(*names: str, after: Any = None, **headers: str) -> Answer:
    rows = [{"at": f"/{name}", "t": name, "when": float("nan")} for name in names]
    return 200, json.dumps({"found": rows, "next": after}).encode(), headers


async def look(door: Door, jail: Jail, url: str) -> Offer:
    return await json_api.discover(door, jail, Look(url, map=MAP))


async def test_its_pages_are_read_in_turn(site: Any, door: Any, jail: Jail) -> None:
    site.routes = {"/api": answer("pier", after="/api/2?x=1", etag='"1"'), "/api/2?x=1": answer("fog")}
    offer = await look(door, jail, site.url("/api"))
    assert [item.url for item in offer.items] == [site.url("/pier"), site.url("/fog")]
    assert (offer.warning, offer.validators and offer.validators.etag) == ("", '"1"')


async def test_nothing_that_it_says_connects_elsewhere(open_site: Any, open_door: Any, jail: Jail) -> None:
    port = free_port("127.0.0.1", "127.0.0.2")
    site, secret = await open_site(port=port), await open_site("127.0.0.2", port)
    moved = 302, b"", {"location": secret.url("/")}
    for after in (secret.url("/api"), secret.url("/api").removeprefix("http:"), "/moved"):
        site.routes = {"/api": answer("pier", after=after), "/moved": moved}
        offer = await look(open_door(site.pair), jail, site.url("/api"))
        assert ([item.url for item in offer.items], offer.outcome) == ([site.url("/pier")], PollOutcome.NEW)
        assert "page 2" in offer.warning
    assert secret.connections == 0
    with pytest.raises(Unsafe):
        await look(open_door(site.pair), jail, secret.url("/api"))
    assert secret.connections == 0


async def test_an_answer_of_forty_megabytes_is_refused(site: Any, open_door: Any, jail: Jail) -> None:
    site.routes = {"/api": (200, b'{"found": [' + b" " * 40_000_000 + b"]}", {})}
    with pytest.raises(Permanent, match="larger than 10,000,000 bytes"):
        await look(open_door(site.pair, max_bytes=10_000_000), jail, site.url("/api"))


async def test_the_jail_says_why_an_answer_is_none(site: Any, door: Any, jail: Jail) -> None:
    site.routes = {"/api": (200, b'{"error": "quota"}', {})}
    offer = await look(door, jail, site.url("/api"))
    assert (offer.outcome, offer.reason) == (
        PollOutcome.SUSPECT, "there is nothing at “found”: it holds error")
