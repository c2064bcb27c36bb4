"""Noise makes no version, a changed figure does."""

from datetime import date, timedelta

import pytest

from models.blocks import Block, BlockKind
from models.noise import essence

DAY = date(2026, 12, 1)
BODY = "The harbour has 412 berths, and 37 of them are free for guests, says the harbour master today."


def same(one: str, other: str, kind: BlockKind = BlockKind.PARAGRAPH, later: int = 0) -> bool:
    """Whether a page whose second block changed says the same."""
    said = [
        essence([Block(BlockKind.PARAGRAPH, BODY), Block(kind, text)], DAY + timedelta(days=days))
        for text, days in ((one, 0), (other, later))
    ]
    return said[0] == said[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Posted 2 hours ago", "Posted 3 hours ago"),
        ("Updated 59 minutes ago", "Updated an hour ago"),
        ("By Ann Smith, posted 2 hours ago · 56 comments", "By Ann Smith, posted 5 hours ago · 58 comments"),
        ("vor 3 Stunden", "vor 4 Stunden"),
        ("il y a 2 heures", "il y a 3 heures"),
        ("hace 2 horas", "hace 3 horas"),
        ("Read 1,234 times", "Read 1,301 times"),
        ("This article was read 1.234 times", "This article was read 1.310 times"),
        ("12,402 views", "13k views"),
        ("Comments (56)", "Comments (57)"),
        ("1,204 people are reading this", "998 people are reading this"),
        ("You are visitor number 20417", "You are visitor number 20431"),
        ("Page generated in 0.21 seconds", "Page generated in 0.34 seconds"),
        ("Local time 14:05", "Local time 15:10"),
        ("Last updated: 14:05 UTC", "Last updated: 14:35 UTC"),
        ("It is 14:05:33 in Harbourville", "It is 14:06:01 in Harbourville"),
        ("Sponsored: the best kettles of the year", "Advertisement: a week at sea for two"),
        ("Sponsored", "Anzeige"),
    ],
)
def test_what_changes_at_each_look_is_noise(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tuesday, 1 December 2026", "Wednesday, 2 December 2026"),
        ("Weather for December 1, 2026", "Weather for December 2, 2026"),
        ("Stand: 01.12.2026", "Stand: 02.12.2026"),
        ("2026-12-01", "2026-12-02"),
        ("mardi 1 décembre 2026", "mercredi 2 décembre 2026"),
    ],
)
def test_the_date_of_the_day_on_which_a_page_is_read_is_noise(one: str, other: str) -> None:
    assert same(one, other, later=1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The harbour has 412 berths.", "The harbour has 413 berths."),
        ("The council meets at 14:00 in the old hall.", "The council meets at 15:00 in the old hall."),
        ("Doors open at 19:00", "Doors open at 20:00"),
        ("1,234 visitors came to the fair.", "1,534 visitors came to the fair."),
        ("The hearing is on 3 May 2027.", "The hearing is on 4 May 2027."),
        ("Price: 1,234 euros", "Price: 1,334 euros"),
        ("Version 2.1.0 is out", "Version 2.1.1 is out"),
        (
            "Sponsored legislation was passed by the house in May.",
            "Sponsored legislation was refused by the house in May.",
        ),
        ("Adult tickets cost 5 euros", "Adult tickets cost 6 euros"),
        ("Population 1,204", "Population 1,304"),
    ],
)
def test_a_changed_figure_is_no_noise(one: str, other: str) -> None:
    assert not same(one, other)


def test_figures_in_tables_and_code_are_no_noise() -> None:
    assert not same("Views | 1,234", "Views | 1,301", BlockKind.TABLE)
    assert not same("# read 1 times", "# read 2 times", BlockKind.CODE)


def test_a_sponsored_line_that_comes_and_goes_is_noise_and_so_is_what_it_announces() -> None:
    def said(*texts: str) -> str:
        return essence([Block(BlockKind.PARAGRAPH, text) for text in texts], DAY)

    assert said(BODY) == said("Sponsored by Acme", BODY) == said("Advertisement", "Buy two kettles.", BODY)
    assert said(BODY) != said(BODY, "Buy two kettles.")


def test_a_date_of_another_day_is_no_noise() -> None:
    assert not same("Weather for 1 December 2026", "Weather for 24 December 2026")
