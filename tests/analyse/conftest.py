"""Articles to analyse, an embedder that needs no model, and a model server that misbehaves as it is told."""

import json
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from tasks.analyse.built_in import BuiltIn
from tasks.ports import Vectors

Answer = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


class Bags:
    """An embedder of words: texts that share words are near."""

    name, dimensions, window = "bags", 128, 256

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace(",", " ").replace(".", " ").split():
                vectors[row, crc32(word.encode()) % self.dimensions] += 1
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])


@pytest.fixture(scope="session")
def built_in() -> BuiltIn:
    return BuiltIn(Bags())


class Server:
    """Answers each request as the next of ``answers`` does, the last of them for ever; keeps what it got."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.requests.append(body | {"path": self.path})
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                answer(self, body)

            def log_message(self, *_: Any) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # who hung up is no trouble
        Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    it = Server()
    yield it
    it.close()
