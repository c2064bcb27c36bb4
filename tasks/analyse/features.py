"""What the content type is told by: an article's wording, title, address, shape and metadata, as numbers.

Each feature is named by a phrase that ends "it was judged so because of …", and lies between 0 and 1. What
wording, title and address are searched for stands in ``cues.toml``.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from models.analysis import Article
from models.blocks import BlockKind
from models.states import SourceKind
from tasks.analyse.sentences import paragraphs, straight, words

LOOKED_AT = 3_000  # characters of the text: what kind it is shows at the beginning
STANDS_FOR = {
    "{month}": "(?:january|february|march|april|may|june|july|august|september|october|november|december)",
    "{day}": "(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)",
    "{clock}": r"(?:\d{1,2}[:.]\d{2}|\d{1,2} ?[ap]m|midnight|noon)",
}
EMBEDDING = "what it is about and how it is told"
SIGNS = re.compile(r"[(){}_/=<>.]|\b[a-z]+[A-Z]|\d\.\d")
OFTEN = 0.1  # of the words: no more is told apart

Patterns = Mapping[str, re.Pattern[str]]


@cache
def cues(part: str) -> Patterns:
    """The patterns of ``wording`` (whole words), ``title`` or ``address`` by the features' names."""
    told = tomllib.loads((files("tasks.analyse") / "cues.toml").read_text())[part]
    return {name: compiled(alternatives, part == "wording") for name, alternatives in told.items()}


def compiled(alternatives: list[str], whole_words: bool) -> re.Pattern[str]:
    pattern = "|".join(alternatives)
    for name, meaning in STANDS_FOR.items():
        pattern = pattern.replace(name, meaning)
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])" if whole_words else pattern)


def features(article: Article, plain: bool = False) -> dict[str, float]:
    """The features by name; ``plain`` leaves out what only English has."""
    found = address(article.url) | shape(article) | metadata(article)
    return found if plain else found | wording(article) | title(article.title)


def wording(article: Article) -> dict[str, float]:
    text = " ".join(straight(" ".join(paragraphs(article))[:LOOKED_AT]).lower().split())
    count = max(1, len(words(text)))
    found = {name: min(1.0, (len(pattern.findall(text)) / count / OFTEN) ** 0.5)
             for name, pattern in cues("wording").items()}
    return found | {
        "figures": min(1.0, 5 * len(re.findall(r"\d+", text)) / count),
        "questions": min(1.0, text.count("?") / 3),
        "speech in quotes": min(1.0, text.count('"') / 6),
    }


def title(said: str) -> dict[str, float]:
    lower = straight(said).lower()
    found = {name: float(bool(pattern.search(lower))) for name, pattern in cues("title").items()}
    return found | {"signs in its title": float(bool(SIGNS.search(said)))}


def address(url: str) -> dict[str, float]:
    parts = urlsplit(url)
    said = f"//{parts.netloc}{parts.path}".lower()
    return {name: float(bool(pattern.search(said))) for name, pattern in cues("address").items()}


def shape(article: Article) -> dict[str, float]:
    def share(*kinds: BlockKind) -> float:
        return sum(len(it.text) for it in article.blocks if it.kind in kinds) / max(1, len(article.text))

    return {
        "tables and lists": share(BlockKind.TABLE, BlockKind.LIST_ITEM),
        "code": min(1.0, 2 * share(BlockKind.CODE)),
        "sections": min(1.0, sum(it.kind is BlockKind.HEADING for it in article.blocks) / 5),
    }


def metadata(article: Article) -> dict[str, float]:
    return {
        "a date of publication": float(article.published_at is not None),
        "an author": float(bool(article.author)),
        "a feed that brought it": float(article.kind is SourceKind.FEED),
        "documentation that it belongs to": float(article.kind is SourceKind.DOCUMENTATION),
    }
