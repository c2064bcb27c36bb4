"""``make bench-retrieval DATA=folder``: what Almanac finds beside its parts; writes ``benchmarks/RETRIEVAL.md``.

The folder holds test collections in BEIR form. All contenders rank the same passages, cut and embedded as Almanac
does it; a document ranks where its best passage does. ``INDEX=edge`` asks the real index instead of exact products.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch
from uuid import UUID

import bm25s
import engines
import numpy as np
import Stemmer
from engines import DEPTH, Edge, Engine, Exact, Kept
from judged import Collection, load, ndcg, recall, reciprocal_rank, together
from platformdirs import user_cache_path
from unanswerable import exact_words, minimum_table

import models.words
import tasks.index.words
from tasks.answer import fuse as fusion
from tasks.answer.candidates import LOADED
from tasks.answer.fuse import Evidence, fuse, promising
from tasks.embed.minilm import MiniLM

RESULTS = Path(__file__).parent / "RETRIEVAL.md"
REACHED = {"time": 0.707, "cranfield": 0.564, "cisi": 0.455, "med": 0.793}  # by the simplest good hybrid before
LOOKED_AT = LOADED
Ranking = list[int]  # documents, best first
Rank = Callable[[int], Ranking]  # of the question at this place


def by_document(found: Collection, scores: np.ndarray) -> Ranking:
    """Documents by their best passage, of those with a score."""
    order = np.argsort(-scores, kind="stable")
    return list(dict.fromkeys(int(found.document[i]) for i in order[: np.isfinite(scores).sum()]))


def dense(found: Collection) -> Rank:
    cosines = found.question_vectors @ found.vectors.T
    return lambda n: by_document(found, cosines[n])


def bm25(found: Collection) -> np.ndarray:
    """Scores of bm25s as its own documentation sets it up for English: (questions, passages)."""
    stemmer, settings = Stemmer.Stemmer("english"), {"stopwords": "en", "show_progress": False}
    engine = bm25s.BM25()
    engine.index(bm25s.tokenize(found.passages, stemmer=stemmer, **settings), show_progress=False)
    asked = bm25s.tokenize(found.questions, stemmer=stemmer, return_ids=False, **settings)
    return np.array([engine.get_scores(words) for words in asked])


def words_alone(found: Collection) -> Rank:
    scores = bm25(found)
    return lambda n: by_document(found, np.where(scores[n] > 0, scores[n], -np.inf))


def hybrid(found: Collection) -> Rank:
    """0.6 cosine + 0.4 BM25 / its best, of the nearest and the best by words."""
    cosines, scores = found.question_vectors @ found.vectors.T, bm25(found)

    def rank(n: int) -> Ranking:
        near, said = (each >= np.sort(each)[-min(DEPTH, len(each))] for each in (cosines[n], scores[n]))
        mixed = 0.6 * cosines[n] + 0.4 * np.where(said, scores[n], 0) / max(scores[n].max(), 1e-9)
        return by_document(found, np.where(near | (said & (scores[n] > 0)), mixed, -np.inf))

    return rank


def ours(found: Collection, engine: Engine | None = None) -> Rank:
    asked = engine or Exact(found)

    def rank(n: int) -> Ranking:
        """As a question is answered; what is not looked at closely follows as the index offers it."""
        question, offers = found.questions[n], asked.offers(n)
        near, said = offered(offers)
        order = promising(question, near, said, len(offers))
        closely = [each for each in offers if each.id in set(order[:LOOKED_AT])]
        fused = [each.id for each in fuse(question, closely, minimum=-1)]  # every question here has an answer
        return list(dict.fromkeys(int(found.document[each.int]) for each in [*fused, *order]))

    return rank


def offered(offers: Sequence[Evidence]) -> tuple[dict[UUID, float], dict[UUID, float]]:
    """What each search says of what it offers."""
    near = sorted(offers, key=lambda each: -each.cosine)[: engines.DEPTH]
    return {each.id: each.cosine for each in near}, {each.id: each.words for each in offers if each.words > 0}


CONTENDERS: dict[str, Callable[[Collection], Rank]] = {
    "dense alone (MiniLM)": dense, "BM25 alone (bm25s)": words_alone,
    "simple hybrid (0.6 cosine + 0.4 BM25 / best)": hybrid, "Almanac": ours,
}
MEASURES = {"nDCG@10": ndcg, "recall@100": recall, "MRR@10": reciprocal_rank}


def measured(found: Collection, rank: Rank) -> list[float]:
    rankings = [rank(n) for n in range(len(found.questions))]
    return [mean(map(measure, rankings, found.grades)) for measure in MEASURES.values()]


def row(name: str, values: Sequence[float], digits: int = 3) -> str:
    return f"| {name} | " + " | ".join(f"{value:.{digits}f}" for value in values) + " |"


def head(*names: str) -> list[str]:
    return ["", "| " + " | ".join(names) + " |", "|" + "---|" * len(names)]


def comparison(sets: Sequence[Collection]) -> Iterator[str]:
    scores = {name: [measured(each, make(each)) for each in sets] for name, make in CONTENDERS.items()}
    whole = together(sets)
    scores_whole = {name: measured(whole, make(whole)) for name, make in CONTENDERS.items()}
    for place, measure in enumerate(MEASURES):
        yield from head(measure, *(each.name for each in sets), "mean", "in one library")
        for name, each in scores.items():
            values = [score[place] for score in each]
            yield row(name, [*values, mean(values), scores_whole[name][place]])


@contextmanager
def changed(changes: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """Parts of ours set to something else for a while."""
    patches = [patch.object(where, name, value) for where, name, value in changes]
    for each in patches:
        each.start()
    tasks.index.words.term_id.cache_clear()
    yield
    for each in reversed(patches):
        each.stop()
    tasks.index.words.term_id.cache_clear()


class NoStemmer:
    def stemWord(self, word: str) -> str:
        return word


def best_is_one(scores: Sequence[float], _: int) -> np.ndarray:
    return np.array(scores) / max(*scores, 1e-9)


def by_rank(each: Sequence[float]) -> np.ndarray:
    return 20 / (20 + np.argsort(np.argsort(-np.array(each), kind="stable"), kind="stable"))


def by_parts(text: str) -> Iterator[str]:
    return (part for token in models.words.tokens(text) for part in token.parts or models.words.pairs(token.raw))


def said_once(text: str) -> Any:
    found = tasks.index.words.term_ids(text)
    return tasks.index.words._sparse(dict.fromkeys(found, 1.0))


VARIATIONS: dict[str, list[tuple[Any, str, Any]]] = {
    "as it is": [],
    "without kin": [(fusion, "KINSHIP", 0.0)],
    "kin 0.3": [(fusion, "KINSHIP", 0.3)],
    "kin 0.7": [(fusion, "KINSHIP", 0.7)],
    "kin of the best 20": [(fusion, "KIN", 20)],
    "kin of the best 100": [(fusion, "KIN", 100)],
    "kin by nearness to the power of 4": [(fusion, "NEARNESS", 4)],
    "cosine 0.4": [(fusion, "COSINE", 0.4)],
    "cosine 0.6": [(fusion, "COSINE", 0.6)],
    "cosine 0.7": [(fusion, "COSINE", 0.7)],
    "words count a half at 8": [(fusion, "HALF", 8.0)],
    "words count a half at 24": [(fusion, "HALF", 24.0)],
    "words by their best score, cosine 0.7": [(fusion, "share", best_is_one), (fusion, "COSINE", 0.7)],
    "exact words count as others": [(fusion, "holding", lambda *_: set())],
    "no stems": [(tasks.index.words, "_stemmer", NoStemmer())],
    "no function words": [(models.words, "FUNCTION_WORDS", frozenset())],
    "parts only, of what is written together": [(models.words, "words", by_parts)],
    "a question's word counted once": [(tasks.index.words, "question", said_once)],
    "k1 0.9, b 0.4": [(tasks.index.words, "K1", 0.9), (tasks.index.words, "B", 0.4)],
    "100 passages of each kind instead of 200": [(engines, "DEPTH", 100)],
    "50 passages of each kind": [(engines, "DEPTH", 50)],
    "all that is offered is looked at closely": [(sys.modules[__name__], "LOOKED_AT", 10**6)],
    "32 are looked at closely": [(sys.modules[__name__], "LOOKED_AT", 32)],
}


def variations(sets: Sequence[Collection]) -> Iterator[str]:
    yield from head("nDCG@10", *(each.name for each in sets), "mean", "recall@100")
    usual = [Kept(Exact(each), len(each.questions)) for each in sets]
    for name, changes in VARIATIONS.items():
        fused_only = all(where is fusion for where, *_ in changes)
        with changed(changes):
            scores = [measured(each, ours(each, kept if fused_only else None))
                      for each, kept in zip(sets, usual, strict=True)]
        values = [score[0] for score in scores]
        yield row(name, [*values, mean(values), mean(score[1] for score in scores)])


def unseen(sets: Sequence[Collection]) -> Iterator[str]:
    """Each collection with the settings that are best on the others."""
    settings = [dict(zip(("COSINE", "KINSHIP", "NEARNESS"), each, strict=True))
                for each in product((0.4, 0.5, 0.6), (0.3, 0.5, 0.6), (6, 8))]
    kept = [Kept(Exact(each), len(each.questions)) for each in sets]
    scores = []
    for setting in settings:
        with changed([(fusion, name, value) for name, value in setting.items()]):
            scores.append([measured(each, ours(each, engine))[0] for each, engine in zip(sets, kept, strict=True)])
    yield from head("collection", "best on the others", "its nDCG@10 with that", "as it is")
    usual = [measured(each, ours(each, engine))[0] for each, engine in zip(sets, kept, strict=True)]
    held_out = []
    for place, each in enumerate(sets):
        best = max(range(len(settings)), key=lambda s: mean(scores[s][o] for o in range(len(sets)) if o != place))
        held_out.append(scores[best][place])
        chosen = ", ".join(f"{name.lower()} {value}" for name, value in settings[best].items())
        yield f"| {each.name} | {chosen} | {held_out[-1]:.3f} | {usual[place]:.3f} |"
    yield f"| mean | | {mean(held_out):.3f} | {mean(usual):.3f} |"


def speed(sets: Sequence[Collection]) -> Iterator[str]:
    texts = [text for each in sets for text in each.passages]
    started = time.perf_counter()
    for text in texts:
        tasks.index.words.passage(text)
    a_passage = 1000 * (time.perf_counter() - started) / len(texts)
    offers: list[tuple[str, list[Evidence]]] = []
    for each in sets:
        engine = Exact(each)
        offers += [(each.questions[n], engine.offers(n)) for n in range(min(20, len(each.questions)))]
    times = []
    for question, evidence in offers:
        started = time.perf_counter()
        fuse(question, evidence, 0.3)
        times.append(1000 * (time.perf_counter() - started))
    yield ""
    yield (f"A passage's words take {a_passage:.2f} ms, {len(texts)} passages. Fusing "
           f"{mean(len(evidence) for _, evidence in offers):.0f} passages takes {np.median(times):.1f} ms "
           f"(p95 {np.quantile(times, 0.95):.1f}).")


def main(data: Path) -> None:
    cache = Path(os.environ.get("CACHE") or user_cache_path("almanac-benchmarks"))
    embedder = MiniLM()
    sets = [load(folder, embedder, cache) for folder in sorted(data.iterdir()) if (folder / "qrels.tsv").exists()]
    if os.environ.get("INDEX") == "edge":
        CONTENDERS["Almanac, on the real index"] = lambda found: ours(found, Edge(found))
    sections = {
        "": comparison(sets),
        "What lifts it, and what does not": variations(sets),
        "Settings chosen on the other collections": unseen(sets),
        "The minimum similarity": minimum_table(sets, embedder, cache),
        "Exact rare words": exact_words(sets, embedder, cache),
        "Time": speed(sets),
    }
    lines = ["# Retrieval", "", INTRODUCTION.format(
        collections=", ".join(f"{each.name} ({len(each.passages)} passages, {len(each.questions)} questions)"
                              for each in sets))]
    for title, section in sections.items():
        lines += ["", f"## {title}"] if title else []
        lines += NOTES.get(title, [])
        for line in section:
            print(line, flush=True)
            lines.append(line)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


INTRODUCTION = """Made by `make bench-retrieval`. Collections: {collections}. All contenders rank the same passages in one run; a
document ranks where its best passage does. nDCG has linear gain, as trec_eval. `in one library` asks every question of
all collections put together."""
NOTES = {
    "What lifts it, and what does not": ["", "One thing changed at a time. What is not in the product stands here, too."],
    "Settings chosen on the other collections": [
        "", "The settings of `tasks/answer/fuse.py` were chosen while looking at all of these collections. Here each is",
        "answered with what is best, of 18 settings, on the others: what an unseen collection may expect."],
    "The minimum similarity": [
        "", "Own questions have an answer in their collection; foreign ones are those of the other collections. Short ones are",
        "the three rarest words of a question."],
    "Exact rare words": [
        "", "Words that stand in one passage of a collection, asked for in several ways, and whether that passage is among the",
        "first six. The last form says two words beside it: then only a code passes by its words alone."],
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: make bench-retrieval DATA=folder, with a folder of each collection in BEIR form in it")
    main(Path(sys.argv[1]))
