"""``almanac welcome``, the end of ``make up``: an empty library gets its first sources and a question."""

import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

from almanac.cli.failures import Failed
from almanac.cli.screen import one_line, screen
from almanac.cli.search import answer
from almanac.cli.stack import where
from almanac.cli.waiting import LIMIT_LOOK_SECONDS, Patience, bar, limit_reached, of_sources
from almanac.client import PAGE, ApiProblem, Client, Json, Starting, connect
from almanac.settings import Settings
from almanac.stack.report import urls

DOCUMENTATION = "documentation"
QUESTION = "What can you do?"
ANSWERING = "almanac:ABOUT.md"  # the page that is written to answer it
EXCERPTS = 3
SECONDS_TO_START = 300.0
SECONDS_TO_READ = 120.0  # what is not read by then is read while people look around
SECONDS_BETWEEN_LOOKS = 0.5


def greet(settings: Settings) -> None:
    """Fill an empty library, ask it a sample question, and say where everything is.

    Raises Failed when its own documentation should answer and does not.
    """
    client = connect_when_ready()
    starters = add_starters(client) if settings.starters and is_empty(client) else []
    tell_starters(starters)
    wait_for_first_documents(client)
    found = client.retrieve(QUESTION, k=EXCERPTS)
    addresses = {"urls": urls(settings)}
    why = None if found["excerpts"] else unanswered(client, settings, found["nothing"])
    screen.show(
        addresses | {"starters": starters, "question": QUESTION, "answer": found, "unanswered": why},
        "\n\n".join(filter(None, [f"\n“{QUESTION}”", answer(found, explain=False), why, where(addresses)])),
    )


def unanswered(client: Client, settings: Settings, nothing: str) -> str:
    """Which choice of the owner's it comes from that nothing answers. Raises Failed when it is none."""
    own = [source for source in client.sources() if source["kind"] == DOCUMENTATION]
    if not own:
        return "You removed Almanac's own documentation, which answers this: it comes back at the next start."
    pages = client.documents(source=own[0]["id"], limit=PAGE)["documents"]
    if all(page["url"] != ANSWERING for page in pages):
        return "You removed the page of Almanac's own documentation that answers this: it stays away."
    if settings.min_similarity > Settings.model_fields["min_similarity"].default:
        return "ALMANAC_MIN_SIMILARITY asks for more than its default: with that, this would be answered."
    raise Failed(f"the library does not answer from its own documentation ({nothing.rstrip('.')}): see "
                 "`almanac status`; `almanac index verify` says whether the index is whole")


def connect_when_ready() -> Client:
    """The API, when no part is starting any more: another `almanac up` may be under way."""
    until = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            client = connect()
            if client.health()["status"] != "starting" or time.monotonic() > until:
                return client
        except Starting:
            if time.monotonic() > until:
                raise
        time.sleep(SECONDS_BETWEEN_LOOKS)


def is_empty(client: Client) -> bool:
    """Whether the library has no source but its own documentation."""
    return all(source["kind"] == DOCUMENTATION for source in client.sources())


def add_starters(client: Client) -> list[Json]:
    """Add the starter sources side by side; for each its name, url and the problem that it had, or None."""
    wanted = tomllib.loads((files("almanac") / "starters.toml").read_text(encoding="utf-8"))
    starters = wanted["source"]
    with bar("looking at the first sources") as advance, ThreadPoolExecutor(len(starters)) as pool:
        added = []
        for done in pool.map(adder(client, wanted["limit"]), starters):
            added.append(done)
            advance(len(added), len(starters))
    return added


def adder(client: Client, limit: int) -> Callable[[dict[str, Any]], Json]:
    def add(starter: dict[str, Any]) -> Json:
        try:
            client.add_source(starter["url"], name=starter["name"], limit=limit)
        except ApiProblem as problem:
            return starter | {"problem": problem.detail}
        return starter | {"problem": None}

    return add


def tell_starters(starters: list[Json]) -> None:
    if screen.json:
        return
    for starter in starters:
        problem = starter["problem"]
        print(one_line(f"could not add {starter['name']} ({starter['url']}): {problem}" if problem else
                       f"added {starter['name']} ({starter['url']})"), flush=True)


def wait_for_first_documents(client: Client) -> None:
    """Wait until what the first polls found is read, or no more may be in this hour, or it takes long."""
    until, patience = time.monotonic() + SECONDS_TO_READ, Patience()
    with bar("reading the first documents") as advance:
        while time.monotonic() < until:
            sources = client.sources()
            left, _, total = of_sources(sources)
            advance(total - left, total)
            if not left:
                return
            if patience.still(left) > LIMIT_LOOK_SECONDS and limit_reached(client):
                return
            time.sleep(SECONDS_BETWEEN_LOOKS)
