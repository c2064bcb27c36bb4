"""Cutting: what becomes of headings, tables, code, lists and texts without borders."""

import random
import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

from models.blocks import Block, BlockKind, text_of
from tasks.chunk import Piece, cut

WINDOW = 64


def count(texts: Sequence[str]) -> list[int]:
    """Words and marks, roughly as an embedder counts them; a long run without spaces is one token."""
    return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


def heading(text: str, level: int = 1) -> Block:
    return Block(BlockKind.HEADING, text, level=level)


def paragraph(text: str) -> Block:
    return Block(BlockKind.PARAGRAPH, text)


def sentences(number: int, about: str = "boats") -> str:
    return " ".join(f"Sentence {i} says something about {about}." for i in range(number))


def pieces(*blocks: Block, title: str = "Harbour", window: int = WINDOW) -> list[Piece]:
    return cut(title, blocks, count, window)


def test_a_version_without_text_has_no_pieces() -> None:
    assert pieces() == []
    assert pieces(paragraph(""), paragraph(" \n")) == []


def test_a_short_version_is_one_piece_with_its_title_in_front() -> None:
    (piece,) = pieces(paragraph("The pier is closed."))
    assert (piece.text, piece.start, piece.end, piece.position) == ("The pier is closed.", 0, 19, 0)
    assert piece.embedded == "Harbour\nThe pier is closed."
    assert piece.tokens == 5


def test_every_piece_of_a_section_repeats_its_headings() -> None:
    found = pieces(heading("Guide"), heading("Mooring", 2), paragraph(sentences(40)))
    assert len(found) > 4
    assert {piece.headings for piece in found} == {("Guide", "Mooring")}
    assert all(piece.embedded.startswith("Harbour\nGuide > Mooring\n") for piece in found[1:])


def test_a_piece_that_holds_its_headings_does_not_say_them_twice() -> None:
    (piece,) = pieces(heading("Guide"), heading("Mooring", 2), paragraph("Tie the boat up."))
    assert piece.text == "Guide\n\nMooring\n\nTie the boat up."
    assert piece.embedded == f"Harbour\n{piece.text}"


def test_a_heading_that_is_the_title_is_not_said_again() -> None:
    found = pieces(heading("Harbour"), paragraph(sentences(30)))
    assert found[1].headings == ("Harbour",)
    assert found[1].embedded.startswith("Harbour\nSentence")


def test_small_sections_are_merged_and_keep_the_headings_they_share() -> None:
    (piece,) = pieces(heading("Guide"), heading("Mooring", 2), paragraph("Tie up."),
                      heading("Leaving", 2), paragraph("Untie."))
    assert piece.headings == ("Guide",)


def test_nothing_is_merged_across_a_top_heading() -> None:
    found = pieces(heading("Mooring", 2), paragraph("Tie up."), heading("Leaving", 2), paragraph("Untie."))
    assert [piece.text for piece in found] == ["Mooring\n\nTie up.", "Leaving\n\nUntie."]


def test_many_tiny_paragraphs_are_merged_up_to_the_target() -> None:
    found = pieces(*[paragraph(f"word {i}") for i in range(400)])
    assert len(found) < 20
    assert min(piece.tokens for piece in found) >= WINDOW // 4


def test_a_file_of_headings_is_one_piece() -> None:
    blocks = [heading("Harbour"), heading("Mooring", 2), heading("Leaving"), heading("Tides", 3)]
    (piece,) = pieces(*blocks)
    assert piece.text == text_of(blocks)


def test_a_heading_with_nothing_below_it_stays_with_its_own_section() -> None:
    found = pieces(heading("Mooring"), paragraph("Tie up."), heading("See also", 2),
                   heading("Leaving"), paragraph("Untie."), heading("Comments", 2))
    assert [piece.text for piece in found] == [
        "Mooring\n\nTie up.\n\nSee also", "Leaving\n\nUntie.\n\nComments"]


def test_a_paragraph_that_fits_is_not_cut_when_there_is_a_better_border() -> None:
    texts = [sentences(5), sentences(4, "tides"), sentences(4, "winds")]
    found = pieces(*map(paragraph, texts))
    assert [piece.text.split("\n\n")[-1] for piece in found] == texts


def test_pieces_of_a_section_overlap_by_whole_sentences() -> None:
    text = " ".join(f"Boat {i} left." for i in range(60))
    found = pieces(paragraph(text))
    for before, after in pairwise(found):
        shared = text[after.start : before.end]
        assert shared.startswith("Boat ")
        assert shared.endswith("left.")
        assert count([shared])[0] <= WINDOW // 6


def test_nothing_overlaps_into_another_section() -> None:
    found = pieces(heading("One"), paragraph(sentences(12)),
                   heading("Two"), paragraph(sentences(12, "tides")))
    second = next(piece for piece in found if piece.headings == ("Two",))
    assert second.text.startswith("Two\n\nSentence 0 says something about tides.")


@pytest.mark.parametrize("kind", [BlockKind.CODE, BlockKind.LIST_ITEM, BlockKind.TABLE])
def test_code_lists_and_tables_that_fit_are_not_cut(kind: BlockKind) -> None:
    lines = [f"step {i}" for i in range(16)]
    blocks = [Block(kind, line, level=1) for line in lines] if kind is BlockKind.LIST_ITEM else [
        Block(kind, "\n".join(lines))]
    found = pieces(paragraph(sentences(6)), *blocks, paragraph(sentences(6)))
    whole = text_of(blocks)
    assert any(whole in piece.text for piece in found)


def test_code_is_left_as_it_is() -> None:
    code = "# not a heading\ndef pier():\n    # still not one\n    return 'closed'"
    (piece,) = pieces(heading("Guide"), Block(BlockKind.CODE, code))
    assert piece.text.endswith(code)
    assert piece.headings == ("Guide",)


def test_long_code_is_cut_between_lines_and_keeps_its_indents() -> None:
    code = "\n".join(f"    line_{i} = call({i})" for i in range(60))
    found = pieces(Block(BlockKind.CODE, code))
    assert len(found) > 3
    assert all(piece.text.startswith("    line_") and piece.text.endswith(")") for piece in found)


def test_every_piece_of_a_table_has_its_header_in_front() -> None:
    rows = ["Port | Depth", *(f"Port {i} | {i} m" for i in range(60))]
    found = pieces(Block(BlockKind.TABLE, "\n".join(rows), header_rows=1))
    assert len(found) > 3
    assert all(piece.embedded.count("Port | Depth") == 1 for piece in found)
    assert found[0].embedded.startswith("Harbour\nPort | Depth\nPort 0 |")
    assert found[1].embedded.startswith("Harbour\nPort | Depth\nPort ")
    assert "Port | Depth" not in found[1].text


def unspaced(letters: str, length: int) -> str:
    return "".join(random.Random(letters).choices(letters, k=length))


@pytest.mark.parametrize("text", [
    unspaced("สวัดีชาโลก", 4_800), unspaced("天地玄黄宇宙洪荒", 3_200), unspaced("QUJDREVG", 4_800)])
def test_a_long_text_without_spaces_is_cut_by_length(text: str) -> None:
    found = pieces(paragraph(text))
    assert len(found) > 3
    assert max(len(piece.text) for piece in found) <= WINDOW * 8
    assert "".join(piece.text for piece in found) == text


def test_a_sentence_too_long_for_a_piece_is_cut_between_words() -> None:
    text = " ".join(f"word{i}" for i in range(400))
    found = pieces(paragraph(text))
    assert " ".join(piece.text for piece in found) == text


def test_a_long_title_and_long_headings_leave_room_for_the_text() -> None:
    long = " ".join(f"very{i}" for i in range(300))
    found = pieces(heading(long), heading(long, 2), paragraph(sentences(30)), title=long)
    assert max(count([piece.embedded])[0] for piece in found) <= WINDOW
    assert any(piece.text.startswith("Sentence 0") for piece in found)


def test_a_larger_window_gives_pieces_of_at_most_350_tokens() -> None:
    found = pieces(paragraph(sentences(300)), window=510)
    assert 250 < max(count([piece.embedded])[0] for piece in found) <= 350


def test_the_last_piece_is_not_a_scrap() -> None:
    for number in range(9, 40):
        found = pieces(paragraph(sentences(number)))
        assert min(piece.tokens for piece in found) > WINDOW // 5, number


def test_a_changed_paragraph_changes_few_pieces() -> None:
    before = [paragraph(sentences(2 + i * 7 % 5, f"ship {i}")) for i in range(60)]
    old = {piece.embedded for piece in pieces(*before)}
    for i in range(60):
        after = [*before[:i], paragraph("It says something else entirely now."), *before[i + 1 :]]
        assert sum(piece.embedded not in old for piece in pieces(*after)) <= 4, i


def test_texts_are_counted_in_few_batches() -> None:
    calls: list[int] = []

    def counted(texts: Sequence[str]) -> list[int]:
        calls.append(len(texts))
        return count(texts)

    cut("Harbour", [paragraph(sentences(9, f"ship {i}")) for i in range(40)], counted, 256)
    assert len(calls) < 10
    assert sum(calls) < 40 * 9 + 100


def test_what_is_said_again_word_by_word_is_one_piece() -> None:
    notice = [heading("Notice"), paragraph(sentences(4))]
    found = pieces(*notice, heading("Tides"), paragraph("High."), *notice, *notice)
    assert [piece.headings for piece in found] == [("Notice",), ("Tides",)]
    assert [piece.position for piece in found] == [0, 1]


def test_one_line_of_a_megabyte_is_cut_like_any_other() -> None:
    line = " ".join(f"word{i}" for i in range(100_000))
    found = pieces(paragraph(line), window=254)
    assert " ".join(piece.text for piece in found) == line


def test_two_tables_keep_each_its_own_header() -> None:
    def table(name: str) -> Block:
        rows = [f"{name} | Depth", *(f"{name} {i} | {i}" for i in range(40))]
        return Block(BlockKind.TABLE, "\n".join(rows), header_rows=1)

    found = pieces(table("Port"), table("Lake"))
    for piece in found:
        held = {name for name in ("Port", "Lake") if f"{name} 1" in piece.text or f"{name} 2" in piece.text}
        assert all(f"{name} | Depth" in piece.embedded for name in held) or len(held) == 2


def test_a_nested_list_stays_in_order_and_a_long_item_is_cut_by_sentences() -> None:
    items = [Block(BlockKind.LIST_ITEM, sentences(30 if i == 3 else 2, f"item {i}"), level=1 + i % 2)
             for i in range(8)]
    found = pieces(*items)
    assert all(re.match(r"Sentence \d+ says", piece.text) for piece in found)
    assert [piece.start for piece in found] == sorted(piece.start for piece in found)
