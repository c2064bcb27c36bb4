"""A stranger's web page cannot use a server on this machine."""

import httpx
import pytest
from starlette.responses import PlainTextResponse

from almanac.stack.own_names import OwnNamesOnly

HOSTS = ["localhost", "127.0.0.1", "[::1]", "Almanac.lan"]


async def answer(**headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(OwnNamesOnly(PlainTextResponse("done"), HOSTS))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.post("/", headers=headers)


@pytest.mark.parametrize("host", ["localhost", "localhost:4200", "LOCALHOST", "127.0.0.1:4200", "[::1]:4200",
                                  "almanac.lan"])
async def test_our_own_names_are_answered(host: str) -> None:
    assert (await answer(Host=host)).text == "done"


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[", "a@b"]
)
async def test_another_name_is_misdirected(host: str) -> None:
    assert (await answer(Host=host)).status_code == 421


@pytest.mark.parametrize("origin", ["http://localhost:4200", "http://[::1]:8421"])
async def test_our_own_pages_may_use_it(origin: str) -> None:
    assert (await answer(Origin=origin)).text == "done"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "", "http://["])
async def test_the_pages_of_others_may_not(origin: str) -> None:
    assert (await answer(Origin=origin)).status_code == 403


async def test_its_pages_may_speak_to_it_only() -> None:
    policy = (await answer()).headers["content-security-policy"]
    assert policy.startswith("default-src 'self'")
    assert "http" not in policy
