"""The inside of the jail: a process that reads hostile documents and can harm nothing but itself.

Run as a script by ``tasks.extract.jail``, with an empty environment. The first frame from its parent says
where modules are found, which parsers to load and which limits to keep; each document after it is a frame
of JSON and a frame of bytes, and each answer one frame of JSON. It ends when its parent does.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from math import ceil
from typing import Any, BinaryIO

Function = Callable[..., dict[str, Any]]
FRAME = 4  # bytes that say a frame's length, most significant first
OPEN_FILES = 64
PR_SET_PDEATHSIG = 1  # prctl(2)


def main() -> None:
    requests, answers = _take_pipes()
    boot = json.loads(_read(requests))
    _die_with(boot["parent"])
    sys.path[:] = boot["path"]
    try:
        parsers = {name: _load(entry) for name, entry in boot["parsers"].items()}
    except Exception as error:
        _write(answers, json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
        raise SystemExit(1) from error
    _limit(boot["memory_bytes"])  # our own modules are loaded, and nothing hostile is here yet
    _write(answers, json.dumps({"ready": True}).encode())
    while header := _read(requests):
        request = json.loads(header)
        _write(answers, _answer(parsers[request["parser"]], _read(requests), request["context"], boot))


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The parent's pipes, moved away from where a parser that prints or reads would find them."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return requests, answers


def _die_with(parent: int) -> None:
    """End at once when the parent is killed, even in the middle of a document."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)


def _limit(memory_bytes: int) -> None:
    if sys.platform != "darwin":  # which refuses it
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _load(entry: str) -> Function:
    """The parser, and what its module prepares while there are no limits yet."""
    name, _, function = entry.partition(":")
    module = import_module(name)
    getattr(module, "prepare", lambda: None)()
    loaded: Function = getattr(module, function)
    return loaded


def _answer(parse: Function, body: bytes, context: Mapping[str, Any], boot: Mapping[str, Any]) -> bytes:
    """The frame that answers one document; a limit that kills this process leaves none."""
    from tasks.errors import StageError  # found only once the parent has said where modules are

    _start_clocks(boot["cpu_seconds"], boot["wall_seconds"])
    try:
        value = parse(body, **context)
        answer = json.dumps({"value": value}, ensure_ascii=False, allow_nan=False).encode()
    except StageError as error:
        answer = _failure({"error": type(error).__name__, "reason": error.reason})
    except MemoryError:
        answer = _failure({"limit": "memory"})
    except Exception as error:
        answer = _failure({"error": "Exception", "reason": f"{type(error).__name__}: {error}"})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return answer if len(answer) <= boot["answer_bytes"] else _failure({"limit": "answer"})


def _failure(answer: Mapping[str, str]) -> bytes:
    return json.dumps(answer).encode()


def _start_clocks(cpu_seconds: int, wall_seconds: float) -> None:
    """Budgets for one document; what overruns one is killed by SIGXCPU or SIGALRM."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    budget = ceil(used.ru_utime + used.ru_stime) + cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (budget, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)


def _read(pipe: BinaryIO) -> bytes:
    """The next frame, empty at the end of the parent."""
    return pipe.read(int.from_bytes(pipe.read(FRAME), "big"))


def _write(pipe: BinaryIO, frame: bytes) -> None:
    pipe.write(len(frame).to_bytes(FRAME, "big") + frame)
    pipe.flush()


if __name__ == "__main__":
    main()
