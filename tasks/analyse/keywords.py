"""Keywords: phrases of one to three words, scored by how often, how early, and whether in the title.

Candidates are runs of words between stop words and punctuation, as in RAKE (Rose and others, 2010).
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from models.analysis import Article
from tasks.analyse.sentences import UNSPACED, WORD, paragraphs, straight

MOST = 8
LONGEST = 3  # words
LONGEST_WORD = 40  # characters
BREAK = re.compile(r"[^\w\s'.-]+|[.!?]\s|[\r\n]+|\s[-\u2013\u2014]\s")
LENGTH_BONUS = {1: 1.0, 2: 1.7, 3: 1.6}
IN_TITLE = 1.0
EARLY = 40  # phrases from the beginning
INFLECTED = ("ed", "ing", "ly")

Phrase = tuple[str, ...]


@cache
def stop_words() -> dict[str, frozenset[str]]:
    """Words that say nothing of a text's subject, by language."""
    lines = (files("tasks.analyse") / "stop_words.txt").read_text().splitlines()
    told = (line.partition(":") for line in lines)
    return {language: frozenset(said.split()) for language, _, said in told}


def keywords(article: Article) -> list[str]:
    """The best phrases in lower case, best first; none in a script that does not part its words."""
    text = straight("\n".join(paragraphs(article)))
    if UNSPACED.search(text):
        return []
    stops = stop_words().get(article.language or "en", frozenset())
    title = list(dict.fromkeys(candidates(straight(article.title), stops)))
    in_title = {word for phrase in title for word in phrase}
    said = [*title, *candidates(text, stops)]
    first = {phrase: i for i, phrase in reversed(list(enumerate(said)))}
    counts = {phrase: count for phrase, count in Counter(said).items() if count > 1 or stands_alone(phrase)}

    def score(phrase: Phrase) -> float:
        early = 1 / (1 + first[phrase] / EARLY)
        titled = 1 + IN_TITLE * sum(word in in_title for word in phrase) / len(phrase)
        return counts[phrase] * LENGTH_BONUS[len(phrase)] * titled * (0.5 + early)

    return distinct(sorted(counts, key=lambda phrase: (-score(phrase), first[phrase])))


def stands_alone(phrase: Phrase) -> bool:
    """It may be a keyword though it is said once: a word that does not look like a verb or an adverb."""
    return len(phrase) == 1 and not phrase[0].endswith(INFLECTED)


def candidates(text: str, stops: frozenset[str]) -> Iterator[Phrase]:
    """Every run of up to three telling words, and each of its words."""
    for part in BREAK.split(text):
        run: list[str] = []
        for word in [*WORD.findall(part.lower()), ""]:
            if word and tells(word, stops):
                run.append(word)
                continue
            if run:
                yield from parts(run)
            run = []


def parts(run: list[str]) -> Iterator[Phrase]:
    for length in range(1, LONGEST + 1):
        yield from (tuple(run[i : i + length]) for i in range(len(run) - length + 1))


def tells(word: str, stops: frozenset[str]) -> bool:
    bare = word.removesuffix("'s")
    return 2 < len(word) <= LONGEST_WORD and bare not in stops and bare.isalpha()


def distinct(ordered: list[Phrase]) -> list[str]:
    """The first phrases of which no two share a word."""
    chosen: list[str] = []
    said: set[str] = set()
    for phrase in ordered:
        stems = {word[:6] for word in phrase}
        if not stems & said:
            chosen.append(" ".join(phrase))
            said |= stems
        if len(chosen) == MOST:
            break
    return chosen
