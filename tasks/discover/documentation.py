"""The documentation that ships with Almanac, offered like a web site: ``almanac:README.md``."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources.abc import Traversable

from tasks.errors import Permanent
from tasks.ports import Fetched, Fetcher, Validators, Wanted

SCHEME = "almanac"
LISTING = f"{SCHEME}:documentation"


class Shelf:
    """A Fetcher of ``almanac:`` addresses; every other address is handed to ``beyond``, if there is one.

    ``almanac:documentation`` lists the Markdown files of ``folder`` as JSON: name, title and digest.
    """

    def __init__(self, folder: Traversable, beyond: Fetcher | None = None) -> None:
        self._folder = folder
        self._beyond = beyond

    async def fetch(
        self, url: str, wanted: Wanted, validators: Validators | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Raises Permanent for what is not on the shelf; never touches the network itself."""
        scheme, _, name = url.partition(":")
        if scheme != SCHEME:
            if self._beyond is None:
                raise Permanent(f"{url} is not on the shelf")
            return await self._beyond.fetch(url, wanted, validators, headers)
        files = {file.name: file for file in self._folder.iterdir() if file.name.endswith(".md")}
        if url == LISTING:
            return answer(url, listing(files), "application/json", validators)
        if name not in files:
            raise Permanent(f"there is no {name} in Almanac's own documentation")
        return answer(url, files[name].read_bytes(), "text/markdown", validators)


def answer(url: str, body: bytes, media_type: str, validators: Validators | None) -> Fetched:
    etag = sha256(body).hexdigest()
    known = validators is not None and validators.etag == etag
    return Fetched(
        url=url, final_url=url, status=304 if known else 200, body=b"" if known else body,
        media_type=media_type, charset="utf-8", validators=Validators(etag=etag),
        fetched_at=datetime.now(UTC),
    )


def listing(files: dict[str, Traversable]) -> bytes:
    described = []
    for name in sorted(files):
        body = files[name].read_bytes()
        described.append({"name": name, "title": title_of(body) or name, "digest": sha256(body).hexdigest()})
    return json.dumps(described).encode()


def title_of(markdown: bytes) -> str:
    """The first top heading."""
    lines = markdown.decode(errors="replace").splitlines()
    return next((line[2:].strip() for line in lines if line.startswith("# ")), "")
