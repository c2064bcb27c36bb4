"""``make bench-extraction CORPUS=folder``: the text of articles beside what the bare libraries find, in one run.

The folder is scrapinghub's article extraction benchmark: ``ground-truth.json`` and ``html/ID.html.gz``. F1 is
of 4-word shingles, as multisets: precision and recall a page, their means over the pages, F1 of the means.
It is said for the pages at odd and at even places too: rules were made on the odd ones. Below it stands what
is kept of the structure of our own pages (tests/extract/pages): the share of their blocks, text and kind.
"""

import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import trafilatura
from lxml import html
from readability import Document

from models.blocks import Block, BlockKind, text_of
from tasks.extract.blocks import blocks_of
from tasks.extract.charset import decode
from tasks.extract.markup import read
from tasks.extract.page import article

PAGES = Path(__file__).parents[1] / "tests/extract/pages"
WORD = re.compile(r"\w+")
Text = Callable[[bytes, str], str]


def ours(body: bytes, url: str) -> str:
    return text_of(article(read(decode(body, None)), url)[1])


def trafilatura_default(body: bytes, url: str) -> str:
    return trafilatura.extract(body, include_comments=False) or ""


def trafilatura_precision(body: bytes, url: str) -> str:
    return trafilatura.extract(body, include_comments=False, favor_precision=True) or ""


def readability(body: bytes, url: str) -> str:
    tree = html.fromstring(Document(decode(body, None)).summary(html_partial=True))
    return " ".join(tree.itertext())


EXTRACTORS: dict[str, Text] = {
    "almanac": ours, "trafilatura, precision": trafilatura_precision, "trafilatura, default": trafilatura_default,
    "readability-lxml": readability,
}


def shingles(text: str) -> Counter[tuple[str, ...]]:
    words = WORD.findall(text)
    return Counter(tuple(words[at:at + 4]) for at in range(max(1, len(words) - 3))) if words else Counter()


def agreement(true: str, found: str) -> tuple[float, float]:
    """Precision and recall of one page."""
    wanted, got = shingles(true), shingles(found)
    right = (wanted & got).total()
    if not wanted and not got:
        return 1.0, 1.0
    return right / max(1, got.total()), right / max(1, wanted.total())


def f1(scores: Iterable[tuple[float, float]]) -> float:
    precision, recall = (sum(each) / len(each) for each in zip(*scores, strict=True))
    return 2 * precision * recall / (precision + recall)


def compare(corpus: Path) -> None:
    truth = json.loads((corpus / "ground-truth.json").read_text(encoding="utf-8"))
    bodies = {name: gzip.decompress((corpus / "html" / f"{name}.html.gz").read_bytes()) for name in sorted(truth)}
    print(f"{len(bodies)} articles{'F1':>22}{'odd':>9}{'even':>9}{'s a page':>11}")
    for name, extract in EXTRACTORS.items():
        started = time.perf_counter()
        scores = [agreement(truth[page]["articleBody"], extract(body, truth[page]["url"]))
                  for page, body in bodies.items()]
        seconds = (time.perf_counter() - started) / len(bodies)
        print(f"{name:<28}{f1(scores):>8.4f}{f1(scores[1::2]):>9.4f}{f1(scores[::2]):>9.4f}{seconds:>11.3f}")


def lines_of(blocks: Iterable[Block]) -> Counter[str]:
    """A block a line, as the outlines beside our pages have it."""
    marks: dict[BlockKind, Callable[[Block], str]] = {
        BlockKind.HEADING: lambda block: "#" * block.level, BlockKind.PARAGRAPH: lambda block: "p",
        BlockKind.LIST_ITEM: lambda block: "  " * (block.level - 1) + ("1." if block.ordered else "-"),
        BlockKind.QUOTE: lambda block: ">", BlockKind.CODE: lambda block: "```",
        BlockKind.TABLE: lambda block: f"table/{block.header_rows}",
    }
    return Counter(f"{marks[block.kind](block)} {block.text}".replace("\n", "\\n") for block in blocks)


def structure() -> None:
    """Kept blocks of our pages; trafilatura's trees are read as ours are."""
    kept: Counter[str] = Counter()
    wanted = 0
    for outline in PAGES.glob("*.outline"):
        expected = Counter(outline.read_text(encoding="utf-8").splitlines())
        body = outline.with_suffix(".html").read_bytes()
        wanted += expected.total()
        found = {"almanac": lines_of(article(read(decode(body, None)), "https://a.example/")[1])}
        for name, precise in (("trafilatura, precision", True), ("trafilatura, default", False)):
            bare = trafilatura.bare_extraction(body, include_comments=False, favor_precision=precise)
            found[name] = lines_of(blocks_of(bare.body) if bare else ())
        kept.update({name: (lines & expected).total() for name, lines in found.items()})
    print(f"\nblocks kept of {wanted}, of our own pages")
    for name, count in kept.items():
        print(f"{name:<28}{count / wanted:>8.0%}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "ground-truth.json").is_file():
        sys.exit("say where the articles are: make bench-extraction CORPUS=folder, with ground-truth.json in it")
    compare(Path(sys.argv[1]))
    structure()
