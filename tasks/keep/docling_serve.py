"""The converter that is a server: docling-serve, version 1 of its API. It answers Markdown."""

import mimetypes
from pathlib import Path

import httpx

from models.extracted import Extracted
from tasks.errors import Permanent, Transient
from tasks.ports import Original, Parser

CONVERT = "/v1/convert/file"
WANTED = {"to_formats": "md", "target_type": "inbody", "image_export_mode": "placeholder"}
GOOD = {"success", "partial_success"}
LONGEST_REASON = 300


class DoclingServe:
    """Implements ``ports.Converter``; what it answers is read by ``parser`` like any text."""

    def __init__(self, url: str, key: str | None, parser: Parser, seconds: float = 300.0) -> None:
        self._url, self._parser, self._seconds = url.rstrip("/"), parser, seconds
        self._headers = {"X-Api-Key": key} if key else {}

    async def convert(self, original: Original) -> Extracted:
        ending = mimetypes.guess_extension(original.media_type) or Path(original.name).suffix
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=self._seconds) as client:
                with original.path.open("rb") as file:
                    sent = {"files": (f"file{ending}", file, original.media_type)}  # it goes by the ending
                    response = await client.post(
                        self._url + CONVERT, data=WANTED, files=sent, headers=self._headers)
        except httpx.HTTPError as error:
            raise Transient("docling-serve of ALMANAC_DOCLING_URL does not answer") from error
        markdown = markdown_of(response)
        return Extracted.from_json(
            await self._parser.parse("note", markdown.encode(), {"extractor": "docling-serve"}))


def markdown_of(response: httpx.Response) -> str:
    """Raises Permanent for a file that it could not convert, Transient for any trouble of its own."""
    if response.status_code >= 500 or response.status_code in {401, 403, 404, 429}:
        raise Transient(f"docling-serve of ALMANAC_DOCLING_URL answered HTTP {response.status_code}")
    try:
        answer = response.json()
        status, document = answer["status"], answer["document"]
        errors = "; ".join(str(each.get("error_message", each)) for each in answer.get("errors") or [])
        markdown = str(document.get("md_content") or "")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise Permanent(f"docling-serve refused it (HTTP {response.status_code})") from error
    if status not in GOOD or not markdown.strip():
        why = f"docling-serve could not convert it ({status}): {errors[:LONGEST_REASON]}"
        raise Permanent(why.rstrip(": "))
    return markdown
