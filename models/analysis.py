"""What is understood of a version: what an analyser is given, and what it says."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from models.blocks import Block
from models.states import ContentType, SourceKind


@dataclass(frozen=True, slots=True)
class Article:
    """A version as an analyser sees it; ``text`` is ``models.blocks.text_of(blocks)``."""

    title: str
    text: str
    blocks: Sequence[Block] = ()
    url: str = ""
    kind: SourceKind = SourceKind.PAGE  # of the source that brought it
    language: str | None = None  # ISO 639-1, as extraction found it
    author: str | None = None
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """What an analyser says of an article.

    ``topics`` and ``category`` are of the list in ``tasks/analyse/topics.toml``; ``reasons`` say what spoke
    for the content type, the strongest first; ``confidence``, from 0 to 1, is in the content type. ``note``
    says why another than the analyser named has judged.
    """

    topics: Sequence[str]
    entities: Sequence[str]
    keywords: Sequence[str]
    summary: str
    category: str
    content_type: ContentType
    language: str | None
    confidence: float
    analyser: str
    reasons: Sequence[str] = ()
    note: str | None = None
