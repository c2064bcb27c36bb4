"""The owner's token goes to the Almanac of its data folder, and to nobody else who listens there."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from household import TOKEN

FAILED = 1
NOT_RUNNING = "almanac: Almanac is not running: start it with `almanac up`\n"
STARTING = "almanac: Almanac is starting: try again in some seconds\n"

RunsHere = Callable[..., None]


class Stranger(BaseHTTPRequestHandler):
    """A server that is not ours: answers everything with ``body``, and remembers what it was sent."""

    body, received = b"", ""

    def do_GET(self) -> None:
        Stranger.received += f"{self.requestline}\n{self.headers}"
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_DELETE = do_GET  # noqa: N815 - the names that http.server calls

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def stranger(alone: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of the API, where somebody else listens."""
    (home / "token").write_text(TOKEN)
    Stranger.body, Stranger.received = b"{}", ""
    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as other:
        threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        monkeypatch.setenv("ALMANAC_API_PORT", str(other.server_port))
        yield other.server_port
        other.shutdown()


def test_who_listens_while_almanac_is_down_is_sent_nothing(alone: Any, stranger: int) -> None:
    for words in (["source", "list"], ["search", "owls"], ["read", "https://site.example/"]):
        said = alone(*words)
        assert (said.status, said.out, said.err) == (FAILED, "", NOT_RUNNING)
    assert Stranger.received == ""


ODD = {
    "nothing": b"",
    "a page": b"<html>Sign in</html>",
    "a list": b"[]",
    "no object": b'"ok"',
    "another JSON": b'{"sources": [{"id": 1}]}',
    "an Almanac of before": b'{"status": "ok", "parts": {}, "version": "0.1"}',
    "another Almanac": json.dumps({"status": "ok", "proof": "0" * 64}).encode(),
    "a proof of odd characters": b'{"proof": "\\ud800"}',
    "a proof that is none": b'{"proof": {"a": 1}}',
    "endless brackets": b"[" * 100_000,
    "no text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("odd", ODD)
def test_who_listens_in_its_place_is_not_sent_the_token(
    alone: Any, home: Path, stranger: int, runs_here: RunsHere, odd: str
) -> None:
    runs_here(home, stranger)
    Stranger.body = ODD[odd]
    said = alone("source", "list")
    assert (said.status, said.out, said.err.count("\n")) == (FAILED, "", 1)
    assert f"127.0.0.1:{stranger}" in said.err
    assert "almanac down" in said.err
    assert "Error" not in said.err
    assert "GET /health" in Stranger.received
    assert TOKEN not in Stranger.received


def test_a_stack_whose_library_does_not_answer_yet_is_starting(
    alone: Any, home: Path, runs_here: RunsHere
) -> None:
    (home / "token").write_text(TOKEN)
    runs_here(home, 1)  # where nothing listens
    assert alone("source", "list").err == STARTING
    runs_here(home)  # PostgreSQL comes first
    said = alone("source", "list", "--json")
    assert (said.status, said.err) == (FAILED, STARTING)
    assert json.loads(said.out)["error"]["code"] == "starting"


def test_an_api_on_another_port_than_the_settings_say_is_named(
    alone: Any, home: Path, stranger: int, runs_here: RunsHere
) -> None:
    runs_here(home, 8420)
    said = alone("source", "list")
    assert (said.status, said.err.count("\n")) == (FAILED, 1)
    assert "8420" in said.err
    assert "ALMANAC_API_PORT" in said.err
    assert Stranger.received == ""
