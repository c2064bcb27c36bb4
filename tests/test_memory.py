"""Reading goes on for months in one process: what it needs does not grow with what it has read."""

import gc
import os
import random

import psutil

from models.blocks import Block
from tasks.chunk import cut
from tasks.extract.page import parse

ARTICLES = int(os.environ.get("ALMANAC_MEMORY_ARTICLES", "600"))
WARM = ARTICLES // 3
WORDS = ["harbour", "tide", "council", "ledger", "owl", "engine", "valley", "glass", "winter", "bridge"]


def article(number: int) -> bytes:
    """Distinct in its words, its attributes and its links, as caches would have them."""
    chance = random.Random(number)
    text = "".join(
        f"<h2 id='{number}-{part}'>{chance.choice(WORDS)} {number}</h2><p class='c{number}'>"
        f"{' '.join(chance.choices(WORDS, k=80))} <a href='/{number}/{part}'>{number}</a>.</p>"
        for part in range(6))
    return (f"<!doctype html><html lang='en'><head><title>Report {number}</title></head><body><main><article>"
            f"<h1>Report {number}</h1>{text}</article></main></body></html>").encode()


def count(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def read(number: int) -> None:
    found = parse(article(number), f"https://reports.example/{number}", "text/html", None)
    assert cut(found["title"], [Block.from_json(block) for block in found["blocks"]], count, 256)


def resident() -> int:
    gc.collect()
    return psutil.Process().memory_info().rss


def test_memory_is_flat_over_many_articles() -> None:
    for number in range(WARM):
        read(number)
    before = resident()
    for number in range(WARM, ARTICLES):
        read(number)
    assert resident() < 1.1 * before
