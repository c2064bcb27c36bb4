"""Topics and the category: the topics whose descriptions an article's beginning is nearest to."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np

from tasks.ports import Embedder, Vectors

MOST = 3
MARGIN = 0.06  # below the nearest: similarities are low for all topics, so only their order says something


@cache
def categories() -> Mapping[str, Mapping[str, str]]:
    """The topics of each category, with what they are about."""
    return tomllib.loads((files("tasks.analyse") / "topics.toml").read_text())


@cache
def category_of() -> Mapping[str, str]:
    return {topic: category for category, topics in categories().items() for topic in topics}


class Topics:
    """The topics as an embedder places them."""

    def __init__(self, embedder: Embedder) -> None:
        described = {topic: text for topics in categories().values() for topic, text in topics.items()}
        self._names = list(described)
        self._places = embedder.embed(list(described.values()))

    def of(self, vector: Vectors) -> tuple[list[str], str]:
        """The topics of what has this vector, the nearest first, and the category of the nearest."""
        nearness = self._places @ vector
        order = np.argsort(-nearness)[:MOST]
        topics = [self._names[i] for i in order if nearness[i] >= nearness[order[0]] - MARGIN]
        return topics, category_of()[topics[0]]
