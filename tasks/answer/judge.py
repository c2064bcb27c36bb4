"""The reader's own judgments of what was found, and the questions replayed with other weights to use them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import log2
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert

from models.blocks import digest
from models.session import Database
from models.tables import Document, Judgment, UsageEvent
from tasks.answer.about import asked_words
from tasks.answer.candidates import Found, find, readable
from tasks.answer.choose import choose
from tasks.answer.question import Question
from tasks.answer.rank import Reader, rank
from tasks.answer.tuning import Tuning
from tasks.ports import Embedder, Index

DEPTH = 10  # of nDCG@10
MOST = 1000  # questions replayed, the ones judged last


@dataclass(frozen=True, slots=True)
class Replayed:
    """A question's nDCG@10 before and after a change of the ranking."""

    query: str
    good: int  # documents that were judged so
    before: float
    after: float


def judge(db: Database, retrieval_id: UUID, verdicts: Mapping[str, bool], scopes: Sequence[str],
          now: datetime) -> list[str]:
    """Write down whether the documents behind these labels answer their question; the labels that there are.

    A later word on the same question and document replaces the earlier one.
    """
    rows = db.execute(
        select(UsageEvent.label, UsageEvent.query, UsageEvent.previous, UsageEvent.document_id)
        .where(UsageEvent.retrieval_id == retrieval_id, UsageEvent.label.in_(list(verdicts)),
               readable(UsageEvent.scopes)), {"scopes": list(scopes)})
    said: dict[UUID, dict[str, Any]] = {}  # a document's best label speaks for it
    for row in sorted(rows, key=lambda row: int(row.label[1:]), reverse=True):
        said[row.document_id] = {
            "id": uuid4(), "scopes": sorted(set(scopes)), "query": row.query, "previous": row.previous,
            "question": _key(row.query, row.previous), "document_id": row.document_id,
            "good": verdicts[row.label], "judged_at": now}
    if said:
        made = insert(Judgment).values(list(said.values()))
        db.execute(made.on_conflict_do_update(
            index_elements=[Judgment.scopes, Judgment.question, Judgment.document_id],
            set_={"good": made.excluded.good, "judged_at": made.excluded.judged_at}))
    return sorted((row.label for row in rows), key=lambda label: int(label[1:]))


def judgments(db: Database, scopes: Sequence[str]) -> list[dict[str, Any]]:
    """What readers of these scopes have said, the last first."""
    rows = db.execute(
        select(Judgment.id, Judgment.query, Judgment.previous, Judgment.document_id, Judgment.good,
               Judgment.judged_at, Document.title, Document.url)
        .join(Document, Document.id == Judgment.document_id)
        .where(Judgment.scopes == sorted(set(scopes)), readable(Document.scopes))
        .order_by(Judgment.judged_at.desc(), Judgment.id), {"scopes": list(scopes)})
    return [{"id": str(row.id), "query": row.query, "previous": row.previous, "good": row.good,
             "document_id": str(row.document_id), "title": row.title, "url": row.url,
             "judged_at": row.judged_at.isoformat()} for row in rows]


def withdraw(db: Database, judgment_id: UUID, scopes: Sequence[str]) -> bool:
    """Take a judgment back; whether there was one."""
    own = Judgment.id == judgment_id, Judgment.scopes == sorted(set(scopes))
    return bool(db.execute(delete(Judgment).where(*own).returning(Judgment.id)))


def replay(db: Database, embedder: Embedder, index: Index, scopes: Sequence[str], now: datetime,
           minimum: float, before: Tuning, after: Tuning) -> list[Replayed]:
    """Each question with a good document asked again, ranked both ways, without a trace.

    What was used lately counts for nothing here: the judge has just looked at it.
    """
    asked: dict[tuple[str, str | None], dict[UUID, bool]] = {}
    for row in reversed(judgments(db, scopes)):
        asked.setdefault((row["query"], row["previous"]), {})[UUID(row["document_id"])] = row["good"]
    replayed = []
    for (query, previous), verdicts in list(asked.items())[-MOST:]:
        good = {document for document, is_good in verdicts.items() if is_good}
        if not good:
            continue
        question = Question(query, previous, k=DEPTH, scopes=tuple(scopes))
        vectors = [embedder.embed_query(text).ravel() for text in question.searched]
        found = find(db, embedder, index, question, vectors, minimum, now)
        scores = (ndcg(_ranking(question, found, tuning, now), good) for tuning in (before, after))
        replayed.append(Replayed(query, len(good), *scores))
    return replayed


def _ranking(question: Question, found: Found, tuning: Tuning, now: datetime) -> list[UUID]:
    """The documents that would be chosen, best first."""
    weights = tuning.weights.for_recent() if question.wants_recent else tuning.weights
    reader = Reader(now, asked_words(question.query, question.previous), found.profile,
                    replace(weights, recently_used=0.0), tuning.half_lives)
    chosen = choose(rank(found.candidates, reader), DEPTH).chosen
    return list(dict.fromkeys(entry.candidate.document_id for entry in chosen))


def ndcg(ranking: Sequence[UUID], good: Iterable[UUID]) -> float:
    """nDCG@10 of a ranking without repeats, where what is good gains 1 (Järvelin and Kekäläinen 2002)."""
    good = set(good)
    gained = sum(1 / log2(place + 1) for place, each in enumerate(ranking[:DEPTH], 1) if each in good)
    ideal = sum(1 / log2(place + 1) for place in range(1, min(len(good), DEPTH) + 1))
    return gained / ideal if ideal else 0.0


def _key(query: str, previous: str | None) -> str:
    return digest(f"{query}\0{previous or ''}")
