"""Text that gives orders to a model instead of telling its reader something.

Each rule (orders.toml) finds one trait of such a passage and has a weight; a passage is at most three
sentences of a block, and weighs what the rules that it meets weigh together. 1 and more is an order. What a
text that is about such attacks quotes, or shows as code, weighs a third: a reader is shown it, nobody is told
to do it. A quotation alone excuses nothing.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from unicodedata import category, normalize

from models.blocks import Block, BlockKind

QUOTED = 0.3  # of the weight, where the text is about such passages
TOGETHER = 3  # sentences
LONGEST = 300  # characters of a passage that is told
NAMED = re.compile(r"%([A-Z]+)%")
FLAGS = re.VERBOSE | re.MULTILINE | re.DOTALL

ABOUT = re.compile(  # what a text on such attacks speaks of
    r"\b(?:prompt[ -]injections?|jailbreaks?|(?:large )?language models?|llms?|chat ?bots?|ai safety"
    r"|system prompts?|the model|prompts?|injections?|an? attacks?|attackers?|researchers?|agents?)\b")
CORE = re.compile(r"\b(?:prompt[ -]injections?|jailbreaks?|language models?|llms?|ai safety)\b")
SPACED = re.compile(r"\b(?:\w ){4,}\w\b")
QUOTATION = re.compile("|".join(rf"{start}[^{end}]{{3,400}}[{end}]" for start, end in (
    ('"', '"'), ("\u201c", "\u201d"), ("\u201e", "\u201c\u201d"), ("\u00ab", "\u00bb"))))
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
SHOWN = (BlockKind.QUOTE, BlockKind.CODE)


@cache
def rules() -> list[tuple[float, re.Pattern[str]]]:
    """Weights and patterns of ``orders.toml``."""
    stated = tomllib.loads((files("tasks.gates") / "orders.toml").read_text("utf-8"))
    names: dict[str, str] = {}
    for name, pattern in stated["names"].items():
        names[name] = filled(pattern, names)
    return [(rule["weight"], re.compile(filled(rule["pattern"], names), FLAGS))
            for rule in stated["rule"]]


def filled(pattern: str, names: Mapping[str, str]) -> str:
    return NAMED.sub(lambda found: names[found[1]].strip(), pattern)


class Order(NamedTuple):
    """A passage that gives orders, and how much: 1 and more is one beyond doubt."""

    weight: float
    passage: str


def orders(blocks: Sequence[Block]) -> Order:
    """The passage of the blocks that most gives orders to a model; of weight 0 where none does."""
    found = [(block, passage) for block in blocks for passage in suspicious(block.text)]
    factor = QUOTED if found and is_about(blocks) else 1.0
    weighed = [Order(round(weight_in(block, passage, factor), 2), passage[:LONGEST])
               for block, passage in found]
    return max(weighed, key=lambda order: order.weight, default=Order(0.0, ""))


def suspicious(text: str) -> Iterator[str]:
    """The passages of a text of which any rule says something; most texts have none."""
    sentences = [part for part in SENTENCE_END.split(text) if part.strip()]
    if not weigh(plain(sentences)):
        return
    for at in range(max(1, len(sentences) - TOGETHER + 1)):
        passage = sentences[at:at + TOGETHER]
        if weigh(plain(passage)):
            yield "\n".join(passage)


def weight_in(block: Block, passage: str, factor: float) -> float:
    """``factor`` is for what is only shown: by its kind of block, or in quotation marks."""
    said = plain(passage.split("\n"))
    if factor == 1 or block.kind in SHOWN:
        return weigh(said) * factor
    return max(weigh(QUOTATION.sub(" ", said)), weigh(said) * factor)


def weigh(passage: str) -> float:
    return sum(weight for weight, rule in rules() if rule.search(passage))


def is_about(blocks: Iterable[Block]) -> bool:
    """Whether what the text says itself, its quotations aside, is about models and attacks on them."""
    own = (block for block in blocks if block.kind not in SHOWN)
    said = [QUOTATION.sub(" ", plain([block.text])) for block in own]
    terms = [term for text in said for term in ABOUT.findall(text)]
    return len(set(terms)) >= 2 and any(map(CORE.search, said))


def plain(sentences: Iterable[str]) -> str:
    """As a model reads them, a line each: without what is invisible, and letters that stand apart joined."""
    text = normalize("NFKC", "\n".join(sentences))
    seen = "".join(mark for mark in text if mark.isascii() or category(mark) != "Cf")
    joined = SPACED.sub(lambda found: found[0].replace(" ", ""), seen)
    return "\n".join(" ".join(line.split()) for line in joined.lower().split("\n"))
