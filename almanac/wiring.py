"""Which adapter stands behind each port: the only place that names them, and that knows of modes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from importlib.resources import files
from os import getpid
from platform import node
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import SecretStr

from almanac.master_key import MasterKeys
from almanac.settings import Settings, settings
from models.session import Database
from models.states import CollectionState
from models.tables import Collection
from tasks.discover.documentation import Shelf
from tasks.extract.jail import Jail
from tasks.gates.examiner import Examiner
from tasks.gates.gate import Gates
from tasks.index import collections
from tasks.index.collections import EmbeddingModel
from tasks.keep.clamd import Clamd
from tasks.keep.converter import Either, Jailed
from tasks.keep.files import Doors
from tasks.keep.given import Limits
from tasks.keep.store import ObjectStore
from tasks.outside.chat import Chat
from tasks.outside.help import Help
from tasks.outside.masking import names_of
from tasks.outside.vault import Vault
from tasks.ports import (
    Analyser,
    Collections,
    Converter,
    Embedder,
    Fetcher,
    Gate,
    Index,
    LanguageModel,
    Parser,
    Renderer,
)
from tasks.web import chromium
from tasks.web.background import Background
from tasks.web.door import Door
from tasks.web.kept_pauses import KeptPauses
from tasks.web.policy import Policy

if TYPE_CHECKING:
    from tasks.outside.tools.executor import Executor
    from tasks.outside.tools.toolbox import Toolbox

PARSERS = {
    "page": "tasks.extract.page:parse",
    "head": "tasks.extract.head:parse",
    "links": "tasks.extract.links:parse",
    "markdown": "tasks.extract.markdown:parse",
    "fragment": "tasks.extract.fragment:parse",
    "feed": "tasks.discover.feed:parse",
    "opml": "tasks.discover.opml:parse",
    "sitemap": "tasks.discover.sitemap:parse",
    "json": "tasks.discover.json_rows:parse",
    "json_sample": "tasks.discover.json_sample:parse",
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

    def __set__(self, library: Any, made: T) -> None:
        with self._lock:
            library.__dict__[self._slot] = made


class Library:
    """The long-lived things of one process. Usable from every thread and event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.worker = f"{node()}:{getpid()}"  # who holds a lease
        self.trouble: dict[str, str] = {}  # why the last work of a part failed, by the part's name
        self._left: Searched | None = None
        self._closing = ExitStack()

    @Once
    def db(self) -> Database:
        """Raises ValueError without an address: the stack gives it."""
        if self.settings.database_url is None:
            raise ValueError("ALMANAC_DATABASE_URL is not set: start Almanac with `almanac up`, or set it")
        database = Database(self.settings.database_url.get_secret_value(), keys=self.keys)
        self._closing.callback(database.close)
        return database

    @Once
    def keys(self) -> MasterKeys:
        return MasterKeys(self.settings.home / "keys" / "master.key", plain(self.settings.master_key))

    @Once
    def vault(self) -> Vault:
        return Vault(self.db, self.keys, Policy(self.settings.allowed_networks).is_owners)

    @Once
    def help(self) -> Help:
        """External AIs, for what the library cannot answer."""
        wanted = self.settings
        policy, names = Policy(wanted.allowed_networks), names_of(plain(wanted.private_names) or "")
        return Help(self.db, self.vault, Chat(lambda: transport_of(policy)), self.parser,
                    lambda: self.embedder, names, wanted.outside_seconds)

    @Once
    def fetcher(self) -> Fetcher:
        return Shelf(files("almanac") / "documentation", beyond=self.door)

    @Once
    def door(self) -> Door:
        wanted = self.settings
        door = Door(
            Policy(wanted.allowed_networks), contact=wanted.contact, host_delay=wanted.host_delay,
            in_flight=wanted.fetches_in_flight, timeout=wanted.fetch_timeout, max_bytes=wanted.max_page_bytes,
            pauses=KeptPauses(self.db),
        )
        self._closing.callback(door.close)
        return door

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

        browser = Browser(Policy(self.settings.allowed_networks), where, self.settings.contact,
                          admit=lambda url: self.door.admit(url))
        self._closing.callback(browser.close)
        return browser

    @Once
    def bundled(self) -> Embedder:
        from tasks.embed.minilm import MiniLM  # a second to load, which other commands need not pay

        return MiniLM()

    @Once
    def model(self) -> LanguageModel | None:
        """The model that writes and judges, if the owner has named one."""
        chosen = self.settings
        if chosen.llm_url is None or chosen.llm_model is None:
            return None
        from tasks.outside.model_server import ModelServer

        return ModelServer(chosen.llm_url, chosen.llm_model, plain(chosen.llm_key), chosen.llm_seconds)

    @Once
    def toolbox(self) -> "Toolbox":
        """The servers whose tools the owner lets be used; none is connected before it is started."""
        from almanac.tool_servers import curated  # brings the MCP SDK, which other processes need not pay
        from tasks.outside.tools.toolbox import Toolbox

        servers = curated(self.settings)
        if not servers:
            return Toolbox(self.db, [])
        loop = Background("almanac-tools")
        self._closing.callback(loop.close)
        return Toolbox(self.db, servers, loop)

    @Once
    def executor(self) -> "Executor":
        """Where tools are used, whoever uses them."""
        from tasks.outside.tools.executor import Executor

        return Executor(self.toolbox.tools, self.settings.tool_characters)

    @Once
    def analyser(self) -> Analyser:
        """The built-in one, or a model's with the built-in one behind it."""
        from tasks.analyse.built_in import BuiltIn

        built_in = BuiltIn(self.embedder)
        if self.model is None:
            return built_in
        from tasks.analyse.by_model import ByModel

        return ByModel(self.model, built_in)

    @Once
    def collections(self) -> Collections:
        if self.settings.qdrant_url is None:
            from tasks.index.edge import EdgeCollections

            return EdgeCollections(self.settings.home / "index")
        from tasks.index.server import connect  # brings qdrant-client: 80 MB

        server = connect(self.settings.qdrant_url, plain(self.settings.qdrant_key))
        self._closing.callback(server.close)
        return server

    @Once
    def searched(self) -> "Searched":
        """What answers, until another is adopted."""
        row = collections.answering(self.db)
        self._closing.callback(lambda: self.searched.close())
        return Searched(self, row or collections.begin(self.db, self.wanted, CollectionState.ANSWERING))

    @property
    def embedder(self) -> Embedder:
        """The model that what answers was made with."""
        return self.searched.embedder

    @property
    def index(self) -> Index:
        return self.searched.index

    @property
    def wanted(self) -> EmbeddingModel:
        """The model that the settings name, which may not be the one that answers yet."""
        chosen = self.settings
        if chosen.embeddings_url is None or chosen.embeddings_model is None:
            return EmbeddingModel(self.bundled.name, self.bundled.dimensions)
        served = self.served(chosen.embeddings_url, chosen.embeddings_model)
        return EmbeddingModel(served.name, served.dimensions, chosen.embeddings_url)

    def served(self, address: str, name: str, dimensions: int | None = None) -> Embedder:
        from tasks.embed.server import ServedModel

        chosen = self.settings
        model = ServedModel(address, name, plain(chosen.embeddings_key), chosen.embeddings_window, dimensions)
        self._closing.callback(model.close)
        return model

    @property
    def is_outdated(self) -> bool:
        """Whether another collection is to answer: the settings name another model, or one was begun."""
        now = self.searched.row
        chosen = self.settings.embeddings_model or self.bundled.name
        return now.embedder != chosen or collections.filling(self.db) is not None

    @contextmanager
    def successor(self) -> Iterator["Searched"]:
        """What is to answer next, as far as it was filled; it is closed again unless it is adopted."""
        new = Searched(self, collections.begin(self.db, self.wanted))
        try:
            yield new
        finally:
            if self.searched is not new:
                new.close()

    @contextmanager
    def refilling(self) -> Iterator[Index]:
        """What answers, closed meanwhile, for very many writes."""
        row = self.searched.row
        self.searched.close()
        self.searched = Searched(self, row)
        with self.searched.filling() as index:
            yield index

    def adopt(self, new: "Searched") -> None:
        """Let it answer from now on; questions that are under way end with what they began with."""
        collections.switch(self.db, new.row.name)
        self._left, self.searched = self.searched, new
        collections.move_vectors(self.db, new.row.embedder)

    def let_go(self) -> None:
        """Remove what answered before."""
        if self._left:
            self._left.close()
            self._left = None
        collections.sweep(self.db, self.collections)

    @Once
    def gate(self) -> Gate:
        """Starts a process when first asked."""
        examiner = Examiner()
        self._closing.callback(examiner.close)
        return Gates(self.db, examiner)

    def close(self) -> None:
        """Close what was opened, the last first."""
        self._closing.close()


class Searched:
    """A collection, and the model whose vectors it holds; each is opened when first asked for."""

    def __init__(self, library: Library, row: Collection) -> None:
        self.row = row
        self._library = library
        self._opened: Index | None = None

    @Once
    def embedder(self) -> Embedder:
        row, chosen = self.row, self._library.settings
        if row.address is None:
            return self._library.bundled
        moved = chosen.embeddings_url if chosen.embeddings_model == row.embedder else None
        return self._library.served(moved or row.address, row.embedder, row.dimensions)

    @Once
    def index(self) -> Index:
        self._opened = self._library.collections.open(self.row.name, self.row.dimensions)
        return self._opened

    def filling(self) -> AbstractContextManager[Index]:
        """The collection while it is not open, for very many writes."""
        return self._library.collections.filling(self.row.name, self.row.dimensions)

    def close(self) -> None:
        if self._opened:
            self._opened.close()


def transport_of(policy: Policy) -> Any:
    from tasks.web.transport import GuardedTransport  # brings httpx2, which only asking outside needs

    return GuardedTransport(policy)


def plain(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


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
