"""Content encodings: those that are offered are undone, and none can make more than the limit of them."""

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import brotli
import pytest
from backports import zstd

from tasks.errors import Permanent, StageError, Transient
from tasks.ports import Wanted
from tasks.web.inflating import Inflater

gzipped = partial(gzip.compress, mtime=0)  # the same bytes every time

HTML = b"<!doctype html><html><p>hello</p></html>"
ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzipped, "x-gzip": gzipped, "deflate": zlib.compress, "br": brotli.compress,
    "zstd": zstd.compress,
}


def bare_deflate(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-15)


def in_two(encode: Callable[[bytes], bytes]) -> bytes:
    return encode(HTML[:10]) + encode(HTML[10:])


UNDONE: dict[str, tuple[str, bytes]] = {
    **{coding: (coding, encode(HTML)) for coding, encode in ENCODE.items()},
    "in capitals": ("X-GZip", gzipped(HTML)),
    "deflate without its frame": ("deflate", bare_deflate(HTML)),
    "two gzip members": ("gzip", in_two(gzipped)),
    "gzip with padding": ("gzip", gzipped(HTML) + b"\x00" * 50),
    "two zstd frames": ("zstd", in_two(zstd.compress)),
    "none": ("", HTML),
    "identity": ("identity", HTML),
    "identity and gzip": ("identity, gzip", gzipped(HTML)),
    "gzip twice": ("gzip, gzip", gzipped(gzipped(HTML))),
    "gzip, then brotli": ("gzip, br", brotli.compress(gzipped(HTML))),
    "brotli, then zstd": ("br,zstd", zstd.compress(brotli.compress(HTML))),
    "nothing under gzip": ("gzip", b""),
}


def inflate(coding: str, data: bytes, limit: int = 10_000, step: int = 10_000) -> bytes:
    inflater = Inflater(coding, limit)
    out = b"".join(inflater.feed(data[place : place + step]) for place in range(0, len(data), step))
    inflater.finish()
    return out


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("kind", UNDONE)
def test_a_content_encoding_is_undone_however_it_comes_in_pieces(kind: str, step: int) -> None:
    coding, data = UNDONE[kind]
    assert inflate(coding, data, step=step) == (HTML if data else b"")


async def test_the_encodings_that_are_undone_are_the_ones_that_are_offered(site: Any, door: Any) -> None:
    for kind, (coding, data) in UNDONE.items():
        if data:
            site.routes["/page"] = (200, data, {"content-encoding": coding})
            assert (await door.fetch(site.url("/page"), Wanted.PAGE)).body == HTML, kind
    assert {request.headers["accept-encoding"] for request in site.requests} == {"gzip, deflate, br, zstd"}


@pytest.mark.parametrize(("coding", "body", "kind", "reason"), [
    ("compress", HTML, Permanent, "encoded as compress, which was not offered"),
    ("gzip, gzip, gzip", HTML, Permanent, "which was not offered"),
    ("gzip", HTML, Permanent, "not in the content encoding that it declares"),
    ("br", HTML, Permanent, "not in the content encoding that it declares"),
    ("zstd", HTML, Permanent, "not in the content encoding that it declares"),
    ("deflate", b"\xff" * 9, Permanent, "not in the content encoding that it declares"),
    ("gzip, br", brotli.compress(HTML), Permanent, "not in the content encoding that it declares"),
    ("gzip", gzipped(b"") * 1001, Permanent, "in too many pieces"),
    ("zstd", zstd.compress(b"") * 1001, Permanent, "in too many pieces"),
    *((coding, encode(HTML)[:-3], Transient, "broke off before") for coding, encode in ENCODE.items()),
    ("gzip", gzipped(HTML)[:3], Transient, "broke off before its end"),
    ("br, gzip", gzipped(brotli.compress(HTML)[:-3]), Transient, "broke off before its end"),
])
async def test_a_content_encoding_that_lies_is_a_failure(
    site: Any, door: Any, coding: str, body: bytes, kind: type[StageError], reason: str
) -> None:
    site.routes["/page"] = (200, body, {"content-encoding": coding})
    with pytest.raises(kind, match=reason):
        await door.fetch(site.url("/page"), Wanted.PAGE)


BOMB = b"<p>" + b" " * 50_000_000
BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzipped(BOMB, 1),
    "deflate": lambda: zlib.compress(BOMB, 1),
    "br": lambda: brotli.compress(BOMB, quality=1),
    "zstd": lambda: zstd.compress(BOMB, 1),
    "gzip, gzip": lambda: gzipped(gzipped(BOMB, 1)),
    "zstd, br": lambda: brotli.compress(zstd.compress(BOMB, 1), quality=1),
    "br, zstd": lambda: zstd.compress(brotli.compress(BOMB, quality=1)),
}


@pytest.mark.parametrize("coding", BOMBS)
def test_a_bomb_never_takes_more_room_than_the_limit(coding: str) -> None:
    data = BOMBS[coding]()
    inflater = Inflater(coding, 100_000)
    tracemalloc.start()
    try:
        out = sum(len(inflater.feed(data[place : place + 65_536])) for place in range(0, len(data), 65_536))
        peak = tracemalloc.get_traced_memory()[1]
    except Permanent:  # an inner layer was the bomb
        out, peak = 100_001, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert out == 100_001
    assert peak < 2_000_000  # of 50 million


@pytest.mark.parametrize("coding", BOMBS)
@pytest.mark.parametrize("wanted", list(Wanted))
async def test_a_bomb_is_larger_than_the_limit(
    site: Any, open_door: Any, coding: str, wanted: Wanted
) -> None:
    site.routes["/page"] = (200, BOMBS[coding](), {"content-encoding": coding})
    with pytest.raises(Permanent, match="it is larger than 100,000 bytes"):
        await open_door(site.pair, max_bytes=100_000).fetch(site.url("/page"), wanted)


async def test_a_bomb_in_an_inner_layer_is_larger_than_the_limit(site: Any, open_door: Any) -> None:
    """What it would hold at last is small: it is the layer between that is a bomb."""
    padded = gzipped(HTML) + b"\x00" * 50_000_000
    site.routes["/page"] = (200, gzipped(padded, 1), {"content-encoding": "gzip, gzip"})
    with pytest.raises(Permanent, match="it is larger than 100,000 bytes"):
        await open_door(site.pair, max_bytes=100_000).fetch(site.url("/page"), Wanted.PAGE)


def test_a_zstd_window_past_what_the_web_allows_is_refused() -> None:
    wide = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    data = wide.compress(HTML) + wide.flush()
    with pytest.raises(Permanent, match="not in the content encoding"):
        inflate("zstd", data)


@pytest.mark.parametrize("coding", ENCODE)
def test_noise_under_an_encoding_ends_in_a_failure(coding: str) -> None:
    chance = random.Random(coding)
    whole = ENCODE[coding](chance.randbytes(300) * 3)
    for _ in range(200):
        noisy = bytearray(whole)
        for _ in range(3):
            noisy[chance.randrange(len(noisy))] = chance.randrange(256)
        try:
            inflate(coding, bytes(noisy), step=chance.choice([5, 1000]))
        except (Permanent, Transient):
            continue
