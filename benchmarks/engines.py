"""What an index offers for the questions of a collection: by exact products, or by the real one."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol
from uuid import UUID

import numpy as np
from judged import Collection
from scipy.sparse import csr_matrix

import tasks.index.words as wording
from models.tables import LIBRARY_SCOPE
from tasks import ports
from tasks.answer.fuse import Evidence
from tasks.ports import Entry, Vectors

DEPTH = 200  # passages that are offered by vector, and by words


class Engine(Protocol):
    def offers(self, question: int) -> list[Evidence]:
        """What is found for the question at this place; ids are places of passages and documents."""
        ...


def evidence(found: Collection, vector: Vectors, words: dict[int, float], near: Sequence[int]) -> list[Evidence]:
    offered = dict.fromkeys(chain(near, words))
    cosines = found.vectors[list(offered)] @ vector
    return [Evidence(UUID(int=i), UUID(int=int(found.document[i])), found.passages[i], found.vectors[i],
                     float(cosine), words.get(i, 0.0)) for i, cosine in zip(offered, cosines, strict=True)]


class Kept:
    """What another engine offered, for as long as only what is made of it changes."""

    def __init__(self, engine: Engine, questions: int) -> None:
        self.kept = [engine.offers(n) for n in range(questions)]

    def offers(self, question: int) -> list[Evidence]:
        return self.kept[question]


class Exact:
    """Exact products, with the IDF of Qdrant."""

    def __init__(self, found: Collection, questions: Sequence[str] = (), vectors: Vectors | None = None) -> None:
        """For its own questions, or for others with their vectors."""
        self.found = found
        self.vectors = found.question_vectors if vectors is None else vectors
        places: dict[int, int] = {}
        passages = matrix([wording.passage(text) for text in found.passages], places, learn=True)
        asked = matrix([wording.question(text) for text in questions or found.questions], places, learn=False)
        holding = np.bincount(passages.indices, minlength=len(places))
        idf = np.log1p((len(found.passages) - holding + 0.5) / (holding + 0.5))
        self.words = np.asarray((asked.multiply(idf).tocsr() @ passages.T).todense())
        self.cosines = self.vectors @ found.vectors.T

    def offers(self, question: int) -> list[Evidence]:
        near, said = (np.argsort(-scores[question], kind="stable")[:DEPTH] for scores in (self.cosines, self.words))
        words = {int(i): float(self.words[question, i]) for i in said if self.words[question, i] > 0}
        return evidence(self.found, self.vectors[question], words, near.tolist())


def matrix(vectors: Sequence[wording.Sparse], places: dict[int, int], learn: bool) -> csr_matrix:
    """A row for each vector; terms have their places, new ones get one if they are to be learnt."""
    entries = [(row, term, value) for row, vector in enumerate(vectors)
               for term, value in zip(*vector, strict=True) if learn or term in places]
    rows, columns, values = [], [], []
    for row, term, value in entries:
        rows.append(row)
        columns.append(places.setdefault(term, len(places)))
        values.append(value)
    return csr_matrix((values, (rows, columns)), shape=(len(vectors), len(places)))


class Edge:
    """Qdrant Edge, as Almanac fills and asks it."""

    def __init__(self, found: Collection) -> None:
        from tasks.index.edge import EdgeIndex

        self.found = found
        self.folder = TemporaryDirectory(prefix="almanac-retrieval-")
        self.index = EdgeIndex(Path(self.folder.name), found.vectors.shape[1])
        self.everything = ports.Filter([LIBRARY_SCOPE])
        self.index.upsert([
            Entry(id=UUID(int=i), vector=vector, document_id=UUID(int=int(document)), version_id=UUID(int=int(document)),
                  source_id=UUID(int=0), scopes=[LIBRARY_SCOPE], text=text)
            for i, (vector, document, text) in enumerate(
                zip(found.vectors, found.document, found.passages, strict=True))
        ])

    def offers(self, question: int) -> list[Evidence]:
        vector = self.found.question_vectors[question]
        near = self.index.nearest(vector, DEPTH, self.everything, -1)
        said = self.index.containing(self.found.questions[question], DEPTH, self.everything)
        return evidence(self.found, vector, {hit.id.int: hit.words for hit in said}, [hit.id.int for hit in near])
