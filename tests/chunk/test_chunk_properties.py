"""What holds for the pieces of any version whatever."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.blocks import Block, BlockKind, text_of
from tasks.chunk import Piece, cut

COUNTS: dict[str, Callable[[str], int]] = {
    "words": lambda text: len(re.findall(r"\w+|[^\w\s]", text)),
    "characters": len,
    "bytes in threes": lambda text: -(-len(text.encode()) // 3),
}
LINES = st.text("ab .!?。\u0e01\u4e00é\t\u00a0\ufeff", max_size=40) | st.text(max_size=12)
SENTENCES = st.lists(st.just("A sentence of five words."), max_size=30)
TEXTS = (st.lists(LINES, max_size=6) | SENTENCES).map(" ".join)
ROWS = st.lists(LINES, max_size=25).map("\n".join)
BLOCKS = st.one_of(
    st.builds(Block, st.just(BlockKind.HEADING), LINES, level=st.integers(1, 4)),
    st.builds(Block, st.sampled_from([BlockKind.PARAGRAPH, BlockKind.QUOTE]), TEXTS),
    st.builds(Block, st.just(BlockKind.LIST_ITEM), TEXTS, level=st.integers(1, 2)),
    st.builds(Block, st.just(BlockKind.CODE), ROWS),
    st.builds(Block, st.just(BlockKind.TABLE), ROWS, header_rows=st.integers(0, 2)),
)


@pytest.mark.parametrize("measure", COUNTS)
@given(title=LINES, blocks=st.lists(BLOCKS, max_size=14), window=st.integers(60, 200))
@settings(max_examples=120, deadline=None)
def test_pieces_cover_the_text_in_order_and_fit_the_window(
    measure: str, title: str, blocks: list[Block], window: int
) -> None:
    def count(texts: Sequence[str]) -> list[int]:
        return [COUNTS[measure](text) for text in texts]

    found = cut(title, blocks, count, window)
    check_places(text_of(blocks), found)
    assert max(count([piece.embedded for piece in found]), default=0) <= window
    assert all(piece.embedded.endswith(piece.text) and piece.tokens >= 0 for piece in found)
    assert cut(title, blocks, count, window) == found


def check_places(text: str, found: list[Piece]) -> None:
    covered = [character.isspace() for character in text]
    for position, piece in enumerate(found):
        assert piece.position == position
        assert text[piece.start : piece.end] == piece.text
        assert piece.text.strip()
        covered[piece.start : piece.end] = [True] * (piece.end - piece.start)
    assert len({piece.embedded for piece in found}) == len(found)
    for gap in re.finditer("0+", "".join("1" if it else "0" for it in covered)):  # said by a piece already
        assert any(text[slice(*gap.span())].strip() in piece.text for piece in found)
    for before, after in pairwise(found):
        assert before.start < after.start
        assert before.end < after.end
