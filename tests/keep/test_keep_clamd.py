"""The scanner: only its exact word that a file is clean lets one pass. The real clamd too, where it is."""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import made_files as made
import pytest
from doorway import NOW, SCOPES, declaration_of, documents, pieces

from models.session import Database
from tasks.errors import Away, Rejected
from tasks.keep import tickets
from tasks.keep.clamd import Clamd
from tasks.keep.files import Doors
from tasks.keep.given import Given

EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$" + rb"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
OURS = b"almanac-test-pattern-0451"
CLAMD = shutil.which("clamd")
installed = pytest.mark.skipif(CLAMD is None, reason="clamd is not installed")


@asynccontextmanager
async def answering(tmp_path: Path, reply: bytes, wait: float = 0.0) -> AsyncIterator[str]:
    """A daemon that says this whatever it is sent; the address of its socket."""
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(10) == b"zINSTREAM\0"
        while length := int.from_bytes(await reader.readexactly(4), "big"):
            await reader.readexactly(length)
        await asyncio.sleep(wait)
        writer.write(reply)
        await writer.drain()
        writer.close()

    address = str(tmp_path / "clamd.sock")
    server = await asyncio.start_unix_server(serve, address)
    try:
        yield address
    finally:
        server.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"words" * 50_000)
    return path


async def test_the_clean_word_lets_a_file_pass(tmp_path: Path, file: Path) -> None:
    async with answering(tmp_path, b"stream: OK\0") as address:
        await Clamd(address).scan(file)


@pytest.mark.parametrize(("reply", "error", "reason"), [
    (b"stream: Win.Test.EICAR_HDB-1 FOUND\0", Rejected, "the scanner found Win.Test.EICAR_HDB-1 in it"),
    (b"INSTREAM size limit exceeded. ERROR\0", Rejected, "would not look at it \\(INSTREAM size limit"),
    (b"stream: OK", Rejected, "would not look at it"),
    (b"stream: OK\0stream: x FOUND\0", Rejected, "the scanner found"),
    (b"OK\0", Rejected, "would not look at it"),
    (b" stream: OK\0", Rejected, "would not look at it"),
    (b"", Away, "broke off without a verdict"),
    (b"\0", Away, "broke off without a verdict"),
])
async def test_any_other_word_is_a_refusal(
    tmp_path: Path, file: Path, reply: bytes, error: type[Exception], reason: str
) -> None:
    async with answering(tmp_path, reply) as address:
        with pytest.raises(error, match=reason):
            await Clamd(address).scan(file)


async def test_a_scanner_that_takes_too_long_is_away(tmp_path: Path, file: Path) -> None:
    async with answering(tmp_path, b"stream: OK\0", wait=5) as address:
        with pytest.raises(Away, match="no verdict within"):
            await Clamd(address, seconds=0.2).scan(file)


@pytest.mark.parametrize("address", ["/nowhere/clamd.sock", "127.0.0.1:9"])
async def test_a_scanner_that_is_not_there_is_away(file: Path, address: str) -> None:
    with pytest.raises(Away, match="does not answer"):
        await Clamd(address).scan(file)


class Daemon:
    """The real clamd with two signatures of our own, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "clamd.sock"
        signatures = folder / "signatures"
        signatures.mkdir()
        (signatures / "ours.ndb").write_text(
            f"Test.EICAR:0:0:{EICAR.hex()}\nTest.Ours:0:*:{OURS.hex()}\n")
        self._config = folder / "clamd.conf"
        self._config.write_text(
            f"LocalSocket {self.socket}\nDatabaseDirectory {signatures}\nForeground yes\n"
            f"TemporaryDirectory {folder}\nStreamMaxLength 2M\nMaxFileSize 2M\nMaxScanSize 8M\n"
            f"User {'root' if os.getuid() == 0 else os.environ.get('USER', 'nobody')}\n")

    def start(self) -> None:
        self.process = subprocess.Popen(
            [str(CLAMD), "--config-file", str(self._config)], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not self.socket.exists() and time.monotonic() < deadline:
            assert self.process.poll() is None, "clamd did not start"
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.socket.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon for tests that leave it alone."""
    daemon = Daemon(tmp_path_factory.mktemp("lasting"))
    daemon.start()
    yield daemon
    daemon.kill()


@pytest.fixture
def clamd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("c"))
    daemon.start()
    yield daemon
    daemon.kill()


@installed
@pytest.mark.parametrize(("body", "reason"), [
    (b"words", None),
    (made.docx(), None),
    (EICAR, "found Test.EICAR"),
    (b"before " + OURS + b" after", "found Test.Ours"),
    (made.archive({"a.txt": b"x" * 1000 + OURS}), "found Test.Ours"),
    (b"x" * 3_000_000, "would not look at it .INSTREAM size limit exceeded|broke off"),
], ids=["words", "a document", "EICAR", "ours", "ours in an archive", "too large"])
async def test_the_real_scanner_says(
    lasting: Daemon, tmp_path: Path, body: bytes, reason: str | None
) -> None:
    file = tmp_path / "file"
    file.write_bytes(body)
    if reason is None:
        await Clamd(str(lasting.socket)).scan(file)
        return
    with pytest.raises((Rejected, Away), match=reason):
        await Clamd(str(lasting.socket)).scan(file)


@installed
@pytest.mark.database
async def test_what_a_scanner_would_pass_unseen_is_refused_first(
    clamd: Daemon, doors: Doors, db: Database, tmp_path: Path
) -> None:
    hidden = made.archive({"a.txt": bytes(2_500_000) + OURS})  # its pattern lies behind the scanner's limit
    file = tmp_path / "hidden.zip"
    file.write_bytes(hidden)
    await Clamd(str(clamd.socket)).scan(file)  # which says that it is clean
    scanned = replace(doors, scanner=Clamd(str(clamd.socket)),
                      limits=replace(doors.limits, scanned_file=2_000_000, scanned_total=8_000_000))
    secret = tickets.issue(db, Given(SCOPES, upload=declaration_of(hidden, "application/zip")), NOW).secret
    with pytest.raises(Rejected, match="larger than 2,000,000 bytes"):
        await tickets.upload(scanned, secret, pieces(hidden), NOW)


@installed
@pytest.mark.database
async def test_a_scanner_that_is_killed_before_during_and_after_an_upload_lets_nothing_slip(
    clamd: Daemon, doors: Doors, db: Database
) -> None:
    body = made.report() + bytes(1_000_000)
    scanned = replace(doors, scanner=Clamd(str(clamd.socket), seconds=20))
    secret = tickets.issue(db, Given(SCOPES, upload=declaration_of(body, "application/pdf")), NOW).secret

    async def killing() -> AsyncIterator[bytes]:
        yield body[:1000]
        clamd.kill()
        yield body[1000:]

    with pytest.raises(Away):  # during
        await tickets.upload(scanned, secret, killing(), NOW)
    with pytest.raises(Away):  # before
        await tickets.upload(scanned, secret, pieces(body), NOW)
    assert (documents(db), [key async for key, _ in doors.store.written()]) == ([], [])
    clamd.start()
    assert (await tickets.upload(scanned, secret, pieces(body), NOW)).created
    clamd.kill()  # after
    assert len(documents(db)) == 1
