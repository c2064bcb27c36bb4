"""Asking a provider over OpenAI's chat completions, through the openai SDK and our own guarded network.

What a provider says in an error is not repeated: some send the key back.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models.headers import traceback_of
from tasks.errors import NeedsCredential, Permanent, StageError, Transient
from tasks.outside.model_server import retry_after

if TYPE_CHECKING:
    from openai import APIError, APIStatusError

log = logging.getLogger(__name__)

MOST_CHARACTERS = 20_000  # of an answer: the rest is not waited for
MOST_TOKENS = 10_000_000  # that a report is believed
USED_UP = {"429", "rate_limit_exceeded", "insufficient_quota", "resource_exhausted"}
NONSENSE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)


class Busy(Transient):
    """The provider says that a limit is reached (429)."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer as it came; ``tokens`` is what its provider reports, where it does."""

    text: str
    tokens: int | None = None
    whole: bool = True
    refused: bool = False


class Chat:
    """``transport`` makes an httpx2 transport, one for each call. Thread-safe; called from no event loop."""

    def __init__(self, transport: Callable[[], Any]) -> None:
        self._transport = transport

    def ask(
        self, url: str, key: str, model: str, messages: Sequence[Mapping[str, str]], seconds: float
    ) -> Said:
        """The answer, within so many seconds.

        Raises Busy (429), Transient (away, slow, broken off, not speaking the protocol), NeedsCredential (the
        key is refused), Permanent (it will not take this question or model), Unsafe (the address policy).
        """
        from openai import (  # 0.5 s and 29 MB, where it is used at all
            APIError,
            APIStatusError,
            APITimeoutError,
        )

        try:
            return asyncio.run(self._within(seconds, url, key, model, messages))
        except StageError:
            raise
        except (TimeoutError, APITimeoutError):
            raise Transient(f"it did not answer within {seconds:.0f} seconds") from None
        except APIStatusError as error:
            raise of_status(error) from None
        except APIError as error:
            raise of_error(error) from None
        except NONSENSE:
            raise Transient("what answers there does not speak chat completions") from None
        except Exception as error:  # a fault of ours, or of the SDK: told, and the next one is asked
            told = traceback_of(error, {"authorization": key})
            log.error("Asking %s failed\n%s", url, told)  # noqa: TRY400 - without the key
            raise Transient(f"asking it failed inside Almanac ({type(error).__name__})") from None

    async def _within(self, seconds: float, *asked: Any) -> Said:
        async with asyncio.timeout(seconds):
            return await self._ask(seconds, *asked)

    async def _ask(
        self, seconds: float, url: str, key: str, model: str, messages: Sequence[Any]
    ) -> Said:
        from httpx2 import AsyncClient
        from openai import AsyncOpenAI

        http = AsyncClient(transport=self._transport(), trust_env=False, follow_redirects=False)
        async with AsyncOpenAI(
            api_key=key, base_url=url, http_client=http, max_retries=0, timeout=seconds
        ) as client:
            stream = await client.chat.completions.create(
                model=model, messages=list(messages), stream=True, stream_options={"include_usage": True})
            async with stream:
                return await received(stream)


async def received(stream: Any) -> Said:
    """Raises Transient for an answer that ends in the middle, and what nonsense raises."""
    text, ended, tokens, refused = "", None, None, False
    async for chunk in stream:
        tokens = tokens_of(chunk) or tokens
        for choice in chunk.choices[:1]:
            text += choice.delta.content or ""
            refused = refused or bool(choice.delta.refusal)
            ended = choice.finish_reason or ended
        if len(text) > MOST_CHARACTERS:
            return Said(text[:MOST_CHARACTERS], tokens, whole=False)
        if ended and tokens:
            break  # whatever the server does with the connection now
    if ended is None:
        raise Transient("its answer broke off" if text else "what answers there does not stream completions")
    return Said(text, tokens, whole=ended != "length", refused=refused or ended == "content_filter")


def tokens_of(chunk: Any) -> int | None:
    used = chunk.usage.total_tokens if chunk.usage else None
    return used if isinstance(used, int) and 0 < used <= MOST_TOKENS else None


def of_status(error: "APIStatusError") -> StageError:
    """What a status other than 200 comes to."""
    status, wait = error.status_code, retry_after(error.response.headers.get("retry-after"))
    about_the_key = status in {401, 403} or (status == 400 and "api key" in str(error.body).lower())
    if about_the_key:  # Gemini says 400 of a key that is none
        return NeedsCredential(f"it refuses the key (HTTP {status})")
    if status == 429:
        return Busy("it says that a limit is reached (HTTP 429)", wait)
    if status == 404:
        return Permanent("it has no such model or address (HTTP 404)")
    if 300 <= status < 400:
        return Permanent(f"it sends elsewhere (HTTP {status}), and a key is not sent after")
    if status < 500 and status not in {408, 409, 425}:
        return Permanent(f"it does not take the question (HTTP {status})")
    return Transient(f"it is not well (HTTP {status})", wait)


def of_error(error: "APIError") -> StageError:
    """What an error without a status comes to: of the network, or in the middle of an answer."""
    said = error.body if isinstance(error.body, Mapping) else {}
    words = {str(said.get(name, "")).lower() for name in ("code", "type", "status")}
    if words & USED_UP:
        return Busy("it says that a limit is reached")
    return Transient("its answer broke off with an error" if said else "it cannot be reached, or broke off")
