"""An embedder behind an OpenAI-compatible server that the owner has named: TEI, vLLM, Ollama."""

import json
import re
from collections.abc import Sequence
from typing import Any

import httpcore
import numpy as np

from tasks.errors import NeedsCredential, Permanent, StageError, Transient
from tasks.ports import Vectors

BATCH = 32  # texts in a request
GOOD = 200
PASSING = {404, 408, 409, 425, 429}  # statuses, beside 5xx, of what may be well again soon: it may be loading
PIECE = re.compile(r"\w+|[^\w\s]")
BYTES_PER_TOKEN = 4  # of a word, at most as many as models take: servers do not tell how they count
UNREADABLE = "the embeddings server does not answer as OpenAI-compatible ones do: see ALMANAC_EMBEDDINGS_URL"


class ServedModel:
    """Implements ports.Embedder over ``POST {url}/embeddings``. No redirects, proxies or cookies.

    Thread-safe. ``window`` is how many tokens the model reads, by an estimate that is rather too high.
    """

    def __init__(self, url: str, model: str, key: str | None = None, window: int = 512,
                 dimensions: int | None = None, seconds: float = 60.0) -> None:
        """Ask for the size of its vectors unless it is known. Raises Transient when the server is away."""
        self.name = model
        self.window = window
        self._url = f"{url}/embeddings"
        self._headers = [("Content-Type", "application/json"), ("Accept", "application/json")]
        self._headers += [("Authorization", f"Bearer {key}")] if key else []
        self._timeouts = {"connect": 5.0, "read": seconds, "write": seconds, "pool": seconds}
        self._pool = httpcore.ConnectionPool(max_connections=8)
        self.dimensions = dimensions or len(self._ask(["How long is a vector?"])[0])

    def count(self, texts: Sequence[str]) -> list[int]:
        return [sum(-(-len(piece.encode()) // BYTES_PER_TOKEN) for piece in PIECE.findall(text))
                for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for i in range(0, len(texts), BATCH):
            rows = self._ask(texts[i : i + BATCH])
            if any(len(row) != self.dimensions for row in rows):
                raise Permanent(f"{self.name} gives vectors of {len(rows[0])} dimensions and gave "
                                f"{self.dimensions} before: is it another model?")
            vectors[i : i + BATCH] = rows
        return unit(vectors)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])

    def close(self) -> None:
        self._pool.close()

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        wanted = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        try:
            answer = self._pool.request("POST", self._url, headers=self._headers,
                                        content=json.dumps(wanted).encode(),
                                        extensions={"timeout": self._timeouts})
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
            reason = str(error) or type(error).__name__
            raise Transient(f"the embeddings server does not answer ({reason}): "
                            "see ALMANAC_EMBEDDINGS_URL") from error
        if answer.status != GOOD:
            raise refusal(answer.status)
        return rows_of(answer.content, len(texts))


def refusal(status: int) -> StageError:
    """What a status other than 200 means; what the server says of it is not repeated."""
    if status in {401, 403}:
        return NeedsCredential(f"the embeddings server refuses the key (HTTP {status}): "
                               "see ALMANAC_EMBEDDINGS_KEY")
    if status >= 500 or status in PASSING:
        return Transient(f"the embeddings server is busy or not well (HTTP {status}), or has no such model: "
                         "see ALMANAC_EMBEDDINGS_MODEL")
    return Permanent(f"the embeddings server refuses the texts (HTTP {status}): is ALMANAC_EMBEDDINGS_WINDOW "
                     "more than the model reads?")


def rows_of(body: bytes, expected: int) -> list[list[float]]:
    """The vectors of an answer, in the order of the question. Raises Permanent where it is none."""
    try:
        data: list[Any] = sorted(json.loads(body)["data"], key=lambda row: row["index"])
        rows = [[float(number) for number in row["embedding"]] for row in data]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise Permanent(UNREADABLE) from error
    if len(rows) != expected or not all(rows):
        raise Permanent(UNREADABLE)
    return rows


def unit(vectors: Vectors) -> Vectors:
    """The vectors at length 1. Raises Permanent for what has no direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise Permanent("the embeddings server gives vectors that are no numbers, or without a direction")
    united: Vectors = vectors / lengths
    return united
