"""HTTP/2: spoken where it is offered, and no more trusted than HTTP/1.1."""

import asyncio
import random
import ssl
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

from tasks.errors import StageError, Transient
from tasks.ports import Fetched, Wanted

HTML = b"<p>hello"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
STATUS_200 = b"\x88"  # HPACK: the indexed field ":status: 200"


async def here(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


async def test_http_2_is_spoken_where_it_is_offered(
    open_door: Any, certificate: Path, tls: ssl.SSLContext
) -> None:
    asked: list[dict[bytes, bytes]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        while data := await reader.read(65536):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    asked.append(dict(event.headers))
                    connection.send_headers(event.stream_id, [(":status", "200")])
                    connection.send_data(event.stream_id, HTML, end_stream=True)
            writer.write(connection.data_to_send())

    tls.set_alpn_protocols(["h2"])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    trusting = ssl.create_default_context(cafile=str(certificate))
    door = open_door(f"127.0.0.1:{port}", resolver=here, tls=trusting)
    fetched = await asyncio.gather(*(
        door.fetch(f"https://secure.example:{port}/{place}", Wanted.FEED) for place in range(3)
    ))
    server.close()
    assert [answer.body for answer in fetched] == [HTML] * 3
    assert {request[b":path"] for request in asked} == {b"/0", b"/1", b"/2"}
    assert {request[b":authority"] for request in asked} == {b"secure.example:%d" % port}


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    """RFC 9113 §4.1."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


HELLO = frame(SETTINGS)
ANSWER = frame(HEADERS, STATUS_200, flags=4, stream=1)
NOISE = random.Random(9113)

# What goes out after the connection's preface was read, once; and what then, for ever.
ATTACKS: dict[str, tuple[bytes, bytes]] = {
    "noise": (NOISE.randbytes(5000), b""),
    "noise in frames": (b"".join(frame(NOISE.randrange(12), NOISE.randbytes(20), NOISE.randrange(256), 1)
                                 for _ in range(100)), b""),
    "HTTP/1.1": (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
    "goodbye": (HELLO + frame(GOAWAY, bytes(8)), b""),
    "a stream that is reset": (HELLO + frame(RST_STREAM, bytes(4), stream=1), b""),
    "reset in the body": (HELLO + ANSWER + frame(DATA, b"<p>", stream=1)
                          + frame(RST_STREAM, bytes(4), stream=1), b""),
    "headers that never end": (HELLO + frame(HEADERS, STATUS_200, stream=1),
                               frame(CONTINUATION, b"\x00\x01a\x01b" * 3000, stream=1)),
    "pings without end": (HELLO, frame(PING, bytes(8)) * 500),
    "settings without end": (HELLO, frame(SETTINGS) * 500),
    "empty data without end": (HELLO + ANSWER, frame(DATA, stream=1) * 500),
    "a body without end": (HELLO + ANSWER, frame(DATA, b"x" * 16_000, stream=1)),
    "an answer to nobody": (HELLO + frame(HEADERS, STATUS_200, flags=5, stream=99), b""),
    "a promise": (HELLO + frame(5, bytes(4) + STATUS_200, flags=4, stream=1), b""),
    "a window too far": (HELLO + frame(WINDOW_UPDATE, b"\x7f\xff\xff\xff") * 3, b""),
    "a body without headers": (HELLO + frame(DATA, HTML, flags=1, stream=1), b""),
    "a status of no kind": (HELLO + frame(HEADERS, b"\x00\x07:status\x03abc", flags=5, stream=1), b""),
    "broken HPACK": (HELLO + frame(HEADERS, b"\xff\xff\xff\xff\xff\xff", flags=5, stream=1), b""),
    "silence": (b"", b""),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_hostile_speaker_of_http_2_ends_in_a_failure(
    open_door: Any, certificate: Path, tls: ssl.SSLContext, attack: str
) -> None:
    once, ever = ATTACKS[attack]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(once)
        while ever and not writer.transport.is_closing():
            writer.write(ever)
            await writer.drain()
            await asyncio.sleep(0)
        await reader.read()

    tls.set_alpn_protocols(["h2"])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    trusting = ssl.create_default_context(cafile=str(certificate))
    door = open_door(f"127.0.0.1:{port}", resolver=here, tls=trusting, timeout=1.0, max_bytes=200_000)
    start = time.monotonic()
    with pytest.raises(StageError):
        await door.fetch(f"https://secure.example:{port}/", Wanted.FEED)
    assert time.monotonic() - start < 3
    server.close()


async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\ncontent-length: 8\r\n\r\n" + HTML)


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.transport.abort()


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x15\x03\x03\x00\x02\x02\x28")


@pytest.mark.parametrize("serve", [hang_up, refuse])
async def test_a_handshake_that_breaks_may_succeed_later(serve: Any, open_door: Any) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    pair = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(Transient, match="connection"):
        await open_door(pair, timeout=2.0).fetch(f"https://{pair}/", Wanted.FEED)
    server.close()


@pytest.mark.parametrize(("from_day", "until_day", "good"), [(-1, 1, True), (-2, -1, False), (1, 2, False)])
async def test_a_certificate_counts_between_its_dates(
    open_door: Any, certify: Callable[[int, int], Path], from_day: int, until_day: int, good: bool
) -> None:
    certificate = certify(from_day, until_day)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(quiet, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    trusting = ssl.create_default_context(cafile=str(certificate))
    door = open_door(f"127.0.0.1:{port}", resolver=here, tls=trusting)
    try:
        ended: Fetched | StageError = await door.fetch(f"https://secure.example:{port}/", Wanted.FEED)
    except StageError as error:
        ended = error
    assert isinstance(ended, Fetched) is good
    assert good or str(ended) == "its certificate could not be verified"
    server.close()
