"""Redirects: followed by hand, five at most, each hop an address like any other."""

from typing import Any

import pytest

from tasks.errors import Permanent
from tasks.ports import Wanted

HTML = b"<p>hello"


def chain(*hops: tuple[int, str]) -> dict[str, Any]:
    """Routes /0 → … that answer with each status and location in turn, then a page at /end."""
    routes = {f"/{place}": (status, b"", {"location": to}) for place, (status, to) in enumerate(hops)}
    return {**routes, "/end": (200, HTML, {})}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed(site: Any, door: Any, status: int) -> None:
    site.routes = chain((status, "/end?x=1#part"))
    site.routes["/end?x=1"] = (200, HTML, {})
    fetched = await door.fetch(site.url("/0"), Wanted.PAGE)
    assert (fetched.url, fetched.final_url, fetched.body) == (site.url("/0"), site.url("/end?x=1#part"), HTML)


@pytest.mark.parametrize("location", ["end", "./x/../end", "//{host}/end", "http://{host}/end", "\t/end "])
async def test_a_location_is_resolved_against_the_address_it_came_from(
    site: Any, door: Any, location: str
) -> None:
    site.routes = chain((302, location.format(host=site.pair)))
    assert (await door.fetch(site.url("/0"), Wanted.PAGE)).final_url == site.url("/end")


async def test_a_location_in_raw_utf_8_is_read_as_such(site: Any, door: Any) -> None:
    site.routes = chain((302, "/caf\u00e9".encode().decode("latin-1"))) | {"/caf%C3%A9": (200, HTML, {})}
    assert (await door.fetch(site.url("/0"), Wanted.PAGE)).final_url == site.url("/caf%C3%A9")


@pytest.mark.parametrize(("statuses", "moved_to"), [
    ([301], "/end"),
    ([308, 301], "/end"),
    ([302], None),
    ([302, 301], None),
    ([301, 302], "/1"),
    ([301, 302, 301], "/1"),
])
async def test_only_permanent_moves_from_the_start_are_told_as_a_move(
    site: Any, door: Any, statuses: list[int], moved_to: str | None
) -> None:
    places = [*(f"/{place}" for place in range(1, len(statuses))), "/end"]
    site.routes = chain(*zip(statuses, places, strict=True))
    fetched = await door.fetch(site.url("/0"), Wanted.PAGE)
    assert fetched.moved_to == (site.url(moved_to) if moved_to else None)


async def test_five_redirects_are_followed_and_a_sixth_is_not(site: Any, door: Any) -> None:
    site.routes = chain(*[(302, f"/{place}") for place in range(1, 6)], (302, "/end"))
    with pytest.raises(Permanent, match="it redirects more than 5 times"):
        await door.fetch(site.url("/0"), Wanted.PAGE)
    assert (await door.fetch(site.url("/1"), Wanted.PAGE)).final_url == site.url("/end")


@pytest.mark.parametrize("to", ["/0", "/0#again", "http://LOCAL/0"])
async def test_a_circle_is_noticed_at_once(site: Any, door: Any, to: str) -> None:
    site.routes = chain((301, "/1"), (302, to.replace("LOCAL", site.pair)))
    with pytest.raises(Permanent, match="in a circle"):
        await door.fetch(site.url("/0"), Wanted.PAGE)
    assert site.paths == ["/0", "/1"]


async def test_the_failure_at_the_end_is_the_failure(site: Any, door: Any) -> None:
    site.routes = chain((301, "/missing"))
    with pytest.raises(Permanent, match="not found"):
        await door.fetch(site.url("/0"), Wanted.PAGE)
