"""Named things by rule: runs of capitalised words inside sentences, and acronyms.

No model is needed, and each result can be traced to the text. A sentence's first word counts only when it
is written so elsewhere too, or begins a longer name. In German, where every noun is capitalised, only runs of
two and acronyms do. Scripts without capitals have none.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from models.analysis import Article
from tasks.analyse.keywords import stop_words
from tasks.analyse.sentences import sentences, straight

MOST = 12
LOOKED_AT = 200  # sentences
LONGEST = 1_000  # characters of a sentence
LONGEST_NAME = 80  # characters: more is a list without commas
NAME = r"(?:[A-ZÀ-ÖØ-Þ][\w'-]*[\wà-ÿ]|[A-Z]\.)"
LINK = r"(?:of|de|da|di|del|della|des|du|la|le|van|von|der|den|ten|&|al|bin)"
RUN = re.compile(rf"(?<![\w'.-]){NAME}(?:\s+(?:{LINK}\s+){{0,2}}{NAME})*(?![\w])")
ACRONYM = re.compile(r"[A-Z]{2,}[A-Z0-9]*s?")
POSSESSIVE = re.compile(r"'s?$")
CALENDAR = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february",
    "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
    "easter", "christmas", "sir", "mr", "mrs", "ms", "dr", "yours", "i",
}
NOUNS_CAPITALISED = {"de", "lb"}
CAPITALS_SHOUTED = 0.5  # of a sentence's letters: a headline in capitals names nothing


def entities(article: Article) -> list[str]:
    """The names, those said most often first; what stands inside a longer one is not said twice."""
    common = stop_words().get(article.language or "en", frozenset()) | stop_words()["en"]
    counts: Counter[str] = Counter()
    doubtful: Counter[str] = Counter()
    for sentence in islice(sentences(article), LOOKED_AT):
        for name, is_first in names(sentence, common):
            (doubtful if is_first else counts)[name] += 1
    for name, count in doubtful.items():
        if name in counts or " " in name:
            counts[name] += count
    found = [name for name, _ in counts.most_common() if wanted(name, article.language, common)]
    return [name for name in found if not any(within(name, other) for other in found)][:MOST]


def names(sentence: str, common: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Each name with whether it begins the sentence, where anything is capitalised; no “The” in front."""
    letters = [it for it in sentence if it.isalpha()]
    if sum(map(str.isupper, letters)) > CAPITALS_SHOUTED * len(letters):
        return
    sentence = straight(sentence[:LONGEST])
    for match in RUN.finditer(sentence):
        before = sentence[: match.start()].rstrip()
        begins = not any(map(str.isalpha, before)) or before.endswith((":", '"', "•"))
        first, _, more = match.group().partition(" ")
        common_start = begins and more and first.lower() in common
        yield POSSESSIVE.sub("", more if common_start else match.group()), begins and not common_start


def wanted(name: str, language: str | None, common: frozenset[str]) -> bool:
    first = name.split()[0].lower().rstrip(".")
    if " " not in name and (first in CALENDAR or first in common or len(name) < 3):
        return bool(ACRONYM.fullmatch(name)) and len(name) > 1 and first not in CALENDAR
    if len(name) > LONGEST_NAME or all(word.lower() in CALENDAR for word in name.split()):
        return False
    return language not in NOUNS_CAPITALISED or " " in name or bool(ACRONYM.fullmatch(name))


def within(name: str, other: str) -> bool:
    return name != other and re.search(rf"\b{re.escape(name)}\b", other) is not None
