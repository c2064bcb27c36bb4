"""Everything that leaves for an address somebody else named goes through the one door, as the code shows.

Each module that could open a socket is named here with its reason. What the paths that fetch do when they
are driven is in test_web_paths.py.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import almanac

ROOT = Path(almanac.__file__).parent.parent
PACKAGES = ("models", "tasks", "flows", "almanac", "dashboards")

Reasons = Mapping[str, str]
NOBODY: Reasons = {}

# The modules that speak to the network, and who may import each, and why.
SPEAKERS: Mapping[str, Reasons] = {
    "httpcore": {"tasks.web": "the door", "tasks.embed.server": "a server that the owner names"},
    "h2": {"tasks.web": "the door"},
    "ssl": {"tasks.web": "the door"},
    "playwright": {"tasks.web": "the browser behind the guard proxy"},
    "socket": {"tasks.web.dialling": "looking names up", "almanac.stack.preflight": "are our ports free?"},
    "httpx": {"almanac.client": "our own API", **dict.fromkeys(
        ("tasks.keep.docling_serve", "tasks.outside"), "a server that the owner names")},
    "obstore": {"tasks.keep.store": "a bucket that the owner names"},
    "http": {"almanac.stack.probe": "are our own parts up?"},
    "psycopg": {"almanac.stack": "our own PostgreSQL", "models.wall": "whether callers' role may sign in"},
    **dict.fromkeys((
        "requests", "urllib3", "aiohttp", "websockets", "urllib.request", "ftplib", "smtplib", "poplib",
        "imaplib", "nntplib", "telnetlib", "xmlrpc", "socketserver", "asyncore", "pycurl"), NOBODY),
}

# Calls that open a connection, look a name up, or have a library do so; and what makes doors and networks.
CALLS: Mapping[str, Reasons] = {
    "getaddrinfo": SPEAKERS["socket"],
    "connect_tcp": {"tasks.web": "the door and the guard proxy"},
    "create_datagram_endpoint": {"tasks.web.browser": "our address, as a container sees it"},
    "open_connection": {"tasks.keep.clamd": "the scanner that the owner names"},
    "open_unix_connection": {"tasks.keep.clamd": "the scanner that the owner names"},
    **dict.fromkeys((
        "create_connection", "sock_connect", "gethostbyname",
        "gethostbyname_ex", "urlopen", "urlretrieve", "fetch_url", "fetch_response", "sitemap_search",
        "find_feed_urls"), NOBODY),
    "Door": {"almanac.wiring": "the one door of a process"},
    "GuardedBackend": {"tasks.web": "the door and the browser"},
    "AsyncConnectionPool": {"tasks.web.client": "the door",
                            "tasks.web.transport": "external AIs, by the door's policy"},
}

# Every place that asks the door for something.
FETCHING: Reasons = {
    "tasks.discover.probe": "a source that is added",
    "tasks.discover.auto": "the feeds of a page that is added",
    "tasks.discover.kinds.feed": "a feed",
    "tasks.discover.kinds.sitemap": "a sitemap, and the files that it names",
    "tasks.discover.kinds.json_api": "a JSON API, page by page",
    "tasks.discover.preview": "a sample of a JSON API, for whoever maps it",
    "tasks.discover.kinds.listing": "a page that lists others",
    "tasks.discover.kinds.documentation": "the shelf, which reads its own files",
    "tasks.discover.documentation": "the shelf, which hands everything else on to the door",
    "tasks.keep.addresses": "what is at an address that somebody hands in",
    "tasks.read.batch": "a page",
    "tasks.web.door": "the door itself",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield name.removesuffix(".__init__"), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def called(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name:
                yield name


def within(name: str, packages: Reasons) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


def test_only_these_modules_speak_to_the_network() -> None:
    strangers = [
        (name, speaker) for name, tree in modules() for what in imported(tree)
        for speaker, reasons in SPEAKERS.items()
        if f"{what}.".startswith(f"{speaker}.") and not within(name, reasons)
    ]
    assert strangers == []


def test_only_these_calls_open_connections() -> None:
    found = {(name, call) for name, tree in modules() for call in called(tree) if call in CALLS}
    assert [(name, call) for name, call in sorted(found) if not within(name, CALLS[call])] == []
    assert {("tasks.web.dialling", "getaddrinfo"), ("almanac.wiring", "Door")} <= found  # the walk sees


def test_every_place_that_fetches_is_known_and_driven() -> None:
    assert {name for name, tree in modules() if "fetch" in called(tree)} == set(FETCHING)
