"""The jail: hostile documents are parsed in child processes with limits, so that none can harm another."""

import asyncio
import json
import signal
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tasks.errors import NeedsBrowser, NeedsCredential, Permanent, StageError, Transient, Unsafe
from tasks.extract.child import Child, EndedError, TooLongError
from tasks.extract.pool import Pool
from tasks.extract.text import one_line

RAISED = {error.__name__: error for error in (Transient, Permanent, NeedsBrowser, NeedsCredential, Unsafe)}
ANSWER_BYTES = 16_000_000
LONGEST_REASON = 300


class Jail:
    """Implements ``ports.Parser`` over ``parsers``: a name to ``"module:function"``.

    A parser is ``function(body, **context) -> JSON object``. Each of the ``workers`` children reads one
    document at a time, and is replaced when a limit or a crash ends it. Thread-safe, and usable from any
    event loop; the children start when first needed, or by ``warm``.
    """

    def __init__(
        self, parsers: Mapping[str, str], workers: int = 2, *, memory_bytes: int = 1_500_000_000,
        cpu_seconds: int = 20, wall_seconds: float = 30.0, documents_per_child: int = 500,
    ) -> None:
        self._parsers = dict(parsers)
        self._workers = workers
        self._wall_seconds = wall_seconds
        self._overruns = {
            "memory": f"parsing needed more than {memory_bytes / 1e9:.1f} GB of memory",
            "cpu": f"parsing took more than {cpu_seconds} s of CPU",
            "wall": f"parsing took more than {wall_seconds:g} s",
            "answer": f"the parsed document is larger than {ANSWER_BYTES // 1_000_000} MB",
        }
        boot = {
            "parsers": self._parsers, "memory_bytes": memory_bytes, "cpu_seconds": cpu_seconds,
            "wall_seconds": wall_seconds, "answer_bytes": ANSWER_BYTES,
        }
        self._pool = Pool(boot, workers, documents_per_child)
        # Threads that last as long as the children they make (see Child), and documents that wait for a child
        # take no thread from others.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="jail")

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        """The parser's JSON object for one document.

        Raises what the parser raises (a StageError); Permanent for anything else that it raises, for a crash
        and at a limit; Transient when the child was killed from outside. A call that is cancelled lets the
        child finish, and its answer is dropped.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._parse, parser, body, context)

    def warm(self) -> None:
        """Start every child now, imports included."""
        started = [self._threads.submit(self._pool.take) for _ in range(self._workers)]
        for child in started:
            self._pool.give_back(child.result())

    def rest(self) -> None:
        """End the children that have nothing to do; they start again when needed."""
        self._pool.clear()

    def close(self) -> None:
        """End every child; documents still in hand fail as Transient."""
        self._pool.kill()
        self._threads.shutdown()
        self._pool.bury()

    def _parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        if parser not in self._parsers:
            raise ValueError(f"the jail has no parser named {parser!r}")
        request = json.dumps({"parser": parser, "context": dict(context)}).encode()
        with self._pool.child() as child:
            answer = self._ask(child, parser, request, body)
        match answer:
            case {"value": dict() as value}:
                return value
            case {"error": str() as name, "reason": str() as reason} if name in RAISED:
                raise RAISED[name](one_line(reason)[:LONGEST_REASON])
            case {"error": str(), "reason": str() as reason}:
                raise Permanent(f"the {parser} could not be parsed: {one_line(reason)[:LONGEST_REASON]}")
        raise Permanent(f"the {parser} could not be parsed: the parser gave no JSON object")

    def _ask(self, child: Child, parser: str, request: bytes, body: bytes) -> Any:
        """The child's answer, of which nothing is known but that it is JSON."""
        try:
            answer = json.loads(child.ask(request, body, seconds=self._wall_seconds))
        except TimeoutError as error:
            raise Permanent(self._overruns["wall"]) from error
        except TooLongError as error:
            raise Permanent(self._overruns["answer"]) from error
        except EndedError as error:
            raise self._fate(parser, error.status) from error
        except (ValueError, RecursionError) as error:
            raise Permanent(f"the {parser} could not be parsed: the parser gave no JSON") from error
        match answer:
            case {"limit": "memory" | "answer" as limit}:
                raise Permanent(self._overruns[limit])
        return answer

    def _fate(self, parser: str, status: int) -> StageError:
        """Why a child ended without an answer."""
        if self._pool.closed:
            return Transient("the parsers are being stopped")
        match -status:
            case signal.SIGXCPU:
                return Permanent(self._overruns["cpu"])
            case signal.SIGALRM:
                return Permanent(self._overruns["wall"])
            case signal.SIGKILL | signal.SIGTERM:
                return Transient("the parser was killed from outside, perhaps for want of memory")
            case signal.SIGABRT:
                return Permanent(
                    f"the {parser} could not be parsed: the parser gave up, as it does for want of memory")
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return Permanent(f"the {parser} could not be parsed: the parser crashed ({how})")
