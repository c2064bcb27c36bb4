"""An embedder behind a server: what is asked, what is believed, and what each failure means."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from tasks.embed.server import ServedModel
from tasks.errors import NeedsCredential, Permanent, StageError, Transient

Answer = tuple[int, Any]


class Server:
    """Answers as ``answer`` says; the rows come in the wrong order, as they may."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.answer: Callable[[list[str]], Answer] = self.vectors

    def vectors(self, texts: list[str]) -> Answer:
        rows = [{"index": i, "embedding": [3.0 * len(text), 4.0 * len(text), 0.0]}
                for i, text in enumerate(texts)]
        return 200, {"data": rows[::-1], "usage": {"prompt_tokens": 9}}


@pytest.fixture
def server() -> Iterator[Any]:
    it = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            it.asked.append(asked | {"path": self.path})
            it.keys.append(self.headers["Authorization"])
            status, said = it.answer(asked["input"])
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    it.url = f"http://127.0.0.1:{http.server_address[1]}/v1"  # type: ignore[attr-defined]
    yield it
    http.shutdown()
    http.server_close()


def test_vectors_come_in_order_in_batches_and_of_length_one(server: Any) -> None:
    model = ServedModel(server.url, "bge", key="secret")
    assert model.dimensions == 3
    server.asked.clear()
    vectors = model.embed([f"{'x' * i}" for i in range(1, 71)])
    assert vectors == pytest.approx(np.tile([0.6, 0.8, 0.0], (70, 1)).astype(np.float32))
    assert [len(asked["input"]) for asked in server.asked] == [32, 32, 6]
    assert server.asked[0]["path"] == "/v1/embeddings"
    assert (server.asked[0]["model"], server.keys[-1]) == ("bge", "Bearer secret")
    assert model.embed_query("a question").shape == (1, 3)
    assert model.embed([]).shape == (0, 3)
    model.close()


def test_a_size_that_is_known_is_not_asked_for(server: Any) -> None:
    assert ServedModel(server.url, "bge", dimensions=3).dimensions == 3
    assert server.asked == []


@pytest.mark.parametrize(("answer", "failure", "said"), [
    ((503, {}), Transient, "busy"),
    ((429, {}), Transient, "busy"),
    ((404, {}), Transient, "ALMANAC_EMBEDDINGS_MODEL"),
    ((401, {}), NeedsCredential, "ALMANAC_EMBEDDINGS_KEY"),
    ((413, {}), Permanent, "ALMANAC_EMBEDDINGS_WINDOW"),
    ((200, b"<html>"), Permanent, "OpenAI-compatible"),
    ((200, {"data": []}), Permanent, "OpenAI-compatible"),
    ((200, {"data": [{"index": 0}]}), Permanent, "OpenAI-compatible"),
    ((200, {"data": [{"index": 0, "embedding": ["x"]}]}), Permanent, "OpenAI-compatible"),
    ((200, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}), Permanent, "gives vectors of 2 dimensions"),
    ((200, {"data": [{"index": 0, "embedding": [0.0, 0.0, 0.0]}]}), Permanent, "no numbers"),
    ((200, b'{"data": [{"index": 0, "embedding": [NaN, 1, 1]}]}'), Permanent, "no numbers"),
])
def test_each_failure_says_what_to_do(
    server: Any, answer: Answer, failure: type[StageError], said: str
) -> None:
    model = ServedModel(server.url, "bge", dimensions=3)
    server.answer = lambda texts: answer
    with pytest.raises(failure, match=said):
        model.embed(["a text"])


def test_a_server_that_is_away_is_transient(server: Any) -> None:
    with pytest.raises(Transient, match="does not answer"):
        ServedModel("http://127.0.0.1:1/v1", "bge")


@pytest.mark.parametrize(("text", "least", "most"), [
    ("The pier is closed until the spring.", 8, 14),
    ("天地玄黄宇宙洪荒", 6, 16),
    ("", 0, 0),
    ("internationalisation", 4, 6),
])
def test_tokens_are_estimated_rather_too_high(text: str, least: int, most: int) -> None:
    (tokens,) = ServedModel("http://127.0.0.1:1/v1", "bge", dimensions=3).count([text])
    assert least <= tokens <= most
