"""Which adapter stands behind each port: the only place that names them, and that knows of modes."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from os import getpid
from platform import node
from threading import Lock
from typing import Any, Generic, TypeVar

from almanac.settings import Settings, settings
from models.session import Database
from tasks.discover.documentation import Shelf
from tasks.extract.jail import Jail
from tasks.keep.clamd import Clamd
from tasks.keep.converter import Either, Jailed
from tasks.keep.files import Doors
from tasks.keep.given import Limits
from tasks.keep.store import ObjectStore
from tasks.ports import Converter, Embedder, Fetcher, Index, Parser, Renderer
from tasks.web import chromium
from tasks.web.door import Door
from tasks.web.kept_pauses import KeptPauses
from tasks.web.policy import Policy

PARSERS = {
    "page": "tasks.extract.page:parse",
    "head": "tasks.extract.head:parse",
    "markdown": "tasks.extract.markdown:parse",
    "fragment": "tasks.extract.fragment:parse",
    "feed": "tasks.discover.feed:parse",
    "opml": "tasks.discover.opml:parse",
    "sitemap": "tasks.discover.sitemap:parse",
    "json": "tasks.discover.json_rows:parse",
    "note": "tasks.extract.note:parse",
    "file": "tasks.extract.files:parse",
}
CONVERTERS = {"file": "tasks.extract.convert:parse"}
CONVERSION: dict[str, Any] = {  # of files, which are larger than pages, and whose parsers are
    "workers": 1, "memory_bytes": 3_000_000_000, "cpu_seconds": 120, "wall_seconds": 240.0,
    "documents_per_child": 50,
}

T = TypeVar("T")


class Once(Generic[T]):
    """An attribute that is made when first asked for, by whichever thread asks first.

    Each has a lock of its own, so that nothing waits for the model but what needs it.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._lock = Lock()

    def __set_name__(self, owner: type, name: str) -> None:
        self._slot = f"_{name}"

    def __get__(self, library: Any, owner: type | None = None) -> T:
        with self._lock:
            made: dict[str, T] = library.__dict__
            if self._slot not in made:
                made[self._slot] = self._make(library)
            return made[self._slot]


class Library:
    """The long-lived things of one process. Usable from every thread and event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.worker = f"{node()}:{getpid()}"  # who holds a lease
        self.trouble: dict[str, str] = {}  # why the last work of a part failed, by the part's name
        self._closing = ExitStack()

    @Once
    def db(self) -> Database:
        """Raises ValueError without an address: the stack gives it."""
        if self.settings.database_url is None:
            raise ValueError("ALMANAC_DATABASE_URL is not set: start Almanac with `almanac up`, or set it")
        database = Database(self.settings.database_url.get_secret_value())
        self._closing.callback(database.close)
        return database

    @Once
    def fetcher(self) -> Fetcher:
        wanted = self.settings
        door = Door(
            Policy(wanted.allowed_networks), contact=wanted.contact, host_delay=wanted.host_delay,
            in_flight=wanted.fetches_in_flight, timeout=wanted.fetch_timeout, max_bytes=wanted.max_page_bytes,
            pauses=KeptPauses(self.db),
        )
        self._closing.callback(door.close)
        return Shelf(files("almanac") / "documentation", beyond=door)

    @Once
    def parser(self) -> Parser:
        jail = Jail(PARSERS)
        self._closing.callback(jail.close)
        return jail

    @Once
    def conversion(self) -> Jail:
        """Where files are converted; rests when there are none, since its child is large."""
        jail = Jail(CONVERTERS, **CONVERSION)
        self._closing.callback(jail.close)
        return jail

    @Once
    def converter(self) -> Converter:
        here = Jailed(self.conversion)
        if self.settings.docling_url is None:
            return here
        from tasks.keep.docling_serve import DoclingServe

        key = self.settings.docling_key
        server = DoclingServe(
            self.settings.docling_url, key.get_secret_value() if key else None, self.parser)
        return Either(here, server)

    @Once
    def doors(self) -> Doors:
        """What is handed in comes through these."""
        wanted = self.settings
        folder = wanted.home / "incoming"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        limits = Limits(
            wanted.keep_text_characters, wanted.keep_uri_characters, wanted.keep_scopes, wanted.keep_bytes,
            wanted.clamd_file_bytes, wanted.clamd_total_bytes, wanted.keep_http)
        scanner = Clamd(wanted.clamd) if wanted.clamd else None
        return Doors(self.db, self.parser, ObjectStore(wanted.originals_url), scanner, folder, limits)

    @Once
    def renderer(self) -> Renderer | None:
        """The browser, if one is wanted and there is one."""
        where = chromium.wanted(self.settings.browser)
        if where is None:
            return None
        from tasks.web.browser import Browser  # brings Playwright, which only reading needs

        browser = Browser(Policy(self.settings.allowed_networks), where, self.settings.contact)
        self._closing.callback(browser.close)
        return browser

    @Once
    def embedder(self) -> Embedder:
        from tasks.embed.minilm import MiniLM  # brings torch: seconds, which other commands need not pay

        return MiniLM()

    @Once
    def index(self) -> Index:
        from tasks.index.edge import EdgeIndex

        folder = self.settings.home / "index" / self.embedder.name.replace("/", "-")
        index = EdgeIndex(folder, self.embedder.dimensions)
        self._closing.callback(index.close)
        return index

    def close(self) -> None:
        """Close what was opened, the last first."""
        self._closing.close()


@cache
def library() -> Library:
    """The library of this process."""
    return Library(settings())


def prefect_environment(chosen: Settings) -> dict[str, str]:
    """Where Prefect's server is, and what its client leaves undone; read when Prefect is imported."""
    return {
        "PREFECT_API_URL": chosen.prefect_api_url,
        "PREFECT_HOME": str(chosen.home / "prefect"),
        "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
        "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "DO_NOT_TRACK": "1",
    }
