"""A process that reads until nothing is left: ``reading_process.py URL NAME FOLDER LEASE [HANG]``.

It says ``ready``, waits for a line, and writes each address that it fetches to ``FOLDER/<pid>.fetched`` and
each that it saved to ``<pid>.saved``. After ``HANG`` fetches it says ``hanging``, and goes on when
``FOLDER/go`` is there. ``LEASE`` is in seconds.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.tables import Document
from tasks.ports import Fetched, Validators, Wanted
from tasks.read import claims, read_documents

BATCH = 50


class Site:
    """Each address says its name, and by whom it was read."""

    def __init__(self, name: str, folder: Path, hang: int) -> None:
        self.name, self.folder, self.left = name, folder, hang
        self.fetched, self.saved = (
            (folder / f"{os.getpid()}.{kind}").open("w", buffering=1) for kind in ("fetched", "saved"))

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None, *_: Any) -> Fetched:
        print(url, file=self.fetched)
        self.left -= 1
        if self.left == 0:
            print("hanging", flush=True)
        while self.left <= 0 and not (self.folder / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        body = f"{url} as {self.name} read it".encode()
        return Fetched(url, url, 200, body, "text/html", None, Validators(), datetime.now(UTC))

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        blocks = (Block(BlockKind.PARAGRAPH, body.decode()),)
        return Extracted(blocks, title="Page", extractor="process").to_json()


async def main(url: str, name: str, folder: str, lease: str, hang: str = "1000000000") -> None:
    claims.LEASE = timedelta(seconds=float(lease))
    claims.RENEWAL_SECONDS = float(lease) / 5
    db, site = Database(url, pool_size=2), Site(name, Path(folder), int(hang))
    print("ready", flush=True)
    sys.stdin.readline()
    while db.execute(select(Document.id).where(Document.due_at.is_not(None)).limit(1)):
        for read in await read_documents(db, site, site, name, BATCH, datetime.now(UTC)):
            print(read.url, file=site.saved)
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
