"""``make bench-analysis``: the built-in analyser against the labelled articles; writes its weights and a report.

Accuracy is by cross-validation: each article is judged by weights that have not seen it, ten folds, five times;
what ships is learned from all of them. But the features were thought of with these articles at hand, so the figure
to believe is that of ``fresh.md``: written after the features were fixed, with addresses that say nothing, and
learned from by nothing. Topics are not learned at all. Costs are of this machine: read the ratio.
"""

import json
import statistics
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from models.analysis import Article
from models.blocks import text_of
from models.states import ContentType, SourceKind
from tasks.analyse.built_in import BuiltIn, beginning
from tasks.analyse.entities import entities
from tasks.analyse.features import cues, features
from tasks.analyse.topics import Topics
from tasks.chunk import cut
from tasks.embed.minilm import MiniLM
from tasks.extract.markdown import blocks_of

HERE = Path(__file__).parent
LABELLED = HERE / "labelled"
WEIGHTS = HERE.parent / "tasks" / "analyse" / "weights.json"
REPORT = HERE / "ANALYSIS.md"
TYPES = list(ContentType)
STRENGTH = {"embedding": 3.0, "wording": 3.0, "plain": 1.0}  # inverse of the regularisation
EMBEDDING_SCALE = 3.0  # a unit vector's numbers are small beside features of 0 to 1
FOLDS, ROUNDS = 10, 5


class Labelled(NamedTuple):
    """An article with what a reader would say of it."""

    article: Article
    content_type: ContentType
    category: str


def labelled() -> Iterator[Labelled]:
    """The articles of ``labelled/TYPE.md``, which are learned from."""
    for content_type in TYPES:
        yield from read(LABELLED / f"{content_type}.md", content_type)


def fresh() -> list[Labelled]:
    """Those that are not."""
    return list(read(LABELLED / "fresh.md"))


def read(path: Path, content_type: str | None = None) -> Iterator[Labelled]:
    """Articles from a file: each a title, a line of what is known of it (its type first, if not given), and Markdown."""
    for part in ("\n" + path.read_text()).split("\n# ")[1:]:
        title, line, text = part.split("\n", 2)
        known = line.split()
        said = content_type or known.pop(0)
        category, kind, dated, signed, url = known
        blocks = blocks_of(text.strip())
        yield Labelled(Article(
            title, text_of(blocks), blocks, url, SourceKind(kind), "en", "A. Writer" if signed == "signed" else None,
            datetime(2026, 3, 1, tzinfo=UTC) if dated == "dated" else None), ContentType(said), category)


def names_of(which: str, found: list[dict[str, float]]) -> list[str]:
    plain = set(features(Article("", ""), plain=True))
    return [name for name in found[0] if which != "plain" or name in plain]


def table(which: str, found: list[dict[str, float]], vectors: np.ndarray) -> np.ndarray:
    named = np.array([[row[name] for name in names_of(which, found)] for row in found])
    return np.hstack([named, EMBEDDING_SCALE * vectors]) if which == "embedding" else named


def learned(which: str, rows: np.ndarray, labels: np.ndarray, names: list[str]) -> LogisticRegression:
    """Weights from each article twice: many an address says nothing, so that they must do without it, too."""
    silent = rows.copy()
    silent[:, [i for i, name in enumerate(names) if name in cues("address")]] = 0
    model = LogisticRegression(C=STRENGTH[which], max_iter=2000)
    return model.fit(np.vstack([rows, silent]), np.hstack([labels, labels]))


def held_out(
    which: str, rows: np.ndarray, labels: np.ndarray, names: list[str]
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """What weights that have not seen an article say of it (all rounds), how sure, and each round's accuracy."""
    said, sure, accuracies = [], [], []
    for seed in range(ROUNDS):
        answer, chance = np.empty(len(labels), int), np.empty(len(labels))
        for learn, ask in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, labels):
            chances = learned(which, rows[learn], labels[learn], names).predict_proba(rows[ask])
            answer[ask], chance[ask] = chances.argmax(1), chances.max(1)
        said.append(answer)
        sure.append(chance)
        accuracies.append(float((answer == labels).mean()))
    return np.array(said), np.array(sure), accuracies


def weights(which: str, rows: np.ndarray, labels: np.ndarray, names: list[str]) -> dict[str, Any]:
    fitted = learned(which, rows, labels, names)
    coefficients = np.round(fitted.coef_.T, 3)
    told = {"intercept": np.round(fitted.intercept_, 3).tolist(),
            "features": dict(zip(names, coefficients[: len(names)].tolist(), strict=True))}
    if which == "embedding":
        told["embedding"] = np.round(EMBEDDING_SCALE * fitted.coef_.T[len(names):], 2).tolist()
    return told


def confusion(said: np.ndarray, labels: np.ndarray) -> list[str]:
    """A table of articles a round; ``said`` has a row for each round."""
    lines = ["| is ↓, called → | " + " | ".join(TYPES) + " | right |", "|---|" + "---|" * (len(TYPES) + 1)]
    for i, content_type in enumerate(TYPES):
        row = [(said[:, labels == i] == j).sum() / len(said) for j in range(len(TYPES))]
        lines.append(f"| {content_type} | " + " | ".join(f"{n:.1f}" for n in row) + f" | {row[i] / sum(row):.0%} |")
    return lines


def calibration(said: np.ndarray, sure: np.ndarray, labels: np.ndarray) -> list[str]:
    right = said == labels
    lines = ["| said to be sure | articles | right |", "|---|---|---|"]
    for low, high in ((0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        among = (sure >= low) & (sure < high)
        if among.any():
            lines.append(f"| {low:.0%} to {min(high, 1):.0%} | {among.sum() / len(said):.0f} | {right[among].mean():.0%} |")
    return lines


def categories(examples: list[Labelled], vectors: np.ndarray, embedder: MiniLM) -> list[str]:
    places = Topics(embedder)
    found = [places.of(vector)[1] for vector in vectors]
    right = sum(it.category == category for it, category in zip(examples, found, strict=True))
    missed = Counter((it.category, category) for it, category in zip(examples, found, strict=True)
                     if it.category != category)
    worst = ", ".join(f"{a} called {b} ({n})" for (a, b), n in missed.most_common(5))
    return [f"Category, zero-shot by descriptions: {right / len(examples):.1%} of {len(examples)} right. "
            f"Most often wrong: {worst}."]


def names(examples: list[Labelled]) -> list[str]:
    """Precision and recall of the names found by rule; the rules were written without this list."""
    expected = tomllib.loads((LABELLED / "names.toml").read_text())
    found = {it.article.title: set(entities(it.article)) for it in examples if it.article.title in expected}
    right = sum(len(found[title] & set(wanted)) for title, wanted in expected.items())
    said, there = sum(map(len, found.values())), sum(map(len, expected.values()))
    return [f"Names by rule, in {len(expected)} articles: {right} of {said} found are names ({right / said:.0%}), "
            f"of {there} names that there are ({right / there:.0%})."]


def cost(examples: list[Labelled], embedder: MiniLM) -> list[str]:
    """Seconds an article of five chunks or so, beside embedding its chunks: articles joined to a usual length."""
    long = [Article(
        group[0].article.title, text_of(blocks := [block for it in group for block in it.article.blocks]), blocks,
        group[0].article.url, language="en") for group in (examples[i : i + 16] for i in range(0, 192, 16))]
    analyser, seconds = BuiltIn(embedder), {"analysis": [], "embedding": []}
    list(analyser.analyse(long[:1]))
    pieces = [[it.embedded for it in cut(article.title, article.blocks, embedder.count, embedder.window)]
              for article in long]
    for _ in range(3):
        started = time.perf_counter()
        list(analyser.analyse(long))
        seconds["analysis"].append((time.perf_counter() - started) / len(long))
        started = time.perf_counter()
        embedder.embed([text for of_one in pieces for text in of_one])
        seconds["embedding"].append((time.perf_counter() - started) / len(long))
    mine, bare = (statistics.median(seconds[name]) for name in ("analysis", "embedding"))
    chunks, characters = statistics.mean(map(len, pieces)), statistics.mean(len(it.text) for it in long)
    return [f"Analysis costs {1000 * mine:.0f} ms an article of {characters:.0f} characters, embedding its "
            f"{chunks:.1f} chunks alone {1000 * bare:.0f} ms: {mine / bare:.0%} on top."]


def main() -> None:
    examples, embedder = list(labelled()), MiniLM()
    vectors = embedder.embed([beginning(it.article) for it in examples])
    found = [features(it.article) for it in examples]
    labels = np.array([TYPES.index(it.content_type) for it in examples])
    unseen = fresh()
    unseen_vectors = embedder.embed([beginning(it.article) for it in unseen])
    unseen_found = [features(it.article) for it in unseen]
    unseen_labels = np.array([TYPES.index(it.content_type) for it in unseen])
    models, lines = {}, []
    for which in STRENGTH:
        rows = table(which, found, vectors)
        said, sure, accuracies = held_out(which, rows, labels, names_of(which, found))
        models[which] = weights(which, rows, labels, names_of(which, found))
        chances = learned(which, rows, labels, names_of(which, found)).predict_proba(
            table(which, unseen_found, unseen_vectors))
        called = chances.argmax(1)
        lines.append(f"| {which} | {statistics.mean(accuracies):.1%} ({min(accuracies):.1%} to {max(accuracies):.1%}) "
                     f"| {(called == unseen_labels).mean():.0%} |")
        if which == "embedding":
            detail = [*confusion(said, labels), "", *calibration(said, sure, labels)]
            again = [*confusion(called[None], unseen_labels), "",
                     *calibration(called[None], chances.max(1)[None], unseen_labels)]
            missed = [f"called {TYPES[c]}: {it.content_type}: {it.article.title}"
                      for c, it in zip(called, unseen, strict=True) if TYPES[c] != it.content_type]
            wrong = [f"{labels_of(said, i)}: {it.content_type}: {it.article.title}"
                     for i, it in enumerate(examples) if (said[:, i] != labels[i]).sum() > ROUNDS // 2]
    if "--weights" in sys.argv:
        WEIGHTS.write_text(json.dumps({"embedder": embedder.name, "models": models}, separators=(",", ":")) + "\n")
    report = [
        "# The built-in analyser", "", "Written by `make bench-analysis`.", "",
        f"{len(examples)} labelled articles, {len(examples) // len(TYPES)} of each content type; {FOLDS} folds, "
        f"{ROUNDS} times: each article is judged by weights that have not seen it.", "",
        f"{len(unseen)} fresh articles were written afterwards and are learned from by nothing.", "",
        "| model | held out (worst to best round) | fresh |", "|---|---|---|", *lines, "",
        "`embedding` is used for English with the bundled embedder, `wording` with another, `plain` for other "
        "languages.", "", "With the embedding, held out, articles a round:", "", *detail, "",
        "With the embedding, fresh:", "", *again, "", *(f"- {line}" for line in missed), "",
        *categories(examples, vectors, embedder), "", *names(examples), "", *cost(examples, embedder), "",
        "Judged wrongly in most rounds:", "", *(f"- {line}" for line in wrong), ""]
    REPORT.write_text("\n".join(report))
    print("\n".join(report))


def labels_of(said: np.ndarray, i: int) -> str:
    return "called " + TYPES[Counter(said[:, i].tolist()).most_common(1)[0][0]]


if __name__ == "__main__":
    main()
