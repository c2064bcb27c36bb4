"""``make bench-door``: the door to the web beside bare httpx, and its memory over thousands of pages.

A site of its own answers on forty loopback addresses, in a process of its own, after LATENCY milliseconds.
Both sides read the same pages with the same number of requests in flight and no delay; the door also asks
forty robots.txt in its first round. Figures are medians with their spread: read the ratios.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import httpx
import psutil
from hosts import HOSTS, address, serve

from tasks.ports import Wanted
from tasks.web.door import Door
from tasks.web.policy import Policy

PAGES, IN_FLIGHT = 200, 16
ROUNDS = int(os.environ.get("ROUNDS", "5"))
LATENCY = float(os.environ.get("LATENCY", "20"))  # milliseconds
MANY = int(os.environ.get("MANY", "3000"))
BODY = (b"<!doctype html><title>Page</title>" + b"<p>The ferries of the harbour were counted again.</p>" * 600)
Read = Callable[[str], Awaitable[object]]


async def page(path: bytes) -> bytes:
    """The same for every path, after a while."""
    await asyncio.sleep(LATENCY / 1000)
    return b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY


def addresses(port: int, count: int) -> list[str]:
    return [address(port, number, str(number)) for number in range(count)]


async def timed(read: Read, urls: list[str]) -> float:
    """Seconds to read all of them, ``IN_FLIGHT`` at once."""
    room = asyncio.Semaphore(IN_FLIGHT)

    async def one(url: str) -> None:
        async with room:
            await read(url)

    start = time.monotonic()
    await asyncio.gather(*map(one, urls))
    return time.monotonic() - start


def open_door() -> Door:
    return Door(Policy("127.0.1.0/24"), host_delay=0, in_flight=IN_FLIGHT)


async def compare(port: int) -> dict[str, list[float]]:
    """Seconds a round of each side, in turn: new connections and robots.txt, then all of it kept."""
    took: dict[str, list[float]] = {"httpx, new": [], "door, new": [], "httpx, kept": [], "door, kept": []}
    urls = addresses(port, PAGES)
    for _ in range(ROUNDS):
        limits = httpx.Limits(max_connections=IN_FLIGHT * 2, max_keepalive_connections=HOSTS)
        async with httpx.AsyncClient(limits=limits, trust_env=False) as client:

            async def bare(url: str, client: httpx.AsyncClient = client) -> object:
                return (await client.get(url)).content

            took["httpx, new"].append(await timed(bare, urls))
            took["httpx, kept"].append(await timed(bare, urls))
        door = open_door()

        async def ours(url: str, door: Door = door) -> object:
            return (await door.fetch(url, Wanted.PAGE)).body

        took["door, new"].append(await timed(ours, urls))
        took["door, kept"].append(await timed(ours, urls))
        door.close()
    return took


async def remember(port: int) -> list[float]:
    """Megabytes resident after each sixth of ``MANY`` different pages through one door."""
    door, process, megabytes = open_door(), psutil.Process(), []

    async def ours(url: str) -> object:
        return (await door.fetch(url, Wanted.PAGE)).body

    urls = addresses(port, MANY)
    for start in range(0, MANY, MANY // 6):
        await timed(ours, urls[start : start + MANY // 6])
        megabytes.append(process.memory_info().rss / 1e6)
    door.close()
    return megabytes


def main() -> None:
    site = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True)
    assert site.stdout
    try:
        port = int(site.stdout.readline())
        took = asyncio.run(compare(port))
        megabytes = asyncio.run(remember(port))
    finally:
        site.kill()
        site.wait()
    print(f"{PAGES} pages of {len(BODY) // 1000} kB over {HOSTS} hosts, {IN_FLIGHT} in flight, "
          f"{LATENCY:g} ms to answer, {ROUNDS} rounds; seconds: median (least to most)")
    for name, seconds in took.items():
        print(f"  {name:12} {statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})")
    ratios = {kind: statistics.median(took[f"door, {kind}"]) / statistics.median(took[f"httpx, {kind}"])
              for kind in ("new", "kept")}
    print(f"  door to httpx: {ratios['new']:.2f} with robots.txt and new connections, {ratios['kept']:.2f} after")
    print(f"{MANY} pages through one door, MB resident: {', '.join(f'{each:.0f}' for each in megabytes)}; "
          f"growth after the first sixth {megabytes[-1] / megabytes[0] - 1:+.1%}")
    print(json.dumps({"ratios": ratios, "megabytes": megabytes}))


if __name__ == "__main__":
    asyncio.run(serve(page)) if "serve" in sys.argv else main()
