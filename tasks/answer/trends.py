"""What is rising: topics and names of more arriving documents than their own history foretells."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, Integer, Select, cast, func, literal, select, union_all

from models.session import Database
from models.states import DocumentState
from models.tables import Document, DocumentVersion, VersionAnalysis

DAYS, WEEKS = 6, 3  # periods before this one that foretell it, where it is a day, or more
FEWEST = 3  # documents that make something rise
CLEARLY = 2.0  # standard deviations
SHOWN = 8


class Term(NamedTuple):
    """How many documents named it in each period, this one last; case makes no difference."""

    kind: str  # topic or entity
    term: str
    counts: tuple[int, ...]


def trends(db: Database, scopes: Sequence[str], period: timedelta, now: datetime) -> dict[str, Any]:
    """``topics`` and ``entities`` that rise, most first: ``term``, ``documents``, ``expected``, ``history``.

    ``expected`` is the term's share of what arrived in the periods before, of as much as arrived now: a new
    source lets nothing rise by itself. ``history`` counts by period, this one last. ``known`` says how many
    periods before this one brought anything: without any there is nothing to rise against.
    """
    earlier = DAYS if period <= timedelta(days=1) else WEEKS
    since = now - (earlier + 1) * period
    with db.begin() as session:
        rows = session.execute(_counted(scopes, since, period)).all()
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * (earlier + 1))
    written: dict[str, str] = {}
    for row in rows:
        counts[row.kind, row.term][min(row.period, earlier)] += row.documents
        written.setdefault(row.term, row.written)
    totals = counts.pop(("all", ""), [0] * (earlier + 1))
    terms = [Term(kind, written[term], tuple(history)) for (kind, term), history in counts.items()]
    return {
        "since": since.isoformat(), "known": sum(total > 0 for total in totals[:-1]), "documents": totals,
        "topics": rising((term for term in terms if term.kind == "topic"), totals),
        "entities": rising((term for term in terms if term.kind == "entity"), totals),
    }


def rising(terms: Iterable[Term], totals: Sequence[int]) -> list[dict[str, Any]]:
    """Those that stand out most, by how many standard deviations of a rare event (Poisson)."""
    *before, now = totals
    share = now / sum(before) if sum(before) else 0.0
    found = []
    for term in terms:
        expected = share * sum(term.counts[:-1])
        excess = (term.counts[-1] - expected) / (expected + 1) ** 0.5
        if term.counts[-1] >= FEWEST and excess > CLEARLY:
            found.append((excess, term, expected))
    found.sort(key=lambda each: (-each[0], each[1].term))
    return [{"term": term.term, "documents": term.counts[-1], "expected": round(expected, 1),
             "history": list(term.counts)} for _, term, expected in found[:SHOWN]]


def _counted(scopes: Sequence[str], since: datetime, period: timedelta) -> Executable:
    """How many documents that arrived name each term, by period; and how many there are (“all”)."""
    removed = select(Document.id).where(Document.state == DocumentState.REMOVED)  # few beside all documents
    seconds = func.extract("epoch", DocumentVersion.indexed_at - since)
    place = cast(func.floor(seconds / period.total_seconds()), Integer)
    arrived = (
        select(place.label("period"), VersionAnalysis.topics, VersionAnalysis.entities)
        .join(VersionAnalysis, VersionAnalysis.version_id == DocumentVersion.id)
        .where(DocumentVersion.indexed_at >= since, DocumentVersion.number == 1,
               DocumentVersion.scopes.contained_by(list(scopes)), DocumentVersion.document_id.not_in(removed))
        .cte("arrived")
    )
    return union_all(
        select(literal("all").label("kind"), literal("").label("term"), literal("").label("written"),
               arrived.c.period, func.count().label("documents")).group_by(arrived.c.period),
        *(_of_each(kind, arrived.c.period, named)
          for kind, named in (("topic", arrived.c.topics), ("entity", arrived.c.entities))),
    )


def _of_each(kind: str, period: ColumnElement[int], named: ColumnElement[list[str]]) -> Select[Any]:
    said = select(period.label("period"), func.unnest(named).label("written")).subquery()
    term = func.lower(said.c.written).label("term")
    return (
        select(literal(kind), term, func.min(said.c.written), said.c.period, func.count())
        .group_by(term, said.c.period)
    )
