"""Services that the owner names: docling-serve and an S3 bucket, by small servers that speak as they do."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from models.blocks import BlockKind
from tasks.errors import Away, Permanent, Transient
from tasks.extract import note
from tasks.extract.types import DOCX
from tasks.keep.docling_serve import DoclingServe
from tasks.keep.store import ObjectStore
from tasks.ports import Original

Answer = Callable[[str, str, dict[str, str], bytes], tuple[int, bytes]]
GOOD = {"document": {"md_content": "# Harbour\n\nThe pier floods."}, "status": "success", "errors": []}


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[str]:
    """The address of a server that answers (method, path, headers, body) so."""
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # when a test ends, a connection may be kept
            await answer_all(reader, writer)

    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := (await reader.readline()).decode():
            method, path, _ = line.split(" ")
            headers = {}
            while header := (await reader.readline()).decode().strip():
                name, _, value = header.partition(":")
                headers[name.lower()] = value.strip()
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            status, sent = answer(method, path, headers, body)
            writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nETag: \"x\"\r\n"
                         b"Last-Modified: Sun, 01 Mar 2026 12:00:00 GMT\r\n\r\n" % (status, len(sent)))
            writer.write(b"" if method == "HEAD" else sent)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


class InProcess:
    async def parse(self, parser: str, body: bytes, context: dict[str, str]) -> dict[str, object]:
        assert parser == "note"
        return note.parse(body, **context)


@pytest.fixture
def original(tmp_path: Path) -> Original:
    path = tmp_path / "file"
    path.write_bytes(b"the bytes of a document")
    return Original(path, "Plan #2 (à voir).docx", DOCX)


async def test_docling_serve_is_asked_for_markdown_in_its_answer(original: Original) -> None:
    asked: list[tuple[str, str, dict[str, str], bytes]] = []

    def answer(*request: object) -> tuple[int, bytes]:
        asked.append(request)  # type: ignore[arg-type]
        return 200, json.dumps(GOOD).encode()

    async with serving(answer) as url:
        read = await DoclingServe(url, "the-key", InProcess()).convert(original)
    [(method, path, headers, body)] = asked
    assert (method, path, headers["x-api-key"]) == ("POST", "/v1/convert/file", "the-key")
    for field, value in (("to_formats", "md"), ("target_type", "inbody")):
        assert re.search(rb'name="%s"\r\n\r\n%s\r\n' % (field.encode(), value.encode()), body)
    assert b'name="files"; filename="file.docx"' in body
    assert b"the bytes of a document" in body
    assert (read.title, read.extractor) == ("Harbour", "docling-serve")
    assert read.blocks[0].kind is BlockKind.HEADING


@pytest.mark.parametrize(("status", "answer", "error", "reason"), [
    (200, {"document": {"md_content": ""}, "status": "failure", "errors": [{"error_message": "no pages"}]},
     Permanent, "could not convert it .failure.: no pages"),
    (200, {"document": {"md_content": " "}, "status": "success", "errors": []}, Permanent, "success"),
    (200, {"document": {"md_content": "x"}, "status": "skipped", "errors": []}, Permanent, "skipped"),
    (200, ["no object"], Permanent, "refused it"),
    (422, {"detail": "no"}, Permanent, "refused it .HTTP 422."),
    (401, {}, Transient, "HTTP 401"),
    (503, {}, Transient, "HTTP 503"),
])
async def test_what_docling_serve_cannot_do_has_its_reason(
    original: Original, status: int, answer: object, error: type[Exception], reason: str
) -> None:
    async with serving(lambda *_: (status, json.dumps(answer).encode())) as url:
        with pytest.raises(error, match=reason):
            await DoclingServe(url, None, InProcess()).convert(original)


async def test_a_docling_serve_that_is_not_there_is_asked_again_later(original: Original) -> None:
    with pytest.raises(Transient, match="does not answer"):
        await DoclingServe("http://127.0.0.1:9", None, InProcess()).convert(original)


LISTED = ("<Contents><Key>{key}</Key><Size>1</Size><LastModified>2026-03-01T12:00:00.000Z</LastModified>"
          "</Contents>")
LISTING = "<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>"


class Bucket:
    """Objects of a bucket, as far as S3's API needs to say."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def __call__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        path, _, query = path.partition("?")
        if method == "PUT":
            self.objects[path] = body
            return 200, b""
        if method == "POST" and query == "delete":
            keys = re.findall("<Key>(.*?)</Key>", body.decode())
            for key in keys:
                self.objects.pop(f"{path}/{key}", None)
            gone = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
            return 200, f"<DeleteResult>{gone}</DeleteResult>".encode()
        if method == "GET" and "list-type" in query:
            listed = "".join(LISTED.format(key=key.removeprefix("/originals/")) for key in self.objects)
            return 200, LISTING.format(listed=listed).encode()
        return (200, self.objects[path]) if path in self.objects else (404, b"<Error/>")


async def test_a_bucket_holds_what_a_folder_would(
    tmp_path: Path, original: Original, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = Bucket()
    async with serving(bucket) as url:
        for name, value in (("AWS_ENDPOINT_URL", url), ("AWS_ALLOW_HTTP", "true"), ("AWS_REGION", "x"),
                            ("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")):
            monkeypatch.setenv(name, value)
        store = ObjectStore("s3://originals/kept")
        await store.put("ab/cd", original.path)
        assert list(bucket.objects) == ["/originals/kept/ab/cd"]
        back = tmp_path / "back"
        await store.get("ab/cd", back)
        assert back.read_bytes() == original.path.read_bytes()
        assert [key async for key, _ in store.written()] == ["ab/cd"]
        await store.delete("ab/cd")
        await store.delete("ab/cd")
        with pytest.raises(Permanent, match="not in the store"):
            await store.get("ab/cd", back)


async def test_a_folder_that_cannot_be_written_is_away(tmp_path: Path, original: Original) -> None:
    store = ObjectStore((tmp_path / "originals").as_uri())
    (tmp_path / "originals" / "ab").write_text("a file where a folder should be")
    with pytest.raises(Away, match="the file store of originals failed"):
        await store.put("ab/cd", original.path)
