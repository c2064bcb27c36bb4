"""A language model behind an OpenAI-compatible server, which the owner has named in a setting."""

import asyncio
import json
from typing import Any

import httpcore

from tasks.errors import NeedsCredential, Permanent, StageError, Transient
from tasks.web.background import Background
from tasks.web.client import default_tls
from tasks.web.failures import NETWORK

MAX_BYTES = 1_000_000  # of an answer
CONNECT = 5.0  # seconds
IN_FLIGHT = 8
GOOD = 200
PASSING = {408, 409, 425, 429}  # statuses, beside 5xx, of what may be well again soon
UNREADABLE = "the model server does not answer as an OpenAI-compatible one does: see ALMANAC_LLM_URL"


class ModelServer:
    """Implements ports.Model over ``POST {url}/chat/completions``. No redirects, proxies or cookies.

    ``seconds`` is for the whole of an answer, however it comes.
    """

    def __init__(self, url: str, model: str, key: str | None = None, seconds: float = 60.0) -> None:
        self.name = model
        self._url, self._seconds = f"{url}/chat/completions", seconds
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._headers |= {"Authorization": f"Bearer {key}"} if key else {}
        self._pool = httpcore.AsyncConnectionPool(ssl_context=default_tls(), max_connections=IN_FLIGHT)
        self._background = Background("almanac-model", finish=self._pool.aclose)

    def write(self, instructions: str, material: str, as_json: bool = False) -> str:
        wanted: dict[str, Any] = {
            "model": self.name, "temperature": 0, "stream": False,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": material}],
        }
        wanted |= {"response_format": {"type": "json_object"}} if as_json else {}
        status, body = self._background.wait_for(self._ask(json.dumps(wanted).encode()))
        if status != GOOD:
            raise refusal(status)
        return written(body)

    async def _ask(self, content: bytes) -> tuple[int, bytes]:
        """Status and body; the body is read only where the status is good."""
        try:
            async with asyncio.timeout(self._seconds), self._pool.stream(
                    "POST", self._url, headers=self._headers, content=content,
                    extensions={"timeout": {"connect": CONNECT}}) as response:
                body = b""
                async for piece in response.aiter_stream():
                    body += piece
                    if len(body) > MAX_BYTES:
                        raise Permanent(f"the model's answer is longer than {MAX_BYTES:,} bytes")
                    if response.status != GOOD:
                        break
                return response.status, body
        except TimeoutError as error:
            raise Transient(f"the model did not answer within {self._seconds:g} seconds") from error
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise Transient("the model server cannot be reached: see ALMANAC_LLM_URL") from error
        except NETWORK as error:
            raise Transient("the model server broke off its answer") from error

    def close(self) -> None:
        """End what is under way, and the thread."""
        self._background.close()


def refusal(status: int) -> StageError:
    """What a status other than 200 means; what the server says of it is not repeated."""
    if status in {401, 403}:
        return NeedsCredential(f"the model server refuses the key (HTTP {status}): see ALMANAC_LLM_KEY")
    if status >= 500 or status in PASSING:
        return Transient(f"the model server is busy or not well (HTTP {status})")
    return Permanent(f"the model server refuses (HTTP {status}): see ALMANAC_LLM_URL and ALMANAC_LLM_MODEL")


def written(body: bytes) -> str:
    """The text of a chat completion. Raises Permanent where there is none."""
    try:
        text = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise Permanent(UNREADABLE) from error
    if not isinstance(text, str):
        raise Permanent(UNREADABLE)
    if not (storable := text.replace("\0", "").encode(errors="ignore").decode().strip()):
        raise Permanent("the model answered with nothing")
    return storable
