"""Judged collections: a folder in BEIR form, cut and embedded as Almanac does it, and the measures of a ranking."""

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path

import numpy as np

from models.blocks import Block, BlockKind
from tasks.chunk import cut
from tasks.embed.minilm import MiniLM
from tasks.ports import Vectors

Grades = Mapping[int, int]  # document -> how relevant, where it is


@dataclass(frozen=True)
class Collection:
    """Passages of documents, and questions with what is relevant; positions stand for ids."""

    name: str
    titles: Sequence[str]  # of each document
    bodies: Sequence[str]
    passages: Sequence[str]  # what is embedded and indexed
    document: np.ndarray  # of each passage
    vectors: Vectors
    questions: Sequence[str]
    question_vectors: Vectors
    grades: Sequence[Grades]  # of each question; none is empty


def load(folder: Path, embedder: MiniLM, cache: Path) -> Collection:
    """The collection in ``folder``; vectors are made once and kept in ``cache``, by their texts."""
    documents = lines(folder / "corpus.jsonl")
    position = {document["_id"]: n for n, document in enumerate(documents)}
    judged: dict[str, dict[int, int]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0 and row["corpus-id"] in position:
                judged.setdefault(row["query-id"], {})[position[row["corpus-id"]]] = int(row["score"])
    questions = [question for question in lines(folder / "queries.jsonl") if question["_id"] in judged]
    passages, document = [], []
    for n, found in enumerate(documents):
        for piece in cut(found.get("title", ""), blocks(found["text"]), embedder.count, embedder.window):
            passages.append(piece.embedded)
            document.append(n)
    texts = [question["text"] for question in questions]
    return Collection(
        folder.name, [found.get("title", "") for found in documents], [found["text"] for found in documents],
        passages, np.array(document), kept(passages, embedder, cache), texts, kept(texts, embedder, cache),
        [judged[question["_id"]] for question in questions])


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def blocks(text: str) -> list[Block]:
    return [Block(BlockKind.PARAGRAPH, part.strip()) for part in text.split("\n\n") if part.strip()]


def kept(texts: Sequence[str], embedder: MiniLM, cache: Path) -> Vectors:
    """The vectors of ``texts``, from ``cache`` where they have been made before."""
    path = cache / (hashlib.sha256("\0".join([embedder.name, *texts]).encode()).hexdigest()[:24] + ".npy")
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, embedder.embed(texts))
    vectors: Vectors = np.load(path)
    return vectors


def ndcg(ranking: Sequence[int], grades: Grades, depth: int = 10) -> float:
    """With linear gain, as trec_eval has it."""
    gained = sum(grades.get(document, 0) / log2(place + 2) for place, document in enumerate(ranking[:depth]))
    best = sorted(grades.values(), reverse=True)[:depth]
    return gained / sum(grade / log2(place + 2) for place, grade in enumerate(best))


def recall(ranking: Sequence[int], grades: Grades, depth: int = 100) -> float:
    return len(grades.keys() & set(ranking[:depth])) / len(grades)


def reciprocal_rank(ranking: Sequence[int], grades: Grades, depth: int = 10) -> float:
    return next((1 / place for place, document in enumerate(ranking[:depth], 1) if document in grades), 0.0)


def together(sets: Sequence[Collection]) -> Collection:
    """All of them as one library."""
    before = np.cumsum([0, *(len(each.titles) for each in sets)])
    return Collection(
        "all", *([text for each in sets for text in getattr(each, name)] for name in ("titles", "bodies", "passages")),
        np.concatenate([each.document + offset for each, offset in zip(sets, before, strict=False)]),
        np.concatenate([each.vectors for each in sets]), [text for each in sets for text in each.questions],
        np.concatenate([each.question_vectors for each in sets]),
        [{document + int(offset): grade for document, grade in grades.items()}
         for each, offset in zip(sets, before, strict=False) for grades in each.grades])
