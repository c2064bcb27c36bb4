"""A question as it is asked, checked once at the door."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import cast
from uuid import UUID

from models.states import ContentType
from models.tables import LIBRARY_SCOPE
from tasks.answer.freshness import asks_for_recent
from tasks.ports import Filter

MAX_CHARACTERS = 10_000
MAX_EXCERPTS = 100
MAX_CHOICES = 100  # sources, types or languages of a filter
UNSTORABLE = {0: None} | dict.fromkeys(range(0xD800, 0xE000))  # NUL, lone surrogates: PostgreSQL refuses them


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, by whom, and how much may come back. Raises ValueError, one clear sentence.

    A filter that is None lets everything through. A time without a zone is UTC.
    """

    query: str
    previous: str | None = None  # the message before it in the conversation
    k: int = 6  # excerpts at most
    budget_tokens: int | None = None  # tokens of the prompt block at most, as the embedder counts them
    min_similarity: float | None = None  # cosine; none: the library's own minimum
    explain: bool = False
    scopes: tuple[str, ...] = (LIBRARY_SCOPE,)  # where to look
    recent: bool | None = None  # whether it is about recent developments; none: its wording says
    sources: tuple[UUID, ...] | None = None
    since: date | datetime | None = None  # published then or later
    until: date | datetime | None = None  # published before then; a day is included
    content_types: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    reader: tuple[str, ...] = ()  # whose profile and record it belongs to; none: of ``scopes``

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", _clean(self.query))
        object.__setattr__(self, "previous", _clean(self.previous or "") or None)
        object.__setattr__(self, "since", _moment(self.since))
        object.__setattr__(self, "until", _moment(self.until, days=1))
        if reason := next(self._refusals(), None):
            raise ValueError(reason)

    @property
    def own(self) -> tuple[str, ...]:
        """The scopes of what is remembered of it: sorted, each once."""
        return tuple(sorted(set(self.reader or self.scopes)))

    @property
    def wants_recent(self) -> bool:
        """Whether freshness counts double."""
        return asks_for_recent(self.query) if self.recent is None else self.recent

    @property
    def where(self) -> Filter:
        since, until = cast(datetime | None, self.since), cast(datetime | None, self.until)
        return Filter(self.scopes, self.sources, since, until, self.content_types, self.languages)

    @property
    def filtered(self) -> bool:
        """Whether some of what the reader may read is left out."""
        return any(chosen is not None for chosen in self.where[1:])

    @property
    def searched(self) -> tuple[str, ...]:
        """The texts to search with, of which the more similar counts: the query alone and after ``previous``.

        On 24 follow-ups, 112 bare ones ("why?") and 112 changes of subject over MED and TIME, nDCG@10 was
        .70, .62, .55; by the two as one text .72, .62, .42; by the query alone .23, .00, .62.
        """
        return (self.query, f"{self.query}\n{self.previous}") if self.previous else (self.query,)

    def _refusals(self) -> Iterator[str]:
        if not self.query:
            yield "the query is empty: ask something"
        for name, text in (("query", self.query), ("previous message", self.previous or "")):
            if len(text) > MAX_CHARACTERS:
                yield f"the {name} has {len(text):,} characters: at most {MAX_CHARACTERS:,} are taken"
        if not 1 <= self.k <= MAX_EXCERPTS:
            yield f"k is {self.k}: ask for 1 to {MAX_EXCERPTS} excerpts"
        if self.budget_tokens is not None and self.budget_tokens < 0:
            yield f"budget_tokens is {self.budget_tokens}: give 0 or more, or leave it out"
        if self.min_similarity is not None and not 0 <= self.min_similarity <= 1:
            yield f"min_similarity is {self.min_similarity}: give a number from 0 to 1, or leave it out"
        if not self.scopes:
            yield "no scope is given: name at least one that the reader may read"
        if self.since and self.until and self.since >= self.until:
            yield "since is after until: nothing lies between them"
        for name in ("sources", "content_types", "languages"):
            if (chosen := getattr(self, name)) is not None and not 1 <= len(chosen) <= MAX_CHOICES:
                yield f"{name} has {len(chosen)} values: name 1 to {MAX_CHOICES}, or leave it out"
        if strange := set(self.content_types or ()) - {*ContentType}:
            yield f"there is no content type {min(strange)!r}: there are {', '.join(ContentType)}"


def _moment(given: date | datetime | None, days: int = 0) -> datetime | None:
    """A moment as it is, or the one some ``days`` after a day has begun."""
    if isinstance(given, datetime):
        return given if given.tzinfo else given.replace(tzinfo=UTC)
    return datetime.combine(given, time.min, UTC) + timedelta(days=days) if given else None


def _clean(text: str) -> str:
    return text.translate(UNSTORABLE).strip()
