"""The door itself: one thread and loop of its own, usable from everywhere, over TLS and HTTP/2."""

import asyncio
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tasks.errors import Transient
from tasks.ports import Wanted

HTML = b"<p>hello"


def test_it_works_from_any_thread_and_loop(open_door: Any) -> None:
    """A loop that closed and one that is new share the door's connections and pacing."""
    import socketserver

    class Page(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\nconnection: close\r\n\r\n" + HTML)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pair = f"127.0.0.1:{server.server_address[1]}"
        door = open_door(pair)
        bodies = []
        threads = [
            threading.Thread(
                target=lambda: bodies.append(asyncio.run(door.fetch(f"http://{pair}/", Wanted.FEED)).body)
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.shutdown()
    assert bodies == [HTML] * 4


async def test_cancelling_the_caller_cancels_the_fetch(site: Any, door: Any) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def hang(request: Any, writer: Any) -> None:
        asked.set()
        while not writer.transport.is_closing():
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await asyncio.sleep(0.01)
        gone.set()

    site.routes["/page"] = hang
    fetch = asyncio.create_task(door.fetch(site.url("/page"), Wanted.FEED))
    await asyncio.wait_for(asked.wait(), 2)
    fetch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetch
    await asyncio.wait_for(gone.wait(), 2)


async def test_closing_ends_what_is_under_way_and_may_be_repeated(site: Any, door: Any) -> None:
    asked = asyncio.Event()

    async def hang(request: Any, writer: Any) -> None:
        asked.set()
        await asyncio.sleep(30)

    site.routes["/page"] = hang
    fetch = asyncio.create_task(door.fetch(site.url("/page"), Wanted.FEED))
    await asyncio.wait_for(asked.wait(), 2)
    await asyncio.to_thread(door.close)
    door.close()
    with pytest.raises(Transient, match="the door to the web is closed"):
        await fetch
    with pytest.raises(Transient, match="the door to the web is closed"):
        await door.fetch(site.url("/page"), Wanted.FEED)
    assert "almanac-door" not in {thread.name for thread in threading.enumerate()}


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of our own for secure.example, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "secure.example")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("secure.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = tmp_path / "certificate.pem"
    path.write_bytes(private + signed.public_bytes(encoding))
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    """A server's side of TLS, which keeps the names it was asked for."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


async def here(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


async def test_tls_names_the_host_though_the_checked_address_is_dialled(
    open_site: Any, open_door: Any, certificate: Path, tls: ssl.SSLContext
) -> None:
    names = []
    tls.sni_callback = lambda socket, name, context: names.append(name)
    site = await open_site(ssl=tls)
    site.routes["/page"] = (200, HTML, {})
    trusting = ssl.create_default_context(cafile=str(certificate))
    door = open_door(site.pair, resolver=here, tls=trusting)
    fetched = await door.fetch(f"https://secure.example:{site.port}/page", Wanted.FEED)
    assert (fetched.body, names) == (HTML, ["secure.example"])
    assert site.requests[0].headers["host"] == f"secure.example:{site.port}"


@pytest.mark.parametrize(("host", "trusted"), [("secure.example", False), ("other.example", True)])
async def test_a_certificate_that_does_not_fit_is_not_trusted(
    open_site: Any, open_door: Any, certificate: Path, tls: ssl.SSLContext, host: str, trusted: bool
) -> None:
    site = await open_site(ssl=tls)
    trusting = ssl.create_default_context(cafile=str(certificate)) if trusted else None
    door = open_door(site.pair, resolver=here, tls=trusting)
    with pytest.raises(Transient, match="its certificate could not be verified"):
        await door.fetch(f"https://{host}:{site.port}/page", Wanted.FEED)
    assert site.requests == []


async def test_what_does_not_speak_tls_is_said(open_door: Any) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    pair = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(Transient, match="no secure connection could be made"):
        await open_door(pair).fetch(f"https://{pair}/", Wanted.FEED)
    server.close()


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
