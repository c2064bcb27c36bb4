"""The Qdrant server adapter: its failures in our words, and a collection that somebody else touches."""

import json
import threading
import warnings
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest
from qdrant_client import QdrantClient

from tasks.errors import Permanent, StageError, Transient
from tasks.index.server import ServerCollections, connect
from tasks.ports import Entry, Filter

Make = Callable[..., list[Entry]]
LIBRARY = Filter(["library"])


@pytest.fixture
def answer() -> Iterator[Any]:
    """A web server that gives every request one answer; ``url``, ``status``, ``reason``, ``keys``."""
    class Handler(BaseHTTPRequestHandler):
        status, reason, keys, url = 200, "", [], ""

        def do_GET(self) -> None:
            self.keys.append(self.headers["api-key"])
            body = json.dumps({"status": {"error": self.reason}, "time": 0.0}).encode()
            self.send_response(self.status)
            self.send_header("Content-Length", str(len(body)))
            if self.status == 429:
                self.send_header("Retry-After", "7")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Handler.url, Handler.keys = f"http://127.0.0.1:{server.server_address[1]}", []
    yield Handler
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.parametrize(("status", "failure", "said"), [
    (401, Permanent, "ALMANAC_QDRANT_KEY"),
    (403, Permanent, "ALMANAC_QDRANT_KEY"),
    (400, Permanent, "no room for it"),
    (429, Transient, "asks for a pause"),
    (500, Transient, "no room for it"),
    (503, Transient, "HTTP 503"),
])
def test_what_the_server_refuses_is_told_once(
    answer: Any, status: int, failure: type[StageError], said: str
) -> None:
    answer.status, answer.reason = status, "no room for it"
    with pytest.raises(failure, match=said) as refused:
        connect(answer.url, "secret").open("m-32", 32)
    assert answer.keys == ["secret"]
    assert "secret" not in refused.value.reason
    if status == 429:
        assert refused.value.retry_after.total_seconds() == 7  # type: ignore[attr-defined]


def test_a_server_that_is_away_is_transient() -> None:
    with pytest.raises(Transient, match="does not answer"):
        connect("http://127.0.0.1:1", None).open("m-32", 32)


@pytest.fixture
def qdrant() -> QdrantClient:
    return QdrantClient(":memory:")


@pytest.fixture
def collections(qdrant: QdrantClient) -> Iterator[ServerCollections]:
    with warnings.catch_warnings(action="ignore"):  # the stand-in has no payload indexes
        yield ServerCollections(qdrant)


def test_a_collection_that_somebody_removed_is_made_anew_by_the_next_write(
    collections: ServerCollections, qdrant: QdrantClient, entries: Make
) -> None:
    index = collections.open("m", 32)
    pier, bread = entries(["the pier", "bread"])
    index.upsert([pier])
    qdrant.delete_collection("almanac-m")
    assert (index.count(), list(index.ids()), index.stale([pier])) == (0, [], {pier.id})
    index.upsert([bread])
    assert [hit.id for hit in index.containing("bread", 9, LIBRARY)] == [bread.id]


def test_a_collection_that_is_there_is_gone_on_with_and_another_size_is_refused(
    collections: ServerCollections, entries: Make
) -> None:
    collections.open("m", 32).upsert(entries(["the pier"]))
    assert collections.open("m", 32).count() == 1
    with pytest.raises(Permanent, match="not one of 8 dimensions: remove it"):
        collections.open("m", 8)


def test_only_our_own_collections_are_removed(collections: ServerCollections, qdrant: QdrantClient) -> None:
    collections.open("m", 32)
    qdrant.create_collection("theirs", {})
    for name in "m", "never", "theirs":
        collections.remove(name)
    assert [it.name for it in qdrant.get_collections().collections] == ["theirs"]


def test_ids_are_listed_whole(collections: ServerCollections, entries: Make) -> None:
    index = collections.open("m", 32)
    made = entries(["one", "two"])
    index.upsert(made)
    assert {type(it) for it in index.ids()} == {UUID}
