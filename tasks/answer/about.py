"""What a document is about, by its analysis, against what is asked and what the reader is interested in."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from models.words import FUNCTION_WORDS

WORD = re.compile("\\w+(?:['\u2019]\\w+)?")
SHORTEST = 3  # letters of a word that says what a text is about; digits and other scripts count from one on
SAYING_LITTLE = frozenset(re.findall(r"\w+", """
again anyone anything because between both doing don down during each few further get give happen
happened happening happens here him just know known last latest let like made make many may mean means
more most much need new news newest now off once one only other out over own recent recently said same
say says shall since tell thing things through today under until update updates upon use used using very
want way week yesterday yet
"""))
STOP_WORDS = FUNCTION_WORDS | SAYING_LITTLE  # the latter are of questions and news


class About(NamedTuple):
    """What the analysis of a version found; empty before there is one."""

    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        return (*self.topics, *self.entities, *self.keywords)


@lru_cache(maxsize=8192)
def words(text: str) -> frozenset[str]:
    """The words that say what a text is about: without case, possessives, plurals and stop words."""
    return frozenset(filter(None, map(bare, WORD.findall(text))))


def bare(word: str) -> str | None:
    """A word of a text as it is compared; none of one that says nothing."""
    word = word.lower().replace("\u2019", "'").removesuffix("'s")
    says = len(word) >= SHORTEST or not word.isascii() or word.isdigit()
    return _stem(word) if says and word not in STOP_WORDS else None


def _stem(word: str) -> str:
    """Singular and plural as one, where English is regular."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    plural = word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3
    return word[:-1] if plural else word


def asked_words(query: str, previous: str | None) -> frozenset[str]:
    """What a question is about; of one that does not say (“why?”), what the message before it was."""
    return words(query) or words(previous or "")


def alignment(asked: frozenset[str], about: About) -> float:
    """The share of the question's words that the document's topics, entities and keywords hold, 0 to 1."""
    return len(asked & words(" ".join(about.terms))) / len(asked) if asked else 0.0


def interest(profile: Mapping[str, float], about: About) -> float:
    """The strength of the reader's strongest interest among the document's terms, 0 to 1."""
    if not profile:
        return 0.0
    return max((profile.get(normal(term), 0.0) for term in about.terms), default=0.0)


def named(asked: frozenset[str], abouts: Iterable[About]) -> list[str]:
    """The terms that a question names in full, and the topics of what it names, most relevant first.

    This is what asking says of the reader's interests.
    """
    found: dict[str, None] = {}
    for about in abouts:
        spoken = [term for term in about.terms if words(term) and words(term) <= asked]
        found |= dict.fromkeys(map(normal, [*spoken, *(about.topics if spoken else ())]))
    return [term for term in found if term]


def normal(term: str) -> str:
    """A term as interests are kept under: in lower case, on one line."""
    return " ".join(term.lower().split())
