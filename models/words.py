"""What a word is, where texts are found by their words: one rule for passages and questions.

A word is a run of letters and digits, without case and accents. What is written together ("CVE-2024-1234",
"wi-fi", "max_bytes", "C++") is a word as a whole, too, however it is joined. Scripts without spaces are read
by pairs of characters.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")  # accents, points, harakat
UNSPACED = (  # Thai, Lao, Burmese, Khmer, Japanese, Chinese
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
LETTERS = rf"(?:[^\W_{UNSPACED}]|[\u0900-\u0963\u0966-\u0dff])+"  # \w knows no vowel signs of Indic scripts
JOINTS = "[-\u2010-\u2013_.,:/'\u2019@&]"
PART = re.compile(LETTERS)
TOKEN = re.compile(rf"{LETTERS}(?:{JOINTS}{LETTERS})*(?:\+\+|#)?|[{UNSPACED}]+")
PLAIN_TOKEN = re.compile(r"[a-z0-9]+(?:[-_.,:/'@&][a-z0-9]+)*(?:\+\+|#)?")  # sooner, in folded ASCII
POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s\b")
FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text(encoding="utf-8").split())


class Token(NamedTuple):
    """What is written together: ``raw`` without case and accents, and its words."""

    raw: str
    parts: tuple[str, ...]

    @property
    def whole(self) -> str:
        """All of it as one word; numbers keep a dot between them."""
        if not self.parts:
            return self.raw
        joined = ("." if all(map(str.isdigit, self.parts)) else "").join(self.parts)
        return joined + self.raw[len(self.raw.rstrip("+#")):]


def written(text: str) -> list[str]:
    """What is written together, without case and accents, in order."""
    plain = folded(text)
    if "'s" in plain or "\u2019s" in plain:
        plain = POSSESSIVE.sub("", plain)
    found: list[str] = (PLAIN_TOKEN if plain.isascii() else TOKEN).findall(plain)
    return found


def tokens(text: str) -> Iterator[Token]:
    return map(token, written(text))


def token(raw: str) -> Token:
    return Token(raw, tuple(PART.findall(raw)))


@lru_cache(maxsize=1 << 16)
def words_of(raw: str) -> tuple[str, ...]:
    """The words of what is written together; the whole of several parts after them."""
    said = token(raw)
    if not said.parts:
        return tuple(pairs(raw))
    return said.parts if raw == said.parts[0] else (*said.parts, said.whole)


def words(text: str) -> Iterator[str]:
    """The words of a text, in order."""
    return chain.from_iterable(map(words_of, written(text)))


def telling(text: str) -> list[str]:
    """The words of a text without function words, unless there are no others."""
    found = list(words(text))
    return [word for word in found if word not in FUNCTION_WORDS] or found


def folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    bare = MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold()


def pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(len(run) - 1, 1))]
