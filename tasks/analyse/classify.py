"""The content type by linear weights (multinomial logistic regression), learned from a labelled set.

``weights.json`` is made by ``benchmarks/analysis.py --weights`` and holds three models: with the embedding,
for the embedder that it was learned with; of named features alone, for another; and of those that need no
English.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.states import ContentType
from tasks.analyse.features import EMBEDDING
from tasks.ports import Vectors

REASONS = 3
TELLING = 0.1  # in logits: a reason that weighs less is none

Weights = NDArray[np.float64]  # a row per feature, a column per content type


@dataclass(frozen=True, slots=True)
class Verdict:
    """A content type, how sure, and what spoke for it, the strongest first."""

    content_type: ContentType
    confidence: float
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of named features, and of an embedding's dimensions where they are part of it."""

    intercept: Weights
    features: Mapping[str, Weights]
    embedding: Weights | None

    def judge(self, found: Mapping[str, float], vector: Vectors | None) -> Verdict:
        parts = {name: weights * found[name] for name, weights in self.features.items() if found.get(name)}
        if self.embedding is not None and vector is not None:
            parts[EMBEDDING] = vector @ self.embedding
        logits = self.intercept + sum(parts.values(), np.zeros(len(ContentType)))
        chances = np.exp(logits - logits.max())
        chances /= chances.sum()
        best = int(chances.argmax())
        spoke = {name: float(part[best] - part.mean()) for name, part in parts.items()}
        reasons = sorted((name for name in spoke if spoke[name] > TELLING), key=lambda name: -spoke[name])
        return Verdict(list(ContentType)[best], round(float(chances[best]), 3), reasons[:REASONS])


@cache
def shipped() -> dict[str, Any]:
    told: dict[str, Any] = json.loads((files("tasks.analyse") / "weights.json").read_text())
    return told


@cache
def model(name: str) -> Model:
    """The shipped model ``embedding``, ``wording`` or ``plain``."""
    told = shipped()["models"][name]
    rows = {feature: np.array(weights) for feature, weights in told["features"].items()}
    embedding = told.get("embedding")
    return Model(np.array(told["intercept"]), rows, None if embedding is None else np.array(embedding))


def chosen(embedder: str, language: str | None) -> str:
    """The name of the model for texts of this language, embedded by this embedder."""
    if language not in {None, "en"}:
        return "plain"
    return "embedding" if embedder == shipped()["embedder"] else "wording"
