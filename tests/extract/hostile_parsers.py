"""Parsers for the jail's tests: what hostile bytes could make a real one do. The children load them."""

import ctypes
import os
import time
from pathlib import Path
from typing import Any

from tasks import errors

ANSWERS = range(3, 16)  # descriptors, among them the pipe to the parent


def shout(body: bytes, **context: Any) -> dict[str, Any]:
    return {"text": body.decode().upper(), "context": context, "pid": os.getpid()}


def eat_memory(body: bytes) -> dict[str, Any]:
    eaten = []
    while True:
        eaten.append(bytearray(10_000_000))


def loop(body: bytes) -> dict[str, Any]:
    while True:
        pass


def work(body: bytes, seconds: float) -> dict[str, Any]:
    ends = time.process_time() + seconds
    while time.process_time() < ends:
        pass
    return {}


def sleep(body: bytes) -> dict[str, Any]:
    time.sleep(600)
    return {}


def leave(body: bytes) -> dict[str, Any]:
    os._exit(3)


def fault(body: bytes) -> dict[str, Any]:
    return {"read": ctypes.string_at(0)}


def be_killed(body: bytes) -> dict[str, Any]:
    os.kill(os.getpid(), 9)
    return {}


def make_noise(body: bytes) -> dict[str, Any]:
    print("x" * 100_000)
    os.write(1, b"\0\0\0\2{}")
    return {"stdin": os.read(0, 100).decode()}


def answer_hugely(body: bytes) -> dict[str, Any]:
    return {"text": "x" * 20_000_000}


def answer_a_list(body: bytes) -> Any:
    return ["no object"]


def answer_no_json(body: bytes) -> dict[str, Any]:
    return {"date": object()}


def forge(body: bytes) -> dict[str, Any]:
    """Write raw bytes where the answer goes, and never return."""
    for descriptor in ANSWERS:
        try:
            os.write(descriptor, body)
        except OSError:
            continue
    time.sleep(600)
    return {}


def refuse(body: bytes, error: str) -> dict[str, Any]:
    raise getattr(errors, error)("because\nof the page")


def fail(body: bytes) -> dict[str, Any]:
    raise LookupError("no such\nthing")


def look_around(body: bytes) -> dict[str, Any]:
    return {"environment": dict(os.environ), "folder": os.getcwd()}


def write_a_file(body: bytes, path: str) -> dict[str, Any]:
    return {"written": Path(path).write_bytes(body)}


def open_many_files(body: bytes) -> dict[str, Any]:
    return {"opened": len([open(os.devnull, "rb") for _ in range(1000)])}
