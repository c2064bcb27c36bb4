"""The built-in analyser: no server, no download; one embedding of each article's beginning, and rules."""

from collections.abc import Iterator, Sequence
from threading import Lock

from models.analysis import Analysis, Article
from tasks.analyse import classify
from tasks.analyse.entities import entities
from tasks.analyse.features import features
from tasks.analyse.keywords import keywords
from tasks.analyse.sentences import paragraphs
from tasks.analyse.summary import summary
from tasks.analyse.topics import Topics
from tasks.ports import Embedder, Vectors

BEGINNING = 250  # characters of the text that are embedded with the title


class BuiltIn:
    """The Analyser that is always there. Thread-safe."""

    name = "built-in 1"  # a new number when it judges otherwise

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = Lock()
        self._topics: Topics | None = None

    def analyse(self, articles: Sequence[Article]) -> Iterator[Analysis]:
        vectors = self._embedder.embed([beginning(article) for article in articles])
        for article, vector in zip(articles, vectors, strict=True):
            yield self._judge(article, vector)

    def _judge(self, article: Article, vector: Vectors) -> Analysis:
        which = classify.chosen(self._embedder.name, article.language)
        verdict = classify.model(which).judge(features(article, plain=which == "plain"), vector)
        topics, category = self._placed().of(vector)
        return Analysis(
            topics, entities(article), keywords(article), summary(article), category, verdict.content_type,
            article.language, verdict.confidence, self.name, verdict.reasons)

    def _placed(self) -> Topics:
        with self._lock:
            self._topics = self._topics or Topics(self._embedder)
            return self._topics


def beginning(article: Article) -> str:
    return f"{article.title}\n{' '.join(paragraphs(article))[:BEGINNING]}"
