"""A provider that speaks OpenAI's chat completions over HTTP, well or badly."""

import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

Act = Callable[[BaseHTTPRequestHandler], None]


def event(data: Any) -> bytes:
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def piece(content: str | None = None, end: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
        {"index": 0, "delta": ({"content": content} if content is not None else {}) | delta,
         "finish_reason": end}]}


def usage(tokens: Any) -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": tokens}}


def streams(*events: Any, declared: int | None = None, pause: float = 0.0) -> Act:
    """Events as a stream; one that declares more than it sends is cut off."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        body = b"".join(each if isinstance(each, bytes) else event(each) for each in events)
        begin(handler, 200, "text/event-stream", len(body) + (declared or 0))
        time.sleep(pause)
        handler.wfile.write(body)

    return act


def says(text: str, tokens: Any = 40, end: str = "stop") -> Act:
    return streams(*(piece(text[at:at + 50]) for at in range(0, len(text), 50)), piece(end=end),
                   usage(tokens), "[DONE]")


def fails(status: int, body: str = "{}", **headers: str) -> Act:
    def act(handler: BaseHTTPRequestHandler) -> None:
        begin(handler, status, "application/json", len(body.encode()), **headers)
        handler.wfile.write(body.encode())

    return act


def begin(handler: BaseHTTPRequestHandler, status: int, kind: str, length: int, **headers: str) -> None:
    handler.send_response(status)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in {"Content-Type": kind, "Content-Length": str(length), **named}.items():
        handler.send_header(name, value)
    handler.end_headers()


class Provider:
    """Answers with ``acts``, the last one for ever, but for a key that has one of its own."""

    def __init__(self) -> None:
        self.acts: list[Act] = [says("Ulaanbaatar is the capital of Mongolia.")]
        self.by_key: dict[str, Act] = {}
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                key = self.headers["authorization"].removeprefix("Bearer ")
                provider.headers.append({name.lower(): value for name, value in self.headers.items()})
                provider.asked.append(json.loads(body) | {"key": key, "path": self.path})
                self.close_connection = True
                act = provider.by_key.get(key) or (
                    provider.acts.pop(0) if len(provider.acts) > 1 else provider.acts[0])
                act(self)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def keys(self) -> list[str]:
        return [each["key"] for each in self.asked]
