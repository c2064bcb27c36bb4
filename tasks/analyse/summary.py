"""An extractive summary: the sentences that are most like the others (LexRank, Erkan and Radev 2004).

Alike means cosine of TF-IDF vectors: on these texts an embedding of each sentence would cost as much as
indexing the article.
"""

import numpy as np
from numpy.typing import NDArray

from models.analysis import Article
from tasks.analyse.sentences import sentences, words

SENTENCES = 3
CHARACTERS = 400
LOOKED_AT = 60  # sentences from the beginning: what comes later is seldom what an article is about
SHORTEST = 25  # characters of a sentence that says something
LONGEST = 300
LEAD = 0.5  # how much more the first sentence counts than one far below
DAMPING = 0.85
ROUNDS = 30


def summary(article: Article) -> str:
    """Up to three sentences in the order of the text; the beginning where there are no sentences."""
    found = list(dict.fromkeys(sentences(article)))
    usable = [it for it in found if SHORTEST <= len(it) <= LONGEST][:LOOKED_AT]
    if not usable:
        return shortened(" ".join(found))
    order = np.argsort(-centrality(usable) * lead(len(usable)), kind="stable")
    chosen: list[int] = []
    for i in order:
        room = CHARACTERS - sum(len(usable[j]) + 1 for j in chosen)
        if len(chosen) < SENTENCES and len(usable[i]) <= room:
            chosen.append(int(i))
    return " ".join(usable[i] for i in sorted(chosen))


def lead(count: int) -> NDArray[np.float64]:
    return 1 + LEAD / (1 + np.arange(count))


def centrality(texts: list[str]) -> NDArray[np.float64]:
    """How central each sentence is: the rank of a random walk that prefers alike sentences."""
    counted = [words(text) for text in texts]
    places = {word: i for i, word in enumerate(sorted({word for said in counted for word in said}))}
    counts = np.zeros((len(texts), len(places)))
    for row, said in enumerate(counted):
        np.add.at(counts[row], [places[word] for word in said], 1)
    weighted = counts * np.log(1 + len(texts) / np.maximum(1, (counts > 0).sum(0)))
    lengths = np.linalg.norm(weighted, axis=1, keepdims=True)
    unit = weighted / np.where(lengths == 0, 1, lengths)
    alike = unit @ unit.T + 1e-9
    steps = alike / alike.sum(1, keepdims=True)
    rank = np.full(len(texts), 1 / len(texts))
    for _ in range(ROUNDS):
        rank = (1 - DAMPING) / len(texts) + DAMPING * rank @ steps
    return rank


def shortened(text: str) -> str:
    return text if len(text) <= CHARACTERS else text[: CHARACTERS - 1].rsplit(" ", 1)[0] + "…"
