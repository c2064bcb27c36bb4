"""Whether one text says what another says: what a page claims of itself is not enough."""

import re

WORD = re.compile(r"\w+")
NUMBER = re.compile(r"\d+")
RUN = 4  # words that are compared together
MOSTLY = 0.8  # of its runs: beyond menus and notices that only one of two twins has


def is_within(text: str, other: str) -> bool:
    """Whether nearly all that ``text`` says stands in ``other``, in the same words."""
    own = runs(text)
    return bool(own) and len(own & runs(other)) >= MOSTLY * len(own)


def says_the_same(text: str, other: str) -> bool:
    """Whether nearly all of each stands in the other, with the same numbers.

    Two days' tide tables differ in nothing else.
    """
    same_numbers = set(NUMBER.findall(text)) == set(NUMBER.findall(other))
    return same_numbers and is_within(text, other) and is_within(other, text)


def runs(text: str) -> set[tuple[str, ...]]:
    """Each run of words; a shorter text is one run."""
    words = WORD.findall(text.lower())
    return {tuple(words[at:at + RUN]) for at in range(max(len(words) - RUN, 0) + 1)} if words else set()
