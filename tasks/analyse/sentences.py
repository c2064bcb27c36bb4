"""Sentences and words of running text, in whatever language."""

import re
from collections.abc import Iterator

from models.analysis import Article
from models.blocks import BlockKind

LOOKED_AT = 40_000  # characters: some 7,000 words
LONGEST_ABBREVIATION = 8  # characters
RUNNING = {BlockKind.PARAGRAPH, BlockKind.QUOTE, BlockKind.LIST_ITEM}
QUOTES = str.maketrans({"\N{RIGHT SINGLE QUOTATION MARK}": "'", "\N{LEFT SINGLE QUOTATION MARK}": "'",
                        "\N{LEFT DOUBLE QUOTATION MARK}": '"', "\N{RIGHT DOUBLE QUOTATION MARK}": '"'})
END = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'»)\u2019\u201d])\s+|(?<=[\u3002\uff01\uff1f])")
GOES_ON = re.compile(r"\b(?:[A-Z]|Mrs?|Ms|Dr|St|No|vs|ca|Nr|e\.g|i\.e)\.$")  # an initial, an abbreviation
WORD = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")  # Thai, Lao, Japanese, Chinese


def straight(text: str) -> str:
    """The text with the quotes and apostrophes of a typewriter."""
    return text.translate(QUOTES)


def paragraphs(article: Article) -> list[str]:
    """The running text, not without end: no headings, code or tables, unless there is nothing else."""
    found: list[str] = []
    room = LOOKED_AT
    for block in article.blocks:
        if block.kind in RUNNING and room > 0:
            found.append(block.text[:room])
            room -= len(block.text)
    return found or [article.text[:LOOKED_AT]]


def sentences(article: Article) -> Iterator[str]:
    """The sentences, their white space evened out."""
    for paragraph in paragraphs(article):
        begun: list[str] = []
        for part in END.split(paragraph):
            begun += part.split()
            if begun and not GOES_ON.search(part[-LONGEST_ABBREVIATION:]):
                yield " ".join(begun)
                begun = []
        if begun:
            yield " ".join(begun)


def words(text: str) -> list[str]:
    """The words in lower case; where a script has no spaces, each of its characters is one."""
    if UNSPACED.search(text):
        text = UNSPACED.sub(r" \g<0> ", text)
    return [word.lower() for word in WORD.findall(straight(text))]
