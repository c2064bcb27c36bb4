"""A configured model server that speaks OpenAI's chat completions: Ollama, vLLM, llama.cpp, OpenAI itself.

After a failure it is left alone, for longer each time, whoever asks. What it says in an error is not
repeated: some servers send the key back.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from random import uniform
from threading import Lock
from time import monotonic
from typing import Any

import httpx

from tasks.errors import NeedsCredential, Permanent, Postponed, StageError, Transient
from tasks.ports import ToolCall, Turn

MAX_BYTES = 1_000_000  # of an answer
THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)  # aloud, before the answer
FIRST_PAUSE = 15.0  # seconds after the first failure; doubled at each further one
LONGEST_PAUSE = 900.0
JITTER = (0.8, 1.2)
LONGEST_ASKED = 86_400.0  # of the pauses that a server asks for
REFUSED = {401, 403}
NOT_THERE = {404, 405, 410, 501}
WILL_NOT = {400, 413, 422, 451}


class ModelServer:
    """A LanguageModel at ``url``, which ends in ``/v1`` as a rule. Thread-safe; called from no event loop."""

    def __init__(self, url: str, model: str, key: str | None = None, seconds: float = 120.0) -> None:
        self.name = model
        self._address = f"{url.rstrip('/')}/chat/completions"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._seconds = seconds  # for one whole answer
        self._takes_schema = True
        self._lock = Lock()
        self._failures, self._asleep_until, self._reason = 0, 0.0, ""

    def complete(self, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None = None) -> str:
        with self._turn():
            return self._complete(messages, schema if self._takes_schema else None)

    def converse(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Turn:
        listed = [{"type": "function", "function": tool} for tool in tools]
        with self._turn():
            return turn_of(asyncio.run(self._post(self._body(messages) | {"tools": listed})))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Not asked while it is left alone; a failure in it has it left alone."""
        self._await_turn()
        try:
            yield
        except (Transient, NeedsCredential) as error:
            self._pause(error)
            raise
        self._failures = 0

    def _body(self, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"model": self.name, "messages": list(messages), "temperature": 0}

    def _complete(self, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None) -> str:
        body = self._body(messages)
        wish = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        try:
            return text_of(asyncio.run(self._post(body | ({"response_format": wish} if schema else {}))))
        except Permanent:
            if not schema:
                raise
        answer = text_of(asyncio.run(self._post(body)))
        self._takes_schema = False  # it was the schema that it would not take
        return answer

    async def _post(self, body: Mapping[str, Any]) -> bytes:
        """The body of a good answer, in the time that a whole answer may take."""
        try:
            async with (
                asyncio.timeout(self._seconds),
                httpx.AsyncClient(timeout=self._seconds, trust_env=False, headers=self._headers) as client,
                client.stream("POST", self._address, json=body) as response,
            ):
                check(response)
                return await received(response)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise Transient(f"the model server did not answer within {self._seconds:g} seconds") from error
        except httpx.HTTPError as error:
            raise Transient(f"the model server cannot be reached ({type(error).__name__})") from error

    def _await_turn(self) -> None:
        with self._lock:
            left = self._asleep_until - monotonic()
        if left > 0:
            wait = timedelta(seconds=left)
            raise Postponed(f"{self._reason}; it is asked again in {left:.0f} seconds", wait)

    def _pause(self, error: StageError) -> None:
        asked = error.retry_after if isinstance(error, Transient) else None
        with self._lock:
            self._failures += 1
            seconds = min(FIRST_PAUSE * 2 ** min(self._failures - 1, 10), LONGEST_PAUSE)
            seconds *= uniform(*JITTER)  # noqa: S311 - so that processes do not come back all at once
            if asked:
                seconds = max(seconds, min(asked.total_seconds(), LONGEST_ASKED))
            self._asleep_until, self._reason = monotonic() + seconds, error.reason


def check(response: httpx.Response) -> None:
    """Raise what a status other than 200 comes to."""
    status = response.status_code
    if status == httpx.codes.OK:
        return
    if status in REFUSED:
        raise NeedsCredential(f"the model server refuses the key (HTTP {status}): check ALMANAC_LLM_KEY")
    if status in WILL_NOT:
        raise Permanent(f"the model server does not take this request (HTTP {status})")
    if status in NOT_THERE or response.is_redirect:
        raise Transient(f"the model server has no such model or path (HTTP {status}): check ALMANAC_LLM_URL "
                        "and ALMANAC_LLM_MODEL")
    wait = retry_after(response.headers.get("retry-after"))
    raise Transient(f"the model server is not well (HTTP {status})", wait)


async def received(response: httpx.Response) -> bytes:
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MAX_BYTES:
            raise Permanent("the model server's answer is too long")
    return body


def retry_after(said: str | None, now: datetime | None = None) -> timedelta | None:
    """The wait that a Retry-After header asks for (RFC 9110 §10.2.3); none for junk or the past."""
    try:
        wait = timedelta(seconds=int(said or ""))
    except (ValueError, OverflowError):
        try:
            wait = parsedate_to_datetime(said or "") - (now or datetime.now(UTC))
        except (ValueError, TypeError):
            return None
    return wait if wait > timedelta() else None


def text_of(answer: bytes) -> str:
    """The text in a chat completion. Raises Transient where there is none: this is no model server."""
    with spoken():
        return without_thoughts(json.loads(answer)["choices"][0]["message"]["content"])


def turn_of(answer: bytes) -> Turn:
    """The text and the calls of tools in a chat completion. Raises Transient."""
    with spoken():
        message = json.loads(answer)["choices"][0]["message"]
        calls = [ToolCall(str(call["id"]), str(call["function"]["name"]), str(call["function"]["arguments"]))
                 for call in message.get("tool_calls") or ()]
        return Turn(without_thoughts(message.get("content")), calls)


@contextmanager
def spoken() -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise Transient("what answers at ALMANAC_LLM_URL does not speak chat completions") from error


def without_thoughts(said: object) -> str:
    return THOUGHTS.sub("", said) if isinstance(said, str) else ""
