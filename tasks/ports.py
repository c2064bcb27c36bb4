"""The outside, in our words. Stages take these as arguments; wiring names the adapters."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from models.analysis import Analysis, Article
from models.external import External, Wanting
from models.extracted import Extracted
from models.sealing import KeyRing
from models.states import Severity

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
    """Where what hosts have asked for outlives the process, and reaches others. Thread-safe."""

    def load(self) -> Mapping[str, datetime]:
        """Each host (with its port, if not the usual one) that is in a pause, and until when."""
        ...

    def save(self, host: str, until: datetime) -> None:
        """Keep a pause; a longer one that is known stays."""
        ...

    def save_delay(self, host: str, asked: float, kept: float) -> None:
        """Keep that a host asks for more seconds between two pages than it is given; as it is now."""
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


class Keys(Protocol):
    """The master keys. Thread-safe."""

    @property
    def are_given(self) -> bool:
        """Whether they are the owner's to change, in a setting."""
        ...

    def __call__(self) -> KeyRing:
        """All there are, none where there is none. Raises models.sealing.KeyLost where they cannot be had."""
        ...

    def make(self) -> None:
        """Make a first one, unless there is one."""
        ...

    def add(self) -> None:
        """Put a new one in front of the others, unless that was done before and not ended."""
        ...

    def drop_old(self) -> None:
        """Let go of all but the first."""
        ...


class Analyser(Protocol):
    """What an article is about, and of what kind it is. Thread-safe."""

    name: str  # with its version: another name judges otherwise

    def analyse(self, articles: Sequence[Article]) -> Iterator[Analysis]:
        """One analysis for each article, in order, each as soon as it is known.

        Raises Transient (a model server away or slow) and NeedsCredential: the rest is to be asked again.
        """
        ...


class ToolCall(NamedTuple):
    """What a model wants of a tool; ``arguments`` as it wrote them, which may be no JSON."""

    id: str
    name: str
    arguments: str


class Turn(NamedTuple):
    """A model's next message: its text, or the calls whose answers it waits for."""

    text: str
    calls: Sequence[ToolCall] = ()


class Tools(Protocol):
    """What a model may use while it writes one answer. Called from no event loop."""

    offered: Sequence[Mapping[str, Any]]
    """Each tool's ``name``, ``description`` and ``parameters``, as models' servers take them."""

    @property
    def left(self) -> int:
        """How many calls may still be made; 0 where there is nothing to call."""
        ...

    def use(self, call: ToolCall) -> str:
        """What came of it, for the model to read; never an exception."""
        ...


class LanguageModel(Protocol):
    """A model that completes a conversation. Thread-safe; called from no event loop."""

    name: str

    def converse(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Turn:
        """The next message of a conversation in which tools may be used. Raises what ``complete`` does."""
        ...

    def complete(self, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None = None) -> str:
        """The next message, a JSON object of the ``schema`` where the server can hold the model to one.

        ``messages`` have a ``role`` and a ``content``. Raises Transient (away, slow, overloaded), Postponed
        (not asked: it was away just now), NeedsCredential (401, 403), Permanent (it will not take these).
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolSaid:
    """What a tool answered, as it came; ``failed`` where it says that it could not do it."""

    text: str
    failed: bool = False


class ToolServer(Protocol):
    """Tools of somebody else's making. Belongs to one event loop."""

    name: str

    async def call(self, tool: str, arguments: Mapping[str, Any], caller: str) -> ToolSaid:
        """Use a tool of it for ``caller``, who is told apart from others.

        Raises Transient (away, lost), Unsafe (address policy), Permanent.
        """
        ...
AskOutside = Callable[[Wanting], External | None]
"""Asks an external AI; None: nobody may be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What filters need to know of a chunk."""

    id: UUID
    document_id: UUID
    version_id: UUID
    source_id: UUID
    scopes: Sequence[str]
    published_at: datetime | None = None
    content_type: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Payload):
    """A chunk as it is written to the index."""

    vector: Vectors  # shape (dimensions,)
    text: str = ""  # whose words are indexed: title, headings and the chunk itself


class Filter(NamedTuple):
    """Which chunks are asked for: by what the reader may see, and by what they want to; none: any."""

    scopes: Sequence[str]  # the reader's: every scope of a chunk is among them
    sources: Sequence[UUID] | None = None
    since: datetime | None = None  # published then or later; what has no date is left out
    until: datetime | None = None  # published before then
    content_types: Sequence[str] | None = None
    languages: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that the index offers: alike by ``similarity``, its cosine, or by ``words``, its BM25 score."""

    id: UUID
    similarity: float | None = None
    words: float | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """An expectation that is not met by a version, or by a source over time (``version_id`` is None then)."""

    gate: str
    expectation: str
    severity: Severity
    reason: str
    observed: str
    passage: str | None = None
    version_id: UUID | None = None
    source_id: UUID | None = None

    @property
    def refuses(self) -> bool:
        return self.version_id is not None and self.severity is not Severity.WARNING


class Gate(Protocol):
    """Judges a batch before it is indexed. Raises Transient when it cannot: then nothing has passed."""

    def versions(self, versions: Sequence[UUID]) -> list[Remark]:
        """What the versions, and the sources that they are from, do not meet."""
        ...

    def chunks(self, chunks: Sequence[Mapping[str, Any]], window: int, dimensions: int) -> list[Remark]:
        """The same of chunks that are about to be stored, as the rows that they will be."""
        ...


class Index(Protocol):
    """A collection of vectors and words; everything in it can be made again.

    Thread-safe; writes may be repeated. Raises Transient when it is away, full or broken, and Permanent for
    vectors of another size.
    """

    def upsert(self, entries: Sequence[Entry]) -> None:
        """Write these; they last, and are found, when this returns."""
        ...

    def describe(self, payloads: Sequence[Payload]) -> None:
        """Write what filters need of chunks that are there; of others, nothing."""
        ...

    def delete(self, ids: Sequence[UUID]) -> None: ...

    def nearest(self, vector: Vectors, limit: int, where: Filter, minimum: float) -> list[Hit]:
        """The nearest chunks, best first, cosine at least ``minimum``."""
        ...

    def containing(self, words: str, limit: int, where: Filter) -> list[Hit]:
        """The chunks that say most of these words, best first by BM25; none for words that say nothing."""
        ...

    def count(self) -> int: ...

    def ids(self) -> Iterator[UUID]:
        """Every chunk id it holds, in no order."""
        ...

    def stale(self, payloads: Sequence[Payload]) -> set[UUID]:
        """Those of which it holds another payload, or none."""
        ...

    def unlike(self, entries: Sequence[Entry]) -> set[UUID]:
        """Those of which it holds another vector or other words, or none."""
        ...

    def close(self) -> None: ...


class Collections(Protocol):
    """Where collections are kept, each under a name. Thread-safe."""

    def open(self, name: str, dimensions: int) -> Index:
        """The collection of this name, made where there is none. Raises Transient when it cannot be had."""
        ...

    def filling(self, name: str, dimensions: int) -> AbstractContextManager[Index]:
        """The same, for very many writes: in the end it is arranged for questions, and closed."""
        ...

    def remove(self, name: str) -> None:
        """Let go of one that is closed, if it is there."""
        ...
