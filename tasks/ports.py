"""The outside, in our words. Stages take these as arguments; wiring names the adapters."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from models.extracted import Extracted

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), unit length."""


class Wanted(StrEnum):
    """What an address is expected to hold; decides the content types and the size let through."""

    PAGE = "page"
    FEED = "feed"
    JSON = "json"
    SITEMAP = "sitemap"  # that another one names
    FILE = "file"  # whatever it is: it is looked at before it is kept
    ANY = "any"  # either: an address that nobody has looked at yet


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server said of a body, to be sent back exactly as received (RFC 9110 §13)."""

    etag: str | None = None
    last_modified: str | None = None


TRUSTED = timedelta(days=7)  # of "not modified" without a body, before one look without validators: some lie


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer of status 200 (or 304 to validators: ``not_modified`` and an empty body)."""

    url: str  # asked for
    final_url: str  # after redirects
    status: int
    body: bytes  # content encoding undone, charset untouched
    media_type: str  # declared, lower case, without parameters; "" where none
    charset: str | None  # declared
    validators: Validators
    fetched_at: datetime
    headers: Mapping[str, str] = field(default_factory=dict)  # lower-case names
    moved_to: str | None = None  # where the address says it has gone for good

    @property
    def not_modified(self) -> bool:
        return self.status == 304


class Fetcher(Protocol):
    """The one door to the web. Usable from any event loop."""

    async def fetch(
        self, url: str, wanted: Wanted, validators: Validators | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Read ``url``, with the ``headers`` that its owner set for it (models.headers.check_headers).

        They go to that host only. Raises Unsafe (address policy), Transient (network, 5xx, 408, 429, robots
        unavailable), Postponed (not asked at all: a pause, or others in front), Permanent (other statuses,
        robots refusal, size, type), NeedsCredential (401).
        """
        ...


class Renderer(Protocol):
    """A browser, for pages that scripts make. Usable from any event loop."""

    async def render(self, url: str) -> Fetched:
        """The page at ``url`` as HTML after its scripts have run, without validators.

        Raises Unsafe (address policy, also for where its scripts lead), Transient (network, time, the browser
        itself), Permanent (statuses, size, type, memory), NeedsCredential (401).
        """
        ...


class PauseStore(Protocol):
    """Where the pauses that hosts have asked for outlive the process. Thread-safe."""

    def load(self) -> Mapping[str, datetime]:
        """Each host (with its port, if not the usual one) that is in a pause, and until when."""
        ...

    def save(self, host: str, until: datetime) -> None:
        """Keep a pause; a longer one that is known stays."""
        ...


class Parser(Protocol):
    """Runs a named parser on hostile bytes where they can do no harm. Usable from any event loop."""

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        """The parser's JSON object. Raises what the parser raises (a StageError), or Permanent at a limit."""
        ...


class Scanner(Protocol):
    """Looks for what may harm whoever opens a file."""

    async def scan(self, path: Path) -> None:
        """Returns for a file that is clean, and for no other.

        Raises Rejected where something was found or the scanner would not look, Transient where it gave no
        verdict.
        """
        ...


class Store(Protocol):
    """Where original bytes are kept, by key. Usable from any event loop; raises Transient when it is away."""

    async def put(self, key: str, path: Path) -> None: ...

    async def get(self, key: str, path: Path) -> None:
        """Write the bytes to the file ``path``. Raises Permanent where there are none."""
        ...

    async def delete(self, key: str) -> None:
        """Also where there is nothing to delete."""
        ...

    def written(self) -> AsyncIterator[tuple[str, datetime]]:
        """Every key, and when it was written."""
        ...


@dataclass(frozen=True, slots=True)
class Original:
    """A file that was handed in, or fetched from ``url``."""

    path: Path
    name: str
    media_type: str
    charset: str | None = None
    url: str | None = None


class Converter(Protocol):
    """Turns a file into blocks. Usable from any event loop."""

    async def convert(self, original: Original) -> Extracted:
        """Raises Permanent, with the reason, for what cannot be read; Transient where to try again helps."""
        ...


@dataclass(frozen=True, slots=True)
class Read:
    """What one look at a document came to."""

    document_id: UUID
    url: str
    state: str
    reason: str
    version: int | None = None  # the number of the one that it brought
    due_at: datetime | None = None  # when it is looked at again by itself
    seconds: float = 0.0  # from the start of its batch until it had been looked at


Reader = Callable[[UUID, datetime], Awaitable[Read | None]]
"""Reads a document now, due or not; None for one that is removed."""


class Embedder(Protocol):
    """Text to vectors. Thread-safe."""

    name: str  # stored beside each vector
    dimensions: int
    window: int  # tokens it reads of a text; the rest would be ignored

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens in each text, as the model counts them, special tokens not included."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, in order."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, shape (1, dimensions)."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk as the index holds it."""

    id: UUID
    vector: Vectors  # shape (dimensions,)
    document_id: UUID
    version_id: UUID
    source_id: UUID
    scopes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that the index offers, with its raw cosine similarity."""

    id: UUID
    similarity: float


class Index(Protocol):
    """Vectors by likeness; everything in it can be rebuilt. Thread-safe; writes are idempotent by id."""

    def upsert(self, entries: Sequence[Entry]) -> None: ...

    def delete(self, ids: Sequence[UUID]) -> None: ...

    def search(self, vector: Vectors, limit: int, scopes: Sequence[str], minimum: float) -> list[Hit]:
        """The nearest chunks whose every scope is in ``scopes``, best first, cosine at least ``minimum``."""
        ...

    def count(self) -> int: ...

    def ids(self) -> Iterator[UUID]:
        """Every chunk id it holds, in no order."""
        ...

    def close(self) -> None: ...
