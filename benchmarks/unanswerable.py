"""Questions without an answer, and questions for one rare word: what the minimum lets through and keeps out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from engines import Exact
from judged import Collection, kept

from models.words import FUNCTION_WORDS, tokens, words
from tasks.answer.fuse import fuse
from tasks.embed.minilm import MiniLM

MINIMUMS = (0.20, 0.25, 0.30, 0.35, 0.40, 0.50)
USUAL = 0.30
FORMS = ("{}", "What is {}?", "Which pages mention {}?", "what is known of {} and of its use")
RARE_WORDS = 60  # of each collection
SHOWN = 6


def short(found: Collection) -> list[str]:
    """Each question as its three rarest words."""
    holding = Counter(word for text in found.passages for word in set(words(text)))
    return [" ".join(sorted({word for word in words(text) if word not in FUNCTION_WORDS},
                            key=lambda word: (holding[word], word))[:3]) for text in found.questions]


def best_relevant(found: Collection, cosines: np.ndarray) -> list[float]:
    """For each question the cosine of the nearest passage that answers it."""
    return [float(cosines[n][np.isin(found.document, list(grades))].max()) for n, grades in enumerate(found.grades)]


def minimum_table(sets: Sequence[Collection], embedder: MiniLM, cache: Path) -> Iterator[str]:
    yield ""
    yield "| minimum | best answer kept | short: kept | foreign refused | short: refused | foreign refused, words included | short: refused, words included |"
    yield "|---|---|---|---|---|---|---|"
    asked = {kind: [each.questions if kind == "whole" else short(each) for each in sets] for kind in ("whole", "short")}
    vectors = {kind: [kept(texts, embedder, cache) for texts in asked[kind]] for kind in asked}
    kept_best, nearest, by_words = {}, {}, {}
    for kind in asked:
        kept_best[kind] = np.concatenate([
            best_relevant(each, vectors[kind][n] @ each.vectors.T) for n, each in enumerate(sets)])
        pairs = [(each, asked[kind][o], vectors[kind][o]) for n, each in enumerate(sets) for o in range(len(sets)) if o != n]
        nearest[kind] = np.concatenate([(other @ each.vectors.T).max(1) for each, _, other in pairs])
        by_words[kind] = np.concatenate([passing(*pair) for pair in pairs])
    for minimum in MINIMUMS:
        shares = [
            *((kept_best[kind] >= minimum).mean() for kind in asked),
            *((nearest[kind] < minimum).mean() for kind in asked),
            *(((nearest[kind] < minimum) & ~by_words[kind]).mean() for kind in asked),
        ]
        yield f"| {minimum:.2f} | " + " | ".join(f"{share:.1%}" for share in shares) + " |"


def passing(found: Collection, questions: Sequence[str], vectors: np.ndarray) -> np.ndarray:
    """For which questions something passes by its words alone."""
    engine = Exact(found, questions, vectors)
    return np.array([any(each.exact for each in fuse(text, engine.offers(n), USUAL)) for n, text in enumerate(questions)])


def exact_words(sets: Sequence[Collection], embedder: MiniLM, cache: Path) -> Iterator[str]:
    yield ""
    yield f"| asked | among the first {SHOWN} | by vector alone | vector below {USUAL:.2f} |"
    yield "|---|---|---|---|"
    for form in FORMS:
        found = np.concatenate([looked_up(each, form, embedder, cache) for each in sets])
        yield f"| {form.format('…')} | " + " | ".join(f"{share:.1%}" for share in found.mean(0)) + " |"


def looked_up(found: Collection, form: str, embedder: MiniLM, cache: Path) -> np.ndarray:
    """For each rare word: is its passage found, is it by vector alone, is its vector far."""
    rare = rare_words(found)
    questions = [form.format(word) for word in rare]
    vectors = kept(questions, embedder, cache)
    engine = Exact(found, questions, vectors)
    rows = []
    for n, (text, place) in enumerate(zip(questions, rare.values(), strict=True)):
        near = np.argsort(-engine.cosines[n])[:SHOWN]
        cosine = engine.cosines[n, place]
        shown = [each.id.int for each in fuse(text, engine.offers(n), USUAL)[:SHOWN]]
        rows.append((place in shown, place in near and cosine >= USUAL, cosine < USUAL))
    return np.array(rows)


def rare_words(found: Collection) -> dict[str, int]:
    """Some words of five characters or more, as they are written, that stand in one passage, and in which."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(found.passages):
        for word in {token.raw for token in tokens(text)}:
            places.setdefault(word, []).append(place)
    rare = sorted(word for word, there in places.items() if len(there) == 1 and len(word) >= 5)
    return {word: places[word][0] for word in Random(7).sample(rare, min(RARE_WORDS, len(rare)))}
