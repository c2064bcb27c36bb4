"""Candidates: what the index offers, kept only where the records say that it may answer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Row,
    ScalarSelect,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    case,
    func,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import aliased

from models.session import Database
from models.states import ChunkState, DocumentState
from models.tables import Chunk, Document, DocumentVersion, Ranking, Source, UsageEvent, VersionAnalysis
from tasks.answer import interests
from tasks.answer.about import About
from tasks.answer.fuse import Evidence, fuse, promising
from tasks.answer.origin import Origin, Place, columns, origin
from tasks.answer.question import Question
from tasks.ports import Embedder, Hit, Index, Vectors

PER_DOCUMENT = 2
OFFERED = 200  # by vector, and by words: what it is worth stands in benchmarks/RETRIEVAL.md
SURE = 0.40  # cosine from which a passage is relevant: 98 % of own questions have one, 7 % of foreign ones
LOADED = 64  # of them, whose rows are looked at
MOST_OFFERED = 4096
RECENTLY = timedelta(hours=6)  # in which a document that was used is held back, less and less
MOST_COPIES = 10  # places that one excerpt names beside its own
STORED = np.dtype("<f2")  # vectors, as table chunk has them
MEANWHILE = ThreadPoolExecutor(4, "words")  # the embedding leaves Python's lock and a core to others


class Candidate(NamedTuple):
    """A live chunk that the reader may read, with what its ranking needs."""

    similarity: float
    chunk_id: UUID
    version_id: UUID
    document_id: UUID
    text: str
    headings: Sequence[str]
    origin: Origin
    source_kind: str
    source_weight: float
    first_seen: datetime
    last_used: datetime | None  # by readers of the same scopes, lately
    source_id: UUID | None = None
    position: int = 0  # of the chunk in its version
    gap: str | None = None  # what stands between it and the next chunk, where that is a candidate, too
    vector: Vectors | None = None  # shape (dimensions,); none where another model made it
    about: About = About()
    content_type: str | None = None  # as analysed
    also_at: tuple[Place, ...] = ()  # documents that repeat this one
    is_sure: bool = False  # so near to the question that it is relevant; others may be


class Found(NamedTuple):
    candidates: list[Candidate]
    profile: Mapping[str, float]  # the reader's interests
    tuning: Mapping[str, Any] | None = None  # of the ranking, as its owner has set it


class Searched(NamedTuple):
    """A text of the question with its vector, and what shares words with it."""

    text: str
    vector: Vectors  # shape (dimensions,)
    containing: Sequence[Hit]


class Offers(NamedTuple):
    """What the index offers for one text: cosines of what is near, BM25 of what shares words."""

    text: str
    vector: Vectors
    cosines: Mapping[UUID, float]
    words: Mapping[UUID, float]


def begin(embedder: Embedder, index: Index, question: Question) -> list[Searched]:
    """Embed the texts of the question; what shares words with them is looked for meanwhile."""
    containing = [MEANWHILE.submit(index.containing, text, _at_first(question), question.where)
                  for text in question.searched]
    vectors = [embedder.embed_query(text).ravel() for text in question.searched]
    return [Searched(text, vector, hits.result())
            for text, vector, hits in zip(question.searched, vectors, containing, strict=True)]


def find(db: Database, embedder: Embedder, index: Index, question: Question, begun: Sequence[Searched],
         minimum: float, now: datetime) -> Found:
    """The chunks that may answer: at least ``minimum`` alike in meaning, or with the question's rare words.

    Twice as many are fetched while too few of them can be chosen and there are more: the index may hold
    what the records have retired, and one long document may fill it all.
    """
    offered, loaded = _at_first(question), max(LOADED, 4 * question.k)
    while True:
        offers = [_offers(index, question, each, offered, minimum) for each in begun]
        worth = [promising(offer.text, offer.cosines, offer.words, loaded) for offer in offers]
        rows = _load(db, embedder, question, list(dict.fromkeys(chain.from_iterable(worth))), now)
        found = _fused([_candidate(row) for row in rows], offers, minimum)
        exhausted = all(_is_all(*each, offered, loaded) for each in zip(offers, worth, strict=True))
        if exhausted or offered >= MOST_OFFERED or _choosable(found) >= question.k:
            return Found(found, next((row.profile for row in rows if row.profile), {}),
                         next((row.tuning for row in rows if row.tuning), None))
        offered, loaded = 2 * offered, 2 * loaded
        begun = [each._replace(containing=index.containing(each.text, offered, question.where))
                 for each in begun]


def _at_first(question: Question) -> int:
    """How many the index is asked for, by vector and by words, before it is known whether they suffice."""
    return max(OFFERED, 4 * question.k)


def _offers(index: Index, question: Question, searched: Searched, limit: int, minimum: float) -> Offers:
    near = index.nearest(searched.vector, limit, question.where, minimum)
    return Offers(searched.text, searched.vector, {hit.id: hit.similarity or 0.0 for hit in near},
                  {hit.id: hit.words or 0.0 for hit in searched.containing})


def _is_all(offer: Offers, worth: Sequence[UUID], offered: int, loaded: int) -> bool:
    """Whether the index has no more to offer, and all of it was loaded."""
    return len(offer.cosines) < offered and len(offer.words) < offered and len(worth) < loaded


def _fused(found: Sequence[Candidate], offers: Iterable[Offers], minimum: float) -> list[Candidate]:
    """Those that answer, each with its similarity to the text that it is most like."""
    best: dict[UUID, float] = {}
    sure: set[UUID] = set()
    for offer in offers:
        for one in fuse(offer.text, [_evidence(candidate, offer) for candidate in found], minimum):
            best[one.id] = max(one.similarity, best.get(one.id, 0.0))
            if one.exact or one.cosine >= SURE:
                sure.add(one.id)
    return [it._replace(similarity=best[it.chunk_id], is_sure=it.chunk_id in sure)
            for it in found if it.chunk_id in best]


def _evidence(found: Candidate, offer: Offers) -> Evidence:
    vector = np.zeros_like(offer.vector) if found.vector is None else found.vector
    cosine = offer.cosines.get(found.chunk_id)
    return Evidence(
        found.chunk_id, found.document_id, "\n".join((found.origin.title, *found.headings, found.text)),
        vector, float(vector @ offer.vector) if cosine is None else cosine,
        offer.words.get(found.chunk_id, 0.0))


def _choosable(found: Iterable[Candidate]) -> int:
    """How many excerpts are left by the rule of so many a document, copies counted as one."""
    of_each = Counter(candidate.origin.content_hash for candidate in found)
    return sum(min(count, PER_DOCUMENT) for count in of_each.values())


def _load(db: Database, embedder: Embedder, question: Question, ids: Sequence[UUID],
          now: datetime) -> Sequence[Row[Any]]:
    if not ids:
        return []
    where = {name: value and list(value) if isinstance(value, tuple) else value
             for name, value in question.where._asdict().items()}
    return db.execute(LIVE_ROWS, where | {
        "ids": ids, "embedder": embedder.name, "used_since": now - RECENTLY, "now": now,
        "own_scopes": list(question.own)})


def _candidate(row: Row[Any]) -> Candidate:
    about = About(*(tuple(terms or ()) for terms in (row.topics, row.entities, row.keywords)))
    return Candidate(
        0.0, row.chunk_id, row.version_id, row.document_id, row.text, row.headings, origin(row),
        row.source_kind, row.source_weight, row.first_seen, row.last_used, row.source_id, row.position,
        row.gap, row.vector and np.frombuffer(row.vector, STORED).astype(np.float32), about,
        row.content_type, tuple(Place.from_json(place) for place in row.also_at or ()))


def _passing() -> ColumnElement[bool]:
    """What the index has been asked for, once more: it may be behind the records."""
    sources = bindparam("sources", type_=ARRAY(Uuid))
    since, until = (bindparam(name, type_=DocumentVersion.published_at.type) for name in ("since", "until"))
    types, languages = (bindparam(name, type_=ARRAY(Text)) for name in ("content_types", "languages"))
    language = func.coalesce(VersionAnalysis.language, DocumentVersion.language)
    return and_(
        or_(sources.is_(None), Source.id == any_(sources)),
        or_(since.is_(None), DocumentVersion.published_at >= since),
        or_(until.is_(None), DocumentVersion.published_at < until),
        or_(types.is_(None), VersionAnalysis.content_type == any_(types)),
        or_(languages.is_(None), language == any_(languages)),
    )


def _copies() -> ScalarSelect[Any]:
    """The documents that repeat this one, as the records know, which the reader may read."""
    copy, home = aliased(Document), aliased(Source)
    place = func.jsonb_build_object("title", copy.title, "url", copy.url, "source", home.name,
                                    "published_at", copy.published_at)
    some = (
        select(place.label("place")).join(home, home.id == copy.source_id)
        .where(copy.duplicate_of == Document.id, copy.state == DocumentState.DUPLICATE,
               home.removed_at.is_(None))
        .order_by(copy.discovered_at, copy.id).limit(MOST_COPIES).correlate(Document).subquery()
    )
    return select(func.jsonb_agg(some.c.place)).scalar_subquery()


def _last_used() -> ScalarSelect[Any]:
    return (
        select(func.max(UsageEvent.happened_at))
        .where(UsageEvent.document_id == Document.id, UsageEvent.used,
               UsageEvent.happened_at > bindparam("used_since"))
        .correlate(Document).scalar_subquery()
    )


def _tuning() -> ScalarSelect[Any]:
    """What was set last of the ranking, as ``tasks.answer.tuning`` has it."""
    said = func.jsonb_build_object("weights", Ranking.weights, "half_lives", Ranking.half_lives)
    return select(said).order_by(Ranking.set_at.desc(), Ranking.id).limit(1).scalar_subquery()


def _live_rows() -> Select[Any]:
    """The chunks first, by their ids alone: of tables that have just been filled PostgreSQL would look at
    all chunks that are live.
    """
    hit = (
        select(Chunk.id, Chunk.state, Chunk.scopes, Chunk.version_id, Chunk.document_id, Chunk.source_id,
               Chunk.position, Chunk.text, Chunk.headings, Chunk.start, Chunk.end,
               case((Chunk.embedder == bindparam("embedder"), Chunk.vector)).label("vector"))
        .where(Chunk.id == any_(bindparam("ids", type_=ARRAY(Uuid))))
        .cte("hit").prefix_with("MATERIALIZED")
    )
    found = aliased(Chunk, hit)
    next_start = func.lead(found.start).over(partition_by=found.version_id, order_by=found.position)
    next_position = func.lead(found.position).over(partition_by=found.version_id, order_by=found.position)
    between = func.substr(DocumentVersion.text, found.end + 1, func.greatest(next_start - found.end, 0))
    is_next = next_position == found.position + 1
    first = func.row_number().over() == 1  # one row of all has the profile and the tuning
    return (
        select(found.id.label("chunk_id"), found.version_id, found.document_id, found.source_id,
               found.position, found.text, found.headings, hit.c.vector,
               *columns(Document, found.start, found.end),
               case((is_next, between)).label("gap"),  # the page's text is only touched where it is needed
               Source.kind.label("source_kind"), Source.weight.label("source_weight"),
               Document.discovered_at.label("first_seen"), _last_used().label("last_used"),
               VersionAnalysis.topics, VersionAnalysis.entities, VersionAnalysis.keywords,
               VersionAnalysis.content_type,
               _copies().label("also_at"), case((first, interests.profile())).label("profile"),
               case((first, _tuning())).label("tuning"))
        .join(DocumentVersion, DocumentVersion.id == found.version_id)
        .join(Document, Document.id == found.document_id)
        .join(Source, Source.id == Document.source_id)
        .outerjoin(VersionAnalysis, VersionAnalysis.version_id == found.version_id)
        .where(found.state == ChunkState.LIVE, Document.state != DocumentState.REMOVED,
               Source.removed_at.is_(None), unexpired(),
               found.scopes.contained_by(bindparam("scopes", type_=ARRAY(Text))), _passing())
    )


def unexpired() -> ColumnElement[bool]:
    """What was handed in with a time until which it holds answers no longer than that; it is kept."""
    return or_(Document.expires_at.is_(None), Document.expires_at > func.now())


LIVE_ROWS = _live_rows()
