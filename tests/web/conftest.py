"""A site that can misbehave in every way there is, and doors that may reach it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from ssl import Purpose, SSLContext, create_default_context
from typing import Any, Protocol

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tasks.web.door import Door
from tasks.web.policy import Policy

Reply = tuple[int, bytes, dict[str, str]]
Route = Reply | bytes | Callable[["Request", asyncio.StreamWriter], Awaitable[None]]
"""A status, body and headers; or the bytes that go out before the connection closes; or what it does."""


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]


def written(reply: Reply) -> bytes:
    """An HTTP/1.1 answer as bytes: HTML with its length, unless its headers say otherwise."""
    status, body, headers = reply
    lines = {"content-type": "text/html", "content-length": str(len(body)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} X\r\n{head}\r\n".encode("latin-1") + body


@dataclass
class Site:
    """An HTTP server on one loopback address. What it was asked is in ``requests``, in order."""

    ip: str = "127.0.0.1"
    port: int = 0
    routes: dict[str, Route] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    @property
    def pair(self) -> str:
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"

    @property
    def paths(self) -> list[str]:
        """What was asked for, robots.txt aside."""
        return [request.path for request in self.requests if request.path != "/robots.txt"]

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"http://{host or self.ip}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                fields = (line.partition(": ") for line in head[1:] if line)
                request = Request(head[0].split(" ")[1], {name.lower(): value for name, _, value in fields})
                self.requests.append(request)
                route = self.routes.get(request.path, (404, b"", {}))
                if callable(route):
                    await route(request, writer)
                    break
                writer.write(route if isinstance(route, bytes) else written(route))
                await writer.drain()
                if isinstance(route, bytes) or route[2].get("connection") == "close":
                    break
        writer.close()


class OpenSite(Protocol):
    async def __call__(self, ip: str = "127.0.0.1", port: int = 0, ssl: Any = None) -> Site: ...


@asynccontextmanager
async def running(site: Site, ssl: Any = None) -> AsyncIterator[Site]:
    server = await asyncio.start_server(site.serve, site.ip, site.port, ssl=ssl)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


@pytest.fixture
async def open_site() -> AsyncIterator[OpenSite]:
    """Starts as many sites as a test asks for."""
    async with AsyncExitStack() as stack:

        async def start(ip: str = "127.0.0.1", port: int = 0, ssl: Any = None) -> Site:
            return await stack.enter_async_context(running(Site(ip, port), ssl))

        yield start


@pytest.fixture
async def site(open_site: OpenSite) -> Site:
    return await open_site()


@pytest.fixture
def open_door() -> Iterator[Callable[..., Door]]:
    """Opens doors without a delay; the first argument is what the owner allows."""
    doors = []

    def start(allowed: str = "", **settings: Any) -> Door:
        doors.append(Door(Policy(allowed), **{"host_delay": 0, "timeout": 5, **settings}))
        return doors[-1]

    yield start
    for door in doors:
        door.close()


@pytest.fixture
def door(site: Site, open_door: Callable[..., Door]) -> Door:
    """A door that may reach ``site`` and nothing else of this machine."""
    return open_door(site.pair)


@pytest.fixture
def certify(tmp_path: Path) -> Callable[[int, int], Path]:
    """Makes certificates of our own for secure.example, each with its key in one file; good between days."""

    def certificate_of(from_day: int, until_day: int) -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "secure.example")])
        now = datetime.now(UTC)
        signed = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now + timedelta(days=from_day))
            .not_valid_after(now + timedelta(days=until_day))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("secure.example")]), critical=False)
            .sign(key, hashes.SHA256())
        )
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        private = key.private_bytes(encoding, form, serialization.NoEncryption())
        path = tmp_path / "certificate.pem"
        path.write_bytes(private + signed.public_bytes(encoding))
        return path

    return certificate_of


@pytest.fixture
def certificate(certify: Callable[[int, int], Path]) -> Path:
    return certify(-1, 1)


@pytest.fixture
def tls(certificate: Path) -> SSLContext:
    """A server's side of TLS."""
    context = create_default_context(Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context
