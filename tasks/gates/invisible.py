"""Characters that no reader sees: what they spell, and how many stand where no script needs them."""

import re

TAGS = re.compile("[\U000e0000-\U000e007f]{3,}")  # which spell ASCII; flags of regions use them, too
FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{1,7}")
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")  # of style: a run of them carries bytes
LETTER = r"[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff]"
UNSEEN = re.compile(r"[\u200b-\u200f\u2060-\u2064\u180e]+")
BETWEEN_LETTERS = re.compile(rf"(?<={LETTER}){UNSEEN.pattern}(?={LETTER})")
TURNED = re.compile("[\u202a-\u202e]")  # embeddings and overrides of direction, which isolates have replaced


def smuggled(text: str) -> str:
    """What tag characters and runs of variation selectors spell, readable; empty for a text without any."""
    text = FLAG.sub("", text)
    tags = ("".join(chr(ord(mark) - 0xE0000) for mark in run if "\U000e0020" <= mark < "\U000e007f")
            for run in TAGS.findall(text))
    selectors = (bytes(map(number, run)).decode("utf-8", "replace") for run in SELECTORS.findall(text))
    return " ".join([*tags, *selectors]).strip()


def number(selector: str) -> int:
    """The byte that a variation selector stands for."""
    at = ord(selector)
    return at - 0xFE00 if at < 0xE0000 else at - 0xE0100 + 16


def broken_words(text: str) -> int:
    """How many words of scripts without joiners hold an invisible character; and signs that turn a line."""
    return len(BETWEEN_LETTERS.findall(text)) + len(TURNED.findall(text))


def first_broken(text: str) -> str:
    """The words around the first of them, the invisible shown as a middle dot."""
    found = BETWEEN_LETTERS.search(text) or TURNED.search(text)
    if not found:
        return ""
    around = text[max(0, found.start() - 60):found.end() + 60]
    return TURNED.sub("\u00b7", UNSEEN.sub("\u00b7", around))
