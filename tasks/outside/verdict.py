"""Whether what an external AI said is an answer that can be kept."""

import json
import re
from collections import Counter
from typing import NamedTuple
from unicodedata import category

from tasks.outside.chat import Said
from tasks.outside.model_server import THOUGHTS

NO_ANSWER = "NO ANSWER"
LONGEST = 8_000  # characters that are kept
FEW, REPEATED, READABLE = 30, 0.15, 0.5  # words; the least share of distinct ones; of letters and digits
WORD = re.compile(r"\w+")
END = re.compile(r"[.!?…:;]\s|\n")


class Verdict(NamedTuple):
    """The text to keep, else why there is none; ``final``: another AI would not say better."""

    text: str | None
    reason: str | None = None
    final: bool = False
    was_cut: bool = False


def judge(said: Said) -> Verdict:
    text = readable(THOUGHTS.sub("", said.text))
    if said.refused or text.upper().startswith(NO_ANSWER):
        return Verdict(None, "it has no answer", final=True)
    if not text:
        return Verdict(None, "it answered with nothing")
    if is_nonsense(text):
        return Verdict(None, "what it answered makes no sense")
    kept = shortened(text, said.whole)
    return Verdict(kept, was_cut=kept != text or not said.whole)


def readable(text: str) -> str:
    """Without what no text and no database can hold, and what nobody sees."""
    return "".join(mark for mark in text if mark in "\n\t" or category(mark)[0] != "C").strip()


def is_nonsense(text: str) -> bool:
    """No words, the same words again and again, or a page or a piece of JSON where words should be."""
    words = Counter(word.lower() for word in WORD.findall(text))
    visible = [mark for mark in text if not mark.isspace()]
    garbled = sum(mark.isalnum() for mark in visible) < READABLE * len(visible) or "\ufffd" * 3 in text
    count = sum(words.values())
    return garbled or (count >= FEW and len(words) < REPEATED * count) or is_markup(text)


def is_markup(text: str) -> bool:
    if re.match(r"<(?:!doctype|html|\?xml|body|head)", text, re.IGNORECASE):
        return True
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def shortened(text: str, whole: bool) -> str:
    """At most LONGEST characters, and of a text that is cut nothing behind its last whole sentence."""
    if whole and len(text) <= LONGEST:
        return text
    part = text[:LONGEST]
    ends = [found.end() for found in END.finditer(part)]
    return (part[:ends[-1]] if ends else part).rstrip()
