"""The reading mode "interesting": what a source found is judged by its title and summary before it is read.

What is passed over stays, as ``skipped`` with its score and its reason, and is read when its owner asks. What
a crash left unjudged is judged after the source's next poll.
"""

import logging
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from sqlalchemy import Row, bindparam, select, update

from models.interests import strongest
from models.session import Database
from models.states import DocumentState
from models.tables import LIBRARY_SCOPE, Document
from tasks.discover.interest import EXPLORED, NEAR, Interest, Judgement, is_explored, judge
from tasks.errors import StageError
from tasks.ports import Embedder

log = logging.getLogger(__name__)

AT_ONCE = 1000  # items, as many as one poll takes in
PROFILE = strongest()
UNKNOWN = "to be read: nothing is known yet of what interests its owner"
NOT_A_WORD = re.compile(r"[\W_]+")

UNJUDGED = Document.state == DocumentState.DISCOVERED, Document.due_at.is_(None)
JUDGED = update(Document).where(Document.id == bindparam("this"), *UNJUDGED).values(
    {name: bindparam(f"new_{name}") for name in ("state", "due_at", "interest", "reason")})


class Verdict(NamedTuple):
    """What becomes of an item."""

    state: DocumentState
    due_at: datetime | None
    interest: float | None
    reason: str


def choose(db: Database, source_id: Any, embedder: Callable[[], Embedder] | None, now: datetime) -> int:
    """Judge what the source has found and nobody has judged yet; how many items are passed over.

    Without interests everything is read.
    """
    unjudged = select(Document.id, Document.key, Document.url, Document.title, Document.summary)
    found = db.execute(unjudged.where(Document.source_id == source_id, *UNJUDGED).limit(AT_ONCE))
    if not found:
        return 0
    try:
        verdicts = judged(found, interests(db, now), embedder, now)
    except StageError as error:  # the model is away: they wait for the next poll
        log.warning("What is new of source %s could not be judged: %s", source_id, error.reason)
        return 0
    told = [{"this": row.id} | {f"new_{name}": value for name, value in verdict._asdict().items()}
            for row, verdict in zip(found, verdicts, strict=True)]
    with db.begin() as session:
        session.connection().execute(JUDGED, told)
    return sum(verdict.state is DocumentState.SKIPPED for verdict in verdicts)


def interests(db: Database, now: datetime) -> list[Interest]:
    """The owner's profile, the strongest first; empty where there is none."""
    rows = db.execute(PROFILE, {"own_scopes": [LIBRARY_SCOPE], "now": now})
    return [Interest(row.topic, row.strength) for row in rows]


def judged(
    found: Sequence[Row[Any]], profile: list[Interest], embedder: Callable[[], Embedder] | None, now: datetime
) -> list[Verdict]:
    if not profile or embedder is None:
        return [Verdict(DocumentState.DISCOVERED, now, None, UNKNOWN)] * len(found)
    judgements = judge([said_of(row) for row in found], profile, embedder())
    return [verdict(row.key, judgement, now) for row, judgement in zip(found, judgements, strict=True)]


def said_of(row: Row[Any]) -> str:
    """What an item is judged by: its title and summary; the words of its address, where there is no title."""
    title = row.title or NOT_A_WORD.sub(" ", unquote(urlsplit(row.url).path)).strip()
    return f"{title}. {row.summary or ''}"


def verdict(key: str, judgement: Judgement, now: datetime) -> Verdict:
    score, near = round(judgement.score, 3), f"{judgement.score:.2f} near “{judgement.topic}”"
    if judgement.score >= NEAR:
        return Verdict(DocumentState.DISCOVERED, now, score, f"to be read: {near}")
    if is_explored(key):
        why = f"to be read, to explore: of what is only {near}, {EXPLORED:.0%} are"
        return Verdict(DocumentState.DISCOVERED, now, score, why)
    return Verdict(DocumentState.SKIPPED, None, score, f"passed over: only {near}, and {NEAR:.2f} are needed")
