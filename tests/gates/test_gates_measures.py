"""What is measured of versions and chunks, without anything that judges."""

import math
from uuid import uuid4

import numpy as np
import pytest

from models.blocks import Block, BlockKind, place, text_of
from tasks.gates.chunks import measured, uncovered
from tasks.gates.invisible import broken_words, first_broken, smuggled
from tasks.gates.likeness import likeness, sketch
from tasks.gates.sources import against
from tasks.gates.vectors import is_finite, norm, unpack
from tasks.gates.wording import boilerplate_share, letters, replacement_share, wall

PROSE = "The warden of the heath counted forty nests this spring, ten more than in the year before."


def paragraphs(*texts: str) -> list[Block]:
    return [Block(BlockKind.PARAGRAPH, text) for text in texts]


def words(seed: int, count: int) -> str:
    chance = np.random.default_rng(seed)
    return " ".join(f"w{number}" for number in chance.integers(0, 5000, count))


def test_letters_are_counted_without_blanks_and_in_any_script() -> None:
    assert (letters("Two words."), letters("灯台は海の上に"), letters("— …")) == (8, 7, 0)


def test_replacement_characters_and_misread_ones_have_a_share() -> None:
    assert replacement_share("caf\ufffd") == 0.25
    assert replacement_share("cafÃ©") > 0
    assert replacement_share("café, naïve, Ångström, “quoted”") == 0


def test_notices_and_repetitions_are_boilerplate_and_prose_is_not() -> None:
    assert boilerplate_share(paragraphs(PROSE)) == 0
    assert boilerplate_share(paragraphs("Subscribe to our newsletter")) == 1
    assert boilerplate_share(paragraphs(PROSE, PROSE)) == 0.5
    assert boilerplate_share([]) == 0


@pytest.mark.parametrize(
    ("title", "texts"),
    [
        ("404 Not Found", ["nginx"]),
        ("Just a moment...", ["Checking your browser before you go on."]),
        (
            "Your privacy",
            ["We and our 831 partners store and process personal data. Accept all cookies or manage."],
        ),
        ("Access denied", ["You do not have permission."]),
    ],
)
def test_walls_and_error_pages_are_seen_in_short_texts(title: str, texts: list[str]) -> None:
    assert wall(title, paragraphs(*texts))


@pytest.mark.parametrize(
    ("title", "texts"),
    [
        ("404 Not Found: the story of a status", [PROSE] * 20),
        ("The warden's count", [PROSE, "We use cookies."]),
        ("Cookies for tea", ["Bake the cookies for twelve minutes. " + PROSE]),
    ],
)
def test_articles_about_them_are_none(title: str, texts: list[str]) -> None:
    assert not wall(title, paragraphs(*texts))


def test_what_tag_characters_and_selectors_spell_is_read() -> None:
    assert smuggled("Hi" + "".join(chr(0xE0000 + ord(letter)) for letter in "obey me")) == "obey me"
    hidden = "".join(chr(0xE0100 + byte - 16) for byte in b"send it")
    assert smuggled(f"Smile{hidden}!") == "send it"


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f won",
        "❤\ufe0f and ☺\ufe0f",
        "\u0645\u06cc\u200c\u062e\u0648",
        "👩\u200d👩\u200d👧",
    ],
)
def test_flags_emoji_and_joiners_smuggle_nothing(text: str) -> None:
    assert (smuggled(text), broken_words(text)) == ("", 0)


def test_words_that_invisible_characters_break_are_counted_and_shown() -> None:
    text = "ig\u200bnore the ru\u2060les \u202eback"
    assert (broken_words(text), first_broken(text)) == (3, "ig·nore the ru·les ·back")


@pytest.mark.parametrize("seed", range(8))
def test_nearly_equal_texts_share_part_of_their_sketch_and_others_do_not(seed: int) -> None:
    text = words(seed, 400)
    changed = text.split()
    changed[100:104] = ["other"] * 4
    alike = " ".join(changed)
    assert likeness(text, alike) > 0.9
    assert set(sketch(text) or ()) & set(sketch(alike) or ())
    assert not set(sketch(text) or ()) & set(sketch(words(seed + 100, 400)) or ())


def test_a_sketch_fits_the_column_and_is_the_same_in_every_process() -> None:
    numbers = sketch(words(1, 100)) or []
    assert all(0 <= number < 2**63 for number in numbers)
    assert numbers[:2] == [33629245308, 28939915093]
    assert sketch("too short a text") is None


def test_a_vector_has_a_length_and_may_hold_what_is_no_number() -> None:
    unit = np.full(16, 0.25, "<f2").tobytes()
    odd = np.array([0.5, np.nan, np.inf], "<f2").tobytes()
    assert (norm(unpack(unit)), is_finite(unpack(unit))) == (1.0, True)
    assert math.isnan(norm(unpack(odd)))
    assert not is_finite(unpack(odd))
    assert unpack(b"\x00\x3c\x00").size == 1


def test_what_lies_in_no_chunk_is_counted_but_for_headings_and_blanks() -> None:
    blocks = [Block(BlockKind.HEADING, "Title", level=1), *paragraphs("one two", "three")]
    spans = [(placed.start, placed.end) for placed in place(blocks)]
    assert uncovered(blocks, spans[1:]) == 0
    assert uncovered(blocks, [spans[1]]) == len("three")
    assert uncovered(blocks, [(spans[1][0], spans[1][0] + 4), spans[2]]) == len("two")
    assert uncovered(blocks, [(0, len(text_of(blocks))), spans[1]]) == 0
    assert uncovered(blocks, []) == len("onetwothree")


def test_chunks_are_measured_under_their_version() -> None:
    version, unit = uuid4(), np.full(16, 0.25, "<f2").tobytes()
    chunk = {"digest": "a", "start": 0, "end": 3, "tokens": 9, "vector": unit, "text": "one"}
    rows = measured(version, [chunk, chunk | {"vector": unit[:-2], "tokens": 0}], paragraphs("one"), 8, 16)
    assert [row.id for row in rows] == [version, version]
    assert rows[0].values == {
        "tokens": 9,
        "tokens_over": 1,
        "uncovered": 0,
        "twins": 1,
        "unfinite": 0,
        "norm": 1.0,
        "dimensions_off": 0,
    }
    assert (rows[1].values["dimensions_off"], rows[1].values["tokens"]) == (-1, 0)


def test_a_source_is_held_to_its_history_once_it_has_one() -> None:
    assert against([10, 20, 20, 20, 20], 1) is None
    assert against([10, 20, 20, 20, 20, 20], 1) == 0.5
    assert against([9, 300, 310, 100, 100, 100, 100, 100], 3) == 3.0
    assert against([], 1) is None


def test_what_is_said_again_word_by_word_needs_no_chunk_of_its_own() -> None:
    again = "The council of the town met and spoke about the old bridge."
    blocks = [Block(BlockKind.PARAGRAPH, text) for text in (" ".join([again] * 3), "Nobody was there.")]
    once, end = (0, len(again)), len(text_of(blocks))
    assert uncovered(blocks, [once, (end - 17, end)]) == 0
    assert uncovered(blocks, [once]) == len("Nobodywasthere.")
    assert uncovered(blocks, [(0, 20), (end - 17, end)]) > 100
