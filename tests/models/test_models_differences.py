"""What changed between two versions, block by block."""

from hypothesis import given
from hypothesis import strategies as st

from models.blocks import Block, BlockKind
from models.differences import ChangeKind, differences


def blocks(*texts: str) -> list[Block]:
    return [Block(BlockKind.PARAGRAPH, text) for text in texts]


def told(old: list[Block], new: list[Block]) -> list[tuple[str, str]]:
    return [
        (change.kind.value, change.block.text) for change in differences(old, new) if change.kind != "same"
    ]


def test_equal_versions_have_no_difference() -> None:
    assert {change.kind for change in differences(blocks("a", "b"), blocks("a", "b"))} == {ChangeKind.SAME}


def test_what_came_and_what_went_is_told_where_it_stood() -> None:
    old, new = blocks("one", "two", "three"), blocks("one", "three", "four")
    assert told(old, new) == [("removed", "two"), ("added", "four")]


def test_a_block_that_stands_elsewhere_has_moved() -> None:
    found = differences(blocks("a", "b", "c", "d"), blocks("d", "a", "b", "c"))
    assert [(it.block.text, it.before, it.after) for it in found if it.kind == ChangeKind.MOVED] == [
        ("d", 3, 0)
    ]


def test_a_changed_block_shows_its_words() -> None:
    found = differences(
        blocks("The harbour has 412 berths in all."), blocks("The harbour has 413 berths in all.")
    )
    assert [it.kind for it in found] == [ChangeKind.CHANGED]
    assert found[0].words == (("=", "The harbour has "), ("-", "412"), ("+", "413"), ("=", " berths in all."))


def test_blocks_that_have_nothing_in_common_are_one_that_went_and_one_that_came() -> None:
    assert told(blocks("Owls were counted here."), blocks("No ferry tomorrow!")) == [
        ("removed", "Owls were counted here."),
        ("added", "No ferry tomorrow!"),
    ]


def test_a_heading_that_becomes_a_paragraph_is_no_change_of_words() -> None:
    old = [Block(BlockKind.HEADING, "Same words", level=2)]
    assert told(old, blocks("Same words")) == [("removed", "Same words"), ("added", "Same words")]


TEXTS = st.lists(st.sampled_from(["a b c d", "a b c e", "x y z", "p q", "a b c d"]), max_size=8)


@given(TEXTS, TEXTS)
def test_every_block_of_both_versions_is_told_once_and_the_words_of_a_change_make_both(
    old: list[str], new: list[str]
) -> None:
    found = differences(blocks(*old), blocks(*new))
    assert sorted(it.before for it in found if it.before is not None) == list(range(len(old)))
    assert [it.after for it in found if it.after is not None] == list(range(len(new)))
    for it in found:
        if it.kind == ChangeKind.CHANGED and it.before is not None and it.after is not None:
            assert "".join(text for sign, text in it.words if sign != "+") == old[it.before]
            assert "".join(text for sign, text in it.words if sign != "-") == new[it.after]
