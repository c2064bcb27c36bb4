"""What is taken out of a question before it leaves: mail addresses, phone numbers, keys, and listed names.

It looks at the question without accents, wide forms and invisible characters, behind which a name may hide,
and errs on the side of taking out: a number that is no phone number is a small loss.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MAIL, KEY, PHONE, NAME = "mail address", "key", "phone number", "name"
AT, DOT = r"\s*[\[({]\s*at\s*[\])}]\s*", r"\s*[\[({]\s*dot\s*[\])}]\s*"
MAILS = re.compile(
    rf"[^\s@<>\"'(),;:]+@[^\s@<>\"'(),;:]*\w|[\w.+-]+{AT}[\w-]+(?:(?:{DOT}|\.)[\w-]+)*", re.IGNORECASE)
KEYS = re.compile(
    r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)"  # PEM
    r"|\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?"  # a JSON web token
    r"|\b(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[a-z]|hf|alm|tok|token|key|secret|api|pat)[-_]"
    r"(?=[\w-]*\d)[\w-]{6,}"
    r"|\bAIza[\w-]{20,}|\bAKIA[A-Z0-9]{12,}|\b[0-9a-fA-F]{32,}\b"
    r"|(?<![\w/])(?=[\w+=-]*\d)(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])[\w+=-]{16,}", re.DOTALL)
TOLD = re.compile(  # whatever is called a secret
    r"\b(?:password|passwd|passphrase|passwort|pin|(?:api|access|secret)[ _-]?key|token|secret)\b"
    r"\s*(?:is|=|:)\s*[\"'“]?([^\s\"'”]+)", re.IGNORECASE)
NUMBERS = re.compile(r"(?<![\w.,-])(?:\+|\(\+?)?\d(?:[ ().\-/\u2010-\u2015]{0,3}\d){6,18}(?!\w)")
CALLED = re.compile(  # and whatever is called one
    r"\b(?:call|phone|telephone|tel|mobile|cell|fax|ring|text|whatsapp|signal|number is)\b\D{0,20}?(\d{5,})",
    re.IGNORECASE)
NO_PHONES = re.compile(  # dates, spans of years, numbers with a point or thousands, whole numbers
    r"\d{4}([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2\d{4}|(?:19|20)\d\d(?:\s*\D{1,3}\s*(?:19|20)\d\d)+"
    r"|(?!0\d)\d+\.\d+|[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d{6,8}")


class Found(NamedTuple):
    """A detail, by its place in the text."""

    start: int
    end: int
    kind: str


class Masked(NamedTuple):
    text: str
    kinds: Sequence[str]  # of what was taken out, each once

    @property
    def says_something(self) -> bool:
        """Whether there is anything left to be asked."""
        return bool(re.search(r"\w", re.sub(r"\[[^\]]*\]", "", self.text)))


def mask(text: str, names: Iterable[str] = ()) -> Masked:
    """The text with a word in brackets for each detail; the same word, with its number, for the same one."""
    plain, places = unadorned(text)
    found = _apart(sorted(_details(plain, names), key=lambda each: (each.start, -each.end)))
    numbers: dict[str, dict[str, int]] = {}
    parts, at = [], 0
    for start, end, kind in found:
        of_kind = numbers.setdefault(kind, {})
        number = of_kind.setdefault(plain[start:end].casefold(), len(of_kind) + 1)
        parts += [text[at:places[start]], f"[{kind} {number}]" if number > 1 else f"[{kind}]"]
        at = places[end - 1] + 1
    return Masked("".join([*parts, text[at:]]), list(numbers))


def unadorned(text: str) -> tuple[str, list[int]]:
    """The text without accents, wide forms and what is not seen; for each character its place in ``text``."""
    plain, places = [], []
    for place, mark in enumerate(text):
        for part in unicodedata.normalize("NFKD", mark):
            if not unicodedata.combining(part) and unicodedata.category(part) != "Cf":
                plain.append(part)
                places.append(place)
    return "".join(plain), places


def _details(plain: str, names: Iterable[str]) -> Iterator[Found]:
    yield from (Found(*it.span(), MAIL) for it in MAILS.finditer(plain))
    yield from (Found(*it.span(), KEY) for it in KEYS.finditer(plain))
    yield from (Found(*it.span(1), KEY) for it in TOLD.finditer(plain))
    yield from (Found(*it.span(), PHONE) for it in NUMBERS.finditer(plain) if not NO_PHONES.fullmatch(it[0]))
    yield from (Found(*it.span(1), PHONE) for it in CALLED.finditer(plain))
    for name in names:
        yield from (Found(*it.span(), NAME) for it in _pattern(name).finditer(plain))


def _pattern(name: str) -> re.Pattern[str]:
    """A name as it may be written: in any case, its parts joined by spaces, points or hyphens."""
    parts = re.split(r"[\s.\-]+", unadorned(name)[0].strip())
    return re.compile(r"(?<!\w)" + r"[\s.\-]+".join(map(re.escape, parts)) + r"(?!\w)", re.IGNORECASE)


def _apart(found: Iterable[Found]) -> list[Found]:
    """Details that overlap are one, of the kind that begins first, the longest of those."""
    apart: list[Found] = []
    for each in found:
        if apart and each.start < apart[-1].end:
            apart[-1] = apart[-1]._replace(end=max(apart[-1].end, each.end))
        else:
            apart.append(each)
    return apart


def names_of(listed: str) -> list[str]:
    """Names as the owner lists them: parted by commas or lines."""
    return [name.strip() for name in re.split(r"[,\n]", listed) if name.strip()]
