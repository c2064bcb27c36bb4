"""A model's text held against the records: labels and addresses that are not there go, quotes are looked up.

Nothing of the text is believed: a label counts where this retrieval has shown it, a quotation where it stands
in the excerpt that it names, an address where it is that of an excerpt.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from models.session import Database
from tasks.answer.cite import Citation, cite_all
from tasks.answer.hosts import HOST, URL, host_of, is_address, without_scheme
from tasks.answer.prompt import address

MAX_CHARACTERS = 100_000
CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
DIGITS = r"\d{1,18}"
NAMED = r"(?:[KS][ \t]?|(?:source|excerpt|reference|ref\.?|document|doc|citation|note)\s?#?)"
LABEL = re.compile(rf"(?i:{NAMED})?{DIGITS}")
DASHES = "\u2010-\u2015"
SEPARATOR = rf"\s*(?:[-,;&{DASHES}]|and)\s*"
MARK = re.compile(  # [K1], [K1, K2], [K1-K3], 【K1】, (K1), [1], and a bare K1: what models write for labels
    rf"(?P<space>(?<![ \t])[ \t]*)(?:"
    rf"[\[【]\s*(?P<named>(?i:{NAMED}){DIGITS}(?:{SEPARATOR}(?:{LABEL.pattern}))*)\s*[\]】]"
    rf"|(?<!\w)[\[【]\s*(?P<numbered>\d{{1,3}}(?:{SEPARATOR}\d{{1,3}})*)\s*[\]】]"
    rf"|\((?P<round>K{DIGITS}(?:{SEPARATOR}K{DIGITS})*)\)"
    rf"|(?<![\w/.#-])(?P<bare>K{DIGITS})\b(?![/-]?\w))")
LINK = re.compile(rf"!?\[(?P<words>[^\[\]\n]*)\]\(\s*<?(?P<target>{URL})>?(?:\s[^)\n]{{0,200}})?\)"
                  rf"|(?P<bare>\b(?:[a-zA-Z][a-zA-Z0-9+.-]{{0,30}}://(?:\[[^\s\[\]]*\])?|mailto:)(?:{URL})?)"
                  rf"|(?P<host>{HOST})")
ENDS = ".,;:!?"  # of a sentence, behind an address
LINK_REMOVED = "(address removed)"
QUOTE = re.compile(r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|\"([^\"\n]+)\"|^> ?(.+)$", re.MULTILINE)
LEFT_OUT = re.compile(r"\[?(?:…|\.\.\.)\]?|\[[^\[\]\n]{0,40}\]")  # or put in: “[the ferry] sails … again”
WIDEST = 100  # labels between the ends of a range: of a wider one only the ends are looked at
EDGES = " .,;:!?'"
FEWEST = 3  # words of a quotation: fewer are a title or a term
END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\s\[(])|\n\s*\n")
ALL_ALIKE = (dict.fromkeys(map(ord, "\"`\u00b4\u00ab\u00bb"), "'")  # quotation marks
             | dict.fromkeys(range(0x2018, 0x2020), "'") | dict.fromkeys(range(0x2010, 0x2016), "-"))


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation that does not stand where it should: ``problem`` is one sentence."""

    text: str
    labels: Sequence[str]
    problem: str

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "labels": list(self.labels), "problem": self.problem}


@dataclass(frozen=True, slots=True)
class Checked:
    """A text as it may be shown, and what was wrong with it."""

    text: str  # without labels and addresses that are not in the records
    labels: Sequence[str]  # that stayed, in the order of their first mention
    unknown: Sequence[str]  # labels that were taken out
    addresses: Sequence[str]  # that were taken out
    quotes: Sequence[Quote]  # that do not stand in their excerpt

    @property
    def sound(self) -> bool:
        """Whether nothing was wrong."""
        return not (self.unknown or self.addresses or self.quotes)

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "labels": list(self.labels), "unknown": list(self.unknown),
                "addresses": list(self.addresses), "quotes": [quote.to_json() for quote in self.quotes],
                "sound": self.sound}


@dataclass
class Proof:
    """What a text names, sorted by whether it is in the records."""

    shown: Mapping[str, str]  # label -> text of its excerpt
    addresses: frozenset[str]
    labels: dict[str, None] = field(default_factory=dict)  # in order, each once
    unknown: dict[str, None] = field(default_factory=dict)
    strange: dict[str, None] = field(default_factory=dict)

    def clean(self, prose: str) -> str:
        return MARK.sub(self._mark, LINK.sub(self._link, prose))

    def _mark(self, found: re.Match[str]) -> str:
        """A mark without the labels that were not shown; a bare “K2” may be what an excerpt speaks of."""
        wanted = spelt(found)
        kept = [label for label in wanted if label in self.shown]
        if not kept and found["bare"] and any(found["bare"] in words for words in self.shown.values()):
            return found[0]
        self.labels |= dict.fromkeys(kept)
        self.unknown |= dict.fromkeys(label for label in wanted if label not in self.shown)
        if len(kept) == len(wanted):
            return found[0]
        return f"{found['space']}[{', '.join(kept)}]" if kept else ""

    def _link(self, found: re.Match[str]) -> str:
        """A link to an excerpt's page; of another, its words."""
        bare = found["bare"] or found["host"]
        target = found["target"] or bare.rstrip(ENDS)
        if target.rstrip("/") in self.addresses or (found["host"] and self._is_theirs(target)):
            return found[0]
        self.strange[target] = None
        if bare:
            return LINK_REMOVED + bare[len(target):]
        return f"[{found['words']}]" if LABEL.fullmatch(found["words"]) else found["words"]

    def _is_theirs(self, written: str) -> bool:
        """Whether what is written without a scheme is an excerpt's page or its site, or no address at all; a
        name alone may be what an excerpt speaks of.
        """
        if not is_address(written):
            return True
        place = without_scheme(written).lower()
        return place in self._places or (place == host_of(place) and place in self._said)

    @cached_property
    def _places(self) -> set[str]:
        pages = {without_scheme(url).lower() for url in self.addresses}
        return pages | set(map(host_of, pages))

    @cached_property
    def _said(self) -> set[str]:
        text = "\n".join(self.shown.values()).lower()
        return {found[0].rstrip(ENDS) for found in re.finditer(HOST, text) if "@" not in found[0]}


def check_against(db: Database, retrieval_id: UUID, text: str) -> Checked | None:
    """The text held against what this retrieval has shown and is still there; none for an unknown one."""
    cited = cite_all(db, retrieval_id)
    return check(text, {each.label: each for each in cited if each.used}) if cited else None


def check(text: str, shown: Mapping[str, Citation]) -> Checked:
    """The text held against the excerpts that were shown, by label. What is code is left alone."""
    urls = frozenset(form.rstrip("/") for each in shown.values()
                     for form in (each.origin.url, address(each.origin.url)))
    proof = Proof({label: each.text for label, each in shown.items()}, urls)
    clean = _outside_code(text, proof.clean).strip()
    quotes = list(_wrong_quotes(_outside_code(text, str, lambda code: " " * len(code)), proof.shown))
    return Checked(clean, list(proof.labels), list(proof.unknown), list(proof.strange), quotes)


def _outside_code(text: str, change: Callable[[str], str], code: Callable[[str], str] = str) -> str:
    parts, at = [], 0
    for found in CODE.finditer(text):
        parts += [change(text[at : found.start()]), code(found[0])]
        at = found.end()
    return "".join([*parts, change(text[at:])])


def spelt(mark: re.Match[str]) -> list[str]:
    """The labels of one mark; of a range K1-K3, those between, too."""
    written = mark["named"] or mark["numbered"] or mark["round"] or mark["bare"]
    ends = re.fullmatch(rf"K\s?(\d+)\s*[-{DASHES}]\s*K?\s?(\d+)", written)
    if ends and 0 < int(ends[2]) - int(ends[1]) <= WIDEST:
        return [f"K{n}" for n in range(int(ends[1]), int(ends[2]) + 1)]
    return [re.sub(r"^K\s", "K", found[0]) for found in LABEL.finditer(written)]


def _wrong_quotes(prose: str, shown: Mapping[str, str]) -> Iterator[Quote]:
    """Those that do not stand in the excerpt that their sentence names; in any, if it names none."""
    plain = {label: flat(MARK.sub("", words)) for label, words in shown.items()}
    for found in QUOTE.finditer(prose):
        quoted = next(words for words in found.groups() if words)
        bare = MARK.sub("", quoted)
        if len(bare.split()) < FEWEST:
            continue
        named = [*_labels_in(quoted), *_labels_in(END_OF_SENTENCE.split(prose[found.end():], maxsplit=1)[0])]
        named = named or _labels_in(END_OF_SENTENCE.split(prose[: found.start()])[-1])
        labels = [label for label in dict.fromkeys(named) if label in plain]
        inside = [label for label, words in plain.items() if stands_in(bare, words)]
        if not inside:
            yield Quote(quoted, labels, "it stands in no excerpt that was shown")
        elif labels and not set(labels) & set(inside):
            yield Quote(quoted, labels, f"it stands in {', '.join(inside)}, not in {', '.join(labels)}")


def _labels_in(prose: str) -> list[str]:
    return [label for mark in MARK.finditer(prose) for label in spelt(mark)]


def stands_in(quoted: str, words: str) -> bool:
    """Whether a quotation stands in flat words; of one that leaves something out each part, in order."""
    at = 0
    for part in LEFT_OUT.split(quoted):
        if not (part := flat(part).strip(EDGES)):
            continue
        if (found := words.find(part, at)) < 0:
            return False
        at = found + len(part)
    return at > 0


def flat(text: str) -> str:
    """Text as quotations are compared: one case, one kind of quotation mark, dash and space."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(ALL_ALIKE).casefold().split())
