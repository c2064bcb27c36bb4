"""Where original bytes are kept: a folder or a bucket, under keys that say nothing of what they hold."""

import shutil
import sys
from asyncio import to_thread
from collections.abc import AsyncIterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import LocalStore, S3Store

from tasks.errors import Away, Permanent
from tasks.keep.temporary import temporary
from tasks.ports import Store

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE = 1 << 20
SAVES = 0.9  # of the size: packed for less it is not worth the unpacking


class ObjectStore:
    """Implements ``ports.Store`` over ``file:///folder`` or ``s3://bucket/prefix``.

    S3's address, region and keys are where its own tools look for them (``AWS_ENDPOINT_URL``, …).
    """

    def __init__(self, url: str) -> None:
        self._name = urlsplit(url).scheme
        if self._name == "file":
            folder = Path(unquote(urlsplit(url).path))
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._store: LocalStore | S3Store = LocalStore(folder)
        else:
            self._store = S3Store.from_url(url)

    async def put(self, key: str, path: Path) -> None:
        try:
            await obstore.put_async(self._store, key, path)
        except BaseError as error:
            raise self._away(error) from error

    async def get(self, key: str, path: Path) -> None:
        try:
            found = await obstore.get_async(self._store, key)
            with path.open("wb") as file:
                async for piece in found.stream(min_chunk_size=PIECE):
                    file.write(piece)
        except (NotFoundError, FileNotFoundError) as error:
            raise Permanent("its original is not in the store any more") from error
        except BaseError as error:
            raise self._away(error) from error

    async def delete(self, key: str) -> None:
        try:
            await obstore.delete_async(self._store, key)
        except (NotFoundError, FileNotFoundError):
            return
        except BaseError as error:
            raise self._away(error) from error

    async def written(self) -> AsyncIterator[tuple[str, datetime]]:
        async for batch in obstore.list(self._store):
            for each in batch:
                yield each["path"], each["last_modified"]

    def _away(self, error: BaseError) -> Away:
        return Away(f"the {self._name} store of originals failed ({type(error).__name__})")


async def put_in(store: Store, path: Path, folder: Path) -> tuple[str, bool]:
    """Store a file's bytes, as zstd where that saves; the key, and whether they are packed."""
    key = uuid4().hex
    key = f"{key[:2]}/{key[2:]}"
    with temporary(folder) as packed:
        saves = await to_thread(pack, path, packed)
        await store.put(key, packed if saves else path)
    return key, saves


async def take_out(store: Store, key: str, packed: bool, size: int, sum_: str, path: Path) -> None:
    """The bytes as they were handed in, as the file ``path``. Raises Permanent for any others."""
    with temporary(path.parent) as raw:
        await store.get(key, raw)
        if not await to_thread(unpack, raw, path, packed, size, sum_):
            raise Permanent("its original in the store is not what was kept: its hash or size differs")


def pack(path: Path, packed: Path) -> bool:
    """Whether it is worth it."""
    with path.open("rb") as source, zstd.open(packed, "wb") as target:
        shutil.copyfileobj(source, target, PIECE)
    return packed.stat().st_size <= SAVES * path.stat().st_size


def unpack(raw: Path, path: Path, packed: bool, size: int, sum_: str) -> bool:
    """Whether what comes out has this size and SHA-256; no more than ``size`` bytes are written."""
    counted, hashed = 0, sha256()
    try:
        with (zstd.open(raw, "rb") if packed else raw.open("rb")) as source, path.open("wb") as target:
            while piece := source.read(PIECE):
                counted += len(piece)
                if counted > size:
                    return False
                hashed.update(piece)
                target.write(piece)
    except (zstd.ZstdError, EOFError):
        return False
    return counted == size and hashed.hexdigest() == sum_
